package strictjson_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/busline/busline/restmap/strictjson"
)

// flat has a field of every kind that plans know.
type flat struct {
	X       int            `json:"x"`
	Small   int8           `json:"small"`
	Count   uint64         `json:"count"`
	Tiny    uint8          `json:"tiny"`
	Price   float64        `json:"price"`
	Single  float32        `json:"single"`
	Name    string         `json:"name"`
	Flag    bool           `json:"flag"`
	Bytes   []byte         `json:"bytes"`
	When    time.Time      `json:"when"`
	Wait    time.Duration  `json:"wait"`
	Pointer *int           `json:"pointer"`
	Tags    []string       `json:"tags"`
	Points  []point        `json:"points"`
	At      *point         `json:"at"`
	Rows    [][]int        `json:"rows"`
	Shelf   shelf          `json:"shelf"`
	Open    any            `json:"open"`
	Attrs   map[string]any `json:"attrs"`
	Skipped int            `json:"-"`
	hidden  int
}

type point struct{ X, Y int }

// shelf leaves out what is empty.
type shelf struct {
	Number int            `json:"number,omitempty"`
	Ratio  float64        `json:",omitempty"`
	Label  string         `json:"label,omitempty"`
	Books  []string       `json:"books,omitempty"`
	Next   *point         `json:"next,omitempty"`
	Corner point          `json:"corner,omitempty"` //nolint:modernize // that it has no effect is tested
	Any    any            `json:"any,omitempty"`
	Map    map[string]any `json:"map,omitempty"`
	Open   bool           `json:"open,omitempty"`
}

// Arguments are by name, as a caller gives them.
type arguments map[string]any

// TestPlanReads is what a plan reads without the library.
func TestPlanReads(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		`{}`, " {\t\"x\" :\r\n5 , \"y\":6 } ", `null`, `{"x":-0}`, `{"x":9223372036854775807,"small":-128,"tiny":255}`,
		`{"price":-1.5e-3,"single":3.4e38}`, `{"price":0}`, `{"price":-0.0}`, `{"price":123456789012345678}`,
		`{"name":""}`, `{"name":"a\"\\\/\b\f\n\r\tbA\u00e9\uffff"}`, `{"name":"äöü 😀"}`, `{"name":"<&>` + "\u2028\x7f" + `"}`,
		`{"flag":true,"bytes":"AQI=","when":"2024-05-06T07:08:09.5Z","wait":1500,"pointer":7}`, `{"bytes":""}`,
		`{"tags":[],"rows":[[],[1,2,3,4,5],null],"points":[{"X":1,"Y":2},{},null],"at":{"Y":3}}`,
		`{"x":null,"flag":null,"name":null,"bytes":null,"tags":null,"at":null,"when":null,"shelf":null,"open":null,"attrs":null}`,
		`{"unknown":1,"X":"a","other":false,"Name":-2.5}`,
		`{"shelf":{"Ratio":0.5,"corner":{"X":1},"books":["a"]}}`,
	} {
		var got, want flat
		if !strictjson.PlanOf(reflect.TypeFor[flat]()).UnmarshalPlain([]byte(data), reflect.ValueOf(&got).Elem()) {
			t.Errorf("%s is not plain", data)
		}
		if err := unmarshalStrictly([]byte(data), &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v, for the library %+v, %v", data, got, want, err)
		}
	}
}

// TestPlanLeaves is what a plan leaves to the library, be it at fault or not.
func TestPlanLeaves(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		``, ` `, `{`, `{"x"`, `{"x":`, `{"x":1`, `{"x":1,`, `{"x":1,}`, `{,}`, `{"x":1}}`, `{"x":1} x`, "{}\x00", "\ufeff{}", `[]`, `5`, `nul`, `nullx`,
		`{"x":1,"x":1}`, `{"y":1,"y":2}`, `{"a":1,"b":2,"c":3,"d":4,"e":5}`, `{"y":{}}`, `{"y":[]}`, `{"y":01}`, `{"y":"\u0041"}`, `{"y\n":1}`, `{"ü":1}`,
		`{"x":01}`, `{"x":1.0}`, `{"x":1e2}`, `{"x":9223372036854775808}`, `{"x":-9223372036854775809}`, `{"x":"5"}`, `{"x":-}`, `{"x":+1}`, `{"x":- 1}`, `{"x":true}`,
		`{"small":128}`, `{"small":-129}`, `{"tiny":256}`, `{"tiny":-1}`, `{"count":18446744073709551616}`, `{"count":18446744073709551615}`,
		`{"price":1e400}`, `{"price":.5}`, `{"price":1.}`, `{"price":1e}`, `{"price":1e+}`, `{"price":00}`, `{"price":NaN}`, `{"single":1e39}`,
		`{"price":` + strings.Repeat("1", 1101) + `}`,
		`{"name":"a}`, `{"name":"\"}`, `{"name":"\x"}`, `{"name":"\u12"}`, `{"name":"\u00g0"}`, `{"name":"\ud83d\ude00"}`, `{"name":"\ud800"}`, "{\"name\":\"\x01\"}",
		"{\"name\":\"\xff\"}", "{\"name\":\"a\xc3\"}", "{\"name\":\"\xed\xa0\x80\"}", "{\"name\":\"\\\xc3\xa9\"}", `{"name":'a'}`, `{"name":5}`, `{"flag":truth}`, `{"flag":1}`,
		`{"bytes":"AQI"}`, `{"bytes":"AQ\n="}`, `{"bytes":"#"}`, `{"bytes":[1]}`, `{"when":"yesterday"}`, `{"when":"2024-05-06T7:08:09Z"}`, `{"when":"2024-05-06T07:08:09,5Z"}`,
		`{"when":"2024-05-06T07:08:09+24:00"}`, `{"when":5}`, `{"wait":"3s"}`, `{"tags":["a",1]}`, `{"tags":["a"`, `{"tags":["a",]}`, `{"tags":{}}`, `{"at":[]}`, `{"open":1}`, `{"attrs":{}}`,
	} {
		var got flat
		if strictjson.PlanOf(reflect.TypeFor[flat]()).UnmarshalPlain([]byte(data), reflect.ValueOf(&got).Elem()) {
			t.Errorf("%q is plain, and became %+v", data, got)
		}
	}
}

// TestPlanReadsAnyCase is what a plan reads for a caller's own struct.
func TestPlanReadsAnyCase(t *testing.T) {
	t.Parallel()
	type result struct {
		Sum    int
		UserID string `json:"userID"`
	}
	type alike struct{ Sum, SUM int }
	tests := []struct {
		target any
		data   string
		plain  bool
	}{
		{new(result), `{"sum":11,"userid":"a"}`, true},
		{new(result), `{"SUM":11,"UserID":"a"}`, true},
		{new(result), `{"user_id":"a","ſum":1}`, false},
		{new(result), `{"sum":1,"SUM":2}`, false},
		{new(alike), `{"SUM":1,"Sum":2}`, true},
		{new(alike), `{"sum":1}`, false},
		{new(point), `{"x":1,"y":2}`, true},
	}
	for _, test := range tests {
		got, want := reflect.ValueOf(test.target), reflect.New(reflect.TypeOf(test.target).Elem())
		if plain := strictjson.PlanOf(got.Type().Elem()).UnmarshalAnyCasePlain([]byte(test.data), got.Elem()); plain != test.plain {
			t.Errorf("%s for a %T is plain: %v", test.data, test.target, plain)
		}
		if err := strictjson.UnmarshalAnyCaseStrictly([]byte(test.data), want.Interface()); test.plain && (err != nil || !reflect.DeepEqual(got.Interface(), want.Interface())) {
			t.Errorf("%s became %+v, for the library %+v, %v", test.data, got, want, err)
		}
	}
}

// TestPlanWrites is what a plan writes without the library, to the byte as that does.
func TestPlanWrites(t *testing.T) {
	t.Parallel()
	seven, zone := 7, time.FixedZone("", -5400)
	for _, value := range []any{
		flat{}, &flat{}, (*flat)(nil), struct{}{}, 5, "a", true, 1.5, []byte("a"), time.Unix(0, 1).In(zone), []string(nil), []string{}, []string{"a", "b"},
		flat{X: math.MinInt, Small: -128, Count: math.MaxUint64, Tiny: 255, Flag: true, Bytes: []byte{1, 2}, Wait: time.Second, Pointer: &seven, Tags: []string{"", "b"}},
		flat{Name: "\x00\x01\b\t\n\f\r\x1f\"\\/<&>\x7fäöü😀\u2028\ufffd", Points: []point{{}, {1, 2}}, At: &point{3, 4}, Rows: [][]int{nil, {1, 2}}},
		flat{Shelf: shelf{Number: 1, Ratio: math.Copysign(0, -1), Label: "a", Books: []string{"b"}, Next: &point{}, Any: 0, Map: map[string]any{"a": nil}, Open: true}},
		flat{When: time.Date(2024, 5, 6, 7, 8, 9, 5, time.UTC), Open: flat{}, Attrs: map[string]any{"b": 1, "a": []any{1.5, "c", nil}, "": map[string]any{}}},
		arguments{}, arguments(nil), arguments{"x": 5, "y": uint8(6), "name": "a\"b", "at": point{1, 2}, "to": &point{}, "tags": []string{"a"}, "none": nil, "f": float32(0.1)},
		arguments{"1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6, "7": 7, "8": 8, "9": 9, "10": 10, "ü": 11},
	} {
		plan := strictjson.PlanOf(reflect.TypeOf(value))
		got, plain := plan.MarshalPlain(reflect.ValueOf(value))
		want, err := strictjson.MarshalStrictly(value)
		if !plain || err != nil || !bytes.Equal(got, want) {
			t.Errorf("%+v was written as %s (plain: %v), by the library as %s, %v", value, got, plain, want, err)
		}
	}
}

// TestPlanGuessesWithinBounds holds that who fills a list cannot have much more memory set aside for it than it takes: by
// large elements before many small ones, or by lists in lists.
func TestPlanGuessesWithinBounds(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("a", 64<<10)
	falling := append(slices.Repeat([]string{large}, 8), make([]string, 1000)...)
	nested := [][][][][]string{{{{{large}}}}}
	nested[0][0][0][0] = append(nested[0][0][0][0], make([]string, 7)...)
	nested[0][0][0] = append(nested[0][0][0], make([][]string, 7)...)
	nested[0][0] = append(nested[0][0], make([][][]string, 7)...)
	nested[0] = append(nested[0], make([][][][]string, 7)...)
	nested = append(nested, make([][][][][]string, 7)...)
	for _, value := range []any{falling, nested, [][]string{falling, falling}} {
		written, err := strictjson.Marshal(value)
		if most := 2*len(written) + 2<<20; err != nil || cap(written) > most {
			t.Errorf("%T: %d bytes are written into %d, want %d at most; %v", value, len(written), cap(written), most, err)
		}
	}
}

// TestPlanWritesFloats is about where a number gets an exponent.
func TestPlanWritesFloats(t *testing.T) {
	t.Parallel()
	for _, value := range []float64{0, 1, -1.5, 1e20, 1e21, 123456789e13, 1e-5, 1e-6, 9.99e-7, 1e-7, 1e-10, 1e100, math.MaxFloat64, math.SmallestNonzeroFloat64, math.MaxFloat32, 0.1} {
		for _, value := range []any{value, -value, float32(value), -float32(value)} {
			got, plain := strictjson.PlanOf(reflect.TypeOf(value)).MarshalPlain(reflect.ValueOf(value))
			want, err := strictjson.MarshalStrictly(value)
			if infinite := err != nil; plain == infinite || plain && !bytes.Equal(got, want) {
				t.Errorf("%v was written as %s (plain: %v), by the library as %s, %v", value, got, plain, want, err)
			}
		}
	}
}

// What is not plain.
type (
	selfReader int
	selfWriter int
	namedByte  byte
	list       []list
	loop       *loop
	embedder   struct{ point }
	quoted     struct {
		X int `json:",string"`
	}
	strange struct {
		X int `json:"'x y'"`
	}
	silent   struct{ x int }
	omitting struct {
		When time.Time `json:"when,omitzero"`
	}
)

// mistaken returns a struct that the compiler takes and a linter does not: a tag on a field that nobody sees, or one
// that is given twice.
func mistaken(names ...string) any {
	var fields []reflect.StructField
	for _, name := range names {
		field := reflect.StructField{Name: name, Type: reflect.TypeFor[int](), Tag: `json:"x"`}
		if name == strings.ToLower(name) {
			field.PkgPath = "example"
		}
		fields = append(fields, field)
	}
	return reflect.New(reflect.StructOf(fields)).Elem().Interface()
}

func (*selfReader) UnmarshalText([]byte) error  { return nil }
func (selfWriter) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

// TestPlanLeavesTypes is about types that are not plain, or not in one direction.
func TestPlanLeavesTypes(t *testing.T) {
	t.Parallel()
	cycle := []any{nil}
	cycle[0] = cycle
	for _, value := range []any{
		selfReader(1), selfWriter(1), new(selfWriter), []namedByte{1}, [2]int{}, map[string]int{}, map[int]any{}, json.RawMessage(`1`),
		list{}, loop(nil), embedder{}, quoted{}, strange{}, silent{}, omitting{}, mistaken("x"), mistaken("A", "x"), mistaken("A", "B"), cycle, math.NaN(), "\xff", "\n\xff",
		arguments{"a": math.Inf(1)}, arguments{"\xff": 1}, arguments{"a": make(chan int)}, []any{selfWriter(1)}, time.Unix(1<<60, 0), struct{ Any error }{},
		deep[deep[deep[deep[deep[deep[deep[deep[deep[int]]]]]]]]]{},
	} {
		if got, plain := strictjson.PlanOf(reflect.TypeOf(value)).MarshalPlain(reflect.ValueOf(value)); plain {
			t.Errorf("%T was written as %s", value, got)
		}
	}
	_ = silent{x: 1}.x + flat{hidden: 1}.hidden
}

type deep[T any] struct{ Values []T }

// TestPlanOfManyFields has more of them than are looked at one by one, and more than a plan has room for.
func TestPlanOfManyFields(t *testing.T) {
	t.Parallel()
	for count, want := range map[int]bool{9: true, 64: true, 65: false} {
		var fields []reflect.StructField
		for i := range count {
			fields = append(fields, reflect.StructField{Name: "F" + strings.Repeat("x", i), Type: reflect.TypeFor[int]()})
		}
		into := reflect.New(reflect.StructOf(fields))
		data := `{"Fxxxxx":5,"none":1,"F":1,"fx":2}`
		if plain := strictjson.PlanOf(into.Type().Elem()).UnmarshalPlain([]byte(data), into.Elem()); plain != want {
			t.Errorf("with %d fields it is plain: %v", count, plain)
		}
		if err := strictjson.Unmarshal([]byte(data), into.Interface()); err != nil || into.Elem().Field(5).Int() != 5 || into.Elem().Field(0).Int() != 1 {
			t.Errorf("with %d fields it is %v, %v", count, into, err)
		}
	}
}

// unmarshalStrictly decodes a text with the JSON library alone.
func unmarshalStrictly(data []byte, v any) error {
	text, err := strictjson.Scan(data)
	if err != nil {
		return err
	}
	return text.Unmarshal(v)
}
