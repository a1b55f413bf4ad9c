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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/strictjson"
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

func TestMarshal(t *testing.T) {
	t.Parallel()
	type empties struct {
		Zero    int            `json:"zero,omitempty"`
		False   bool           `json:"false,omitempty"`
		Slice   []int          `json:"slice"`
		Map     map[string]int `json:"map"`
		Pointer *int           `json:"pointer"`
	}
	tests := []struct {
		name  string
		value any
		want  string
	}{
		{"what is empty", empties{}, `{"slice":[],"map":{},"pointer":null}`},
		{"map keys in order", map[string]int{"b": 2, "a": 1, "c": 3}, `{"a":1,"b":2,"c":3}`},
		{"a duration", 3 * time.Second, `3000000000`},
		{"a time", time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC), `"2024-05-06T07:08:09Z"`},
		{"bytes", []byte{1, 2}, `"AQI="`},
		{"an array of bytes", [2]byte{1, 2}, `[1,2]`},
		{"signs of HTML", "<a&b>", `"<a&b>"`},
		{"nil", nil, `null`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := strictjson.Marshal(test.value)
			require.NoError(t, err, "Marshal(%#v)", test.value)
			assert.Equal(t, test.want, string(got), "Marshal(%#v)", test.value)
		})
	}
}

func TestMarshalRefuses(t *testing.T) {
	t.Parallel()
	type node struct{ Next *node }
	cycle := &node{}
	cycle.Next = cycle
	for name, value := range map[string]any{
		"NaN": math.NaN(), "an infinity": math.Inf(1), "invalid UTF-8": "\xff", "a cycle": cycle, "a channel": make(chan int),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := strictjson.Marshal(value); err == nil {
				t.Errorf("Marshal of %s = %s, want an error", name, got)
			}
		})
	}
}

// TestPlan_Writes is what a plan writes without the library, to the byte as that does.
func TestPlan_Writes(t *testing.T) {
	t.Parallel()
	seven, zone := 7, time.FixedZone("", -5400)
	for _, value := range []any{
		flat{}, &flat{}, (*flat)(nil), struct{}{}, 5, "a", true, 1.5, []byte("a"), time.Unix(0, 1).In(zone), []string(nil),
		[]string{}, []string{"a", "b"},
		flat{X: math.MinInt, Small: -128, Count: math.MaxUint64, Tiny: 255, Flag: true, Bytes: []byte{1, 2},
			Wait: time.Second, Pointer: &seven, Tags: []string{"", "b"}},
		flat{Name: "\x00\x01\b\t\n\f\r\x1f\"\\/<&>\x7fäöü😀\u2028\ufffd", Points: []point{{}, {1, 2}}, At: &point{3, 4},
			Rows: [][]int{nil, {1, 2}}},
		flat{Shelf: shelf{Number: 1, Ratio: math.Copysign(0, -1), Label: "a", Books: []string{"b"}, Next: &point{}, Any: 0,
			Map: map[string]any{"a": nil}, Open: true}},
		flat{When: time.Date(2024, 5, 6, 7, 8, 9, 5, time.UTC), Open: flat{},
			Attrs: map[string]any{"b": 1, "a": []any{1.5, "c", nil}, "": map[string]any{}}},
		arguments{}, arguments(nil), arguments{"x": 5, "y": uint8(6), "name": "a\"b", "at": point{1, 2}, "to": &point{},
			"tags": []string{"a"}, "none": nil, "f": float32(0.1)},
		arguments{"1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6, "7": 7, "8": 8, "9": 9, "10": 10, "ü": 11},
	} {
		plan := strictjson.PlanOf(reflect.TypeOf(value))
		got, plain := plan.MarshalPlain(reflect.ValueOf(value))
		want, err := strictjson.MarshalStrictly(value)
		require.True(t, plain, value)
		require.NoError(t, err, value)
		assert.Equal(t, string(want), string(got), value)
	}
}

// TestPlan_GuessesWithinBounds holds that who fills a list cannot have much more memory set aside for it than it takes:
// by large elements before many small ones, or by lists in lists.
func TestPlan_GuessesWithinBounds(t *testing.T) {
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
		most := 2*len(written) + 2<<20
		require.NoError(t, err, "%T", value)
		assert.LessOrEqual(t, cap(written), most, "%T", value)
	}
}

// TestPlan_WritesFloats is about where a number gets an exponent.
func TestPlan_WritesFloats(t *testing.T) {
	t.Parallel()
	for _, value := range []float64{0, 1, -1.5, 1e20, 1e21, 123456789e13, 1e-5, 1e-6, 9.99e-7, 1e-7, 1e-10, 1e100,
		math.MaxFloat64, math.SmallestNonzeroFloat64, math.MaxFloat32, 0.1} {
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

// mistaken returns a struct that the compiler takes and a linter does not: a tag on a field that JSON does not see, or
// one that is given twice.
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

// TestPlan_LeavesTypes is about types that are not plain, or not in one direction.
func TestPlan_LeavesTypes(t *testing.T) {
	t.Parallel()
	cycle := []any{nil}
	cycle[0] = cycle
	for _, value := range []any{
		selfReader(1), selfWriter(1), new(selfWriter), []namedByte{1}, [2]int{}, map[string]int{}, map[int]any{},
		json.RawMessage(`1`),
		list{}, loop(nil), embedder{}, quoted{}, strange{}, silent{}, omitting{}, mistaken("x"), mistaken("A", "x"),
		mistaken("A", "B"), cycle, math.NaN(), "\xff", "\n\xff",
		arguments{"a": math.Inf(1)}, arguments{"\xff": 1}, arguments{"a": make(chan int)}, []any{selfWriter(1)},
		time.Unix(1<<60, 0), struct{ Any error }{},
	} {
		if got, plain := strictjson.PlanOf(reflect.TypeOf(value)).MarshalPlain(reflect.ValueOf(value)); plain {
			t.Errorf("%T was written as %s", value, got)
		}
	}
	_ = silent{x: 1}.x + flat{hidden: 1}.hidden
}
