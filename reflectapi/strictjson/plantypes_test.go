package strictjson_test

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/strictjson"
)

// Types that write or read themselves, with methods of values and of pointers, and types whose names alone are new.
type (
	valueWriter   struct{ A int }
	pointerWriter struct{ A int }
	textWriter    string
	textAppender  int
	streamWriter  struct{ A int }
	jsonReader    struct{ A int }
	streamReader  int
	anyWriter     struct{ Any any }
	anyReader     struct{ Any any }
	namedInt      int16
	namedText     string
	namedBytes    []byte
	namedTime     time.Time
	namedWait     time.Duration
	namedList     []namedText
	namedMap      map[string]any
	anything      any
)

func (w valueWriter) MarshalJSON() ([]byte, error) { return stdjson.Marshal([]int{w.A}) }

func (w *pointerWriter) MarshalJSON() ([]byte, error) { return stdjson.Marshal([]int{w.A}) }

func (w textWriter) MarshalText() ([]byte, error) { return []byte("<" + string(w) + ">"), nil }

func (w *textAppender) AppendText(data []byte) ([]byte, error) { return fmt.Append(data, int(*w)), nil }

func (w *streamWriter) MarshalJSONTo(to *jsontext.Encoder) error {
	return to.WriteToken(jsontext.Int(int64(w.A)))
}

func (r *jsonReader) UnmarshalJSON(data []byte) error { r.A = len(data); return nil }

func (r *streamReader) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	*r++
	return from.SkipValue()
}

func (w anyWriter) MarshalJSON() ([]byte, error) { return []byte(`{"Any":9007199254740993}`), nil }

func (r *anyReader) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	return jsonv2.UnmarshalDecode(from, &r.Any)
}

// all is whatever a struct may hold, each with the ways to tag it.
type all struct {
	B   bool                     `json:"b,omitempty"`
	I8  *int8                    `json:"i8"`
	I16 namedInt                 `json:"i16"`
	U64 uint64                   `json:",omitempty"`
	F32 []float32                `json:"f32"`
	F64 **float64                `json:"f64"`
	S   namedText                `json:"s"`
	SS  [][]string               `json:"ss,omitempty"`
	BB  namedBytes               `json:"bb"`
	N   stdjson.Number           `json:"n"`
	T   []time.Time              `json:"t"`
	W   namedWait                `json:"w"`
	L   namedList                `json:"l"`
	M   namedMap                 `json:"m"`
	X   anything                 `json:"x"`
	E   error                    `json:"e"`
	P   []*point                 `json:"p"`
	St  struct{ a, A int }       `json:"st"`
	Z   struct{}                 `json:"z,omitempty"` //nolint:modernize // that it has no effect is tested
	Zs  []struct{ V []struct{} } `json:"zs"`
	No  int                      `json:"-"`
}

// planTypes are types that are plain, nearly plain, and not plain at all.
func planTypes() []reflect.Type {
	var types []reflect.Type
	for _, value := range []any{
		all{}, []all{}, flat{}, shelf{}, point{}, true, int8(0), uint(0), uintptr(0), float32(0), 0.0, "", []byte{},
		[3]byte{}, [2]int{}, stdjson.Number(""), stdjson.RawMessage{},
		time.Time{}, time.Duration(0), namedTime{}, namedWait(0), namedBytes{}, []namedByte{}, namedList{}, namedMap{},
		map[string]any{}, map[string]int{}, map[int]string{}, map[namedText]any{}, map[string]anything{},
		valueWriter{}, &pointerWriter{}, []pointerWriter{}, textWriter(""), textAppender(0), streamWriter{}, jsonReader{},
		streamReader(0), anyWriter{}, anyReader{}, color(0), netip.Addr{},
		struct{ W []valueWriter }{}, struct{ P *pointerWriter }{}, struct{ T map[string]textWriter }{},
		struct{ S *streamReader }{}, struct{ C []color }{},
		struct{ point }{}, struct{ *point }{}, struct{ At point }{}, struct{ time.Time }{}, struct{ a int }{},
		struct{ error }{}, list{}, []any{}, []error{}, struct{ Any anything }{},
		struct {
			X int    `json:"x,string"`
			Y []int  `json:"y,omitzero"`
			Z string `json:"z,case:ignore"` //nolint:revive // the library knows it
		}{},
		struct {
			A *int      `json:"a,omitzero"`
			W time.Time `json:"w,omitzero"`
			D int       `json:"-,"` //nolint:staticcheck // the library takes it for a mistake
		}{},
		struct {
			Ab   int `json:"a-b"`
			AB   int `json:"A_B"`
			Ab2  int `json:"a.b"`
			Self *sample
			Next *all
		}{},
		struct{ Same, SAME, Other int }{},
		struct {
			Ünder int
			K     int `json:"K"`
			Kk    int `json:"'q'"`
		}{},
	} {
		types = append(types, reflect.TypeOf(value))
	}
	return append(types, reflect.TypeFor[any](), reflect.TypeFor[error]())
}

// filler makes random values.
type filler struct{ *rand.Rand }

func newFiller(seed uint64) filler {
	return filler{rand.New(rand.NewPCG(seed, 0))}
}

// fill sets a value at the given depth in another one.
func (f filler) fill(v reflect.Value, depth int) {
	if f.IntN(5) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.Uint64()) >> f.IntN(64) >> (64 - v.Type().Bits()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v.SetUint(f.Uint64() >> f.IntN(64) >> (64 - v.Type().Bits()))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(pick(f, 0, 1.5, -2, math.Copysign(0, -1), 1e-7, 1e21, math.MaxFloat32, 16777217, 1e300,
			math.Float64frombits(f.Uint64())))
	case reflect.String:
		v.SetString(pick(f, "a", "5", "\n\"\\\x00", "é\u2028<&>", strings.Repeat("long", 10), "\xff", "\x7f😀"))
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 || depth > 5 {
			v.Set(reflect.MakeSlice(v.Type(), f.IntN(12)>>min(depth, 3), 12))
		} else {
			v.Set(reflect.MakeSlice(v.Type(), f.IntN(6), 7))
		}
		f.elements(v, depth)
	case reflect.Array:
		f.elements(v, depth)
	case reflect.Pointer:
		if depth < 6 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth+1)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			zone := time.FixedZone("", pick(f, 0, 3600, -5400, 1, 86400, -200_000))
			v.Set(reflect.ValueOf(pick(f, time.Unix(int64(f.Uint32()), int64(f.IntN(1e9))).In(zone), time.Unix(5, 0).UTC(),
				time.Unix(1<<40, 0))))
			return
		}
		for _, field := range v.Fields() {
			if field.CanSet() {
				f.fill(field, depth+1)
			}
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.IntN(12) >> min(depth, 4) {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key, depth+1)
			f.fill(elem, depth+1)
			v.SetMapIndex(key, elem)
		}
	case reflect.Interface:
		if types := planTypes(); v.NumMethod() == 0 && depth < 4 {
			elem := reflect.New(types[f.IntN(len(types)-2)]).Elem()
			f.fill(elem, depth+1)
			v.Set(elem)
		}
	default:
	}
}

func (f filler) elements(v reflect.Value, depth int) {
	for i := range v.Len() {
		f.fill(v.Index(i), depth+1)
	}
}

func pick[T any](f filler, from ...T) T { return from[f.IntN(len(from))] }

// bend changes a few bytes of a JSON text, so that it mostly remains valid.
func (f filler) bend(text string) string {
	words := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(`{}[],:`, c) })
	for range f.IntN(4) {
		if len(words) == 0 {
			return text
		}
		word := words[f.IntN(len(words))]
		other := pick(f, "null", "-0", "-0.0", "1e2", "1.0", "-1", "128", "65536", "9223372036854775808", "9007199254740993",
			"18446744073709551616", "1e400", "1e-400", "3.5e38", "01", "0x1", "1E+2", "true", `""`, `"5"`, `"a"`,
			`"\ud83d\ude00"`, `"\ud800"`, `"\u2028\u0000"`, `"\/\b\u00e9"`, "\"\x01\"", "\"\xff\"", `"AQI="`, `"AR=="`, `"AQ=="`,
			`"AQ\n="`, `"2024-05-06T07:08:09Z"`, `"2024-05-06T07:08:09.123456789+23:59"`, `"2024-05-06T07:08:60Z"`,
			"{}", "[]", "[null]", "[{}]", "[1,2]", `{"X":1,"X":2}`, `{"x":1,"X":2}`, `{"a":{"b":[]}}`, " null\t",
			strings.Repeat("1", 40), strings.Repeat("[", 70), strings.ToUpper(word), strings.ToLower(word), word+","+word,
			word[1:], word+" ")
		text = strings.Replace(text, word, other, 1+f.IntN(2))
	}
	return text + pick(f, "", "", "", "", " ", "x", "\x00", "}")
}

// FuzzPlanTypes has values of many types, filled by chance, written, and texts read into such values: with plans and by
// the JSON library alone. Values, bytes, and what is said to be wrong have to be the same.
func FuzzPlanTypes(f *testing.F) {
	types := planTypes()
	for i := range types {
		f.Add(uint8(i), uint64(i), `{"Any":9007199254740993}`)
	}
	f.Add(uint8(0), uint64(1), `{"i8":-128,"f64":1,"n":"5","t":[null],"zs":[{"V":[{}]}],"p":[{"Y":1,"y":2}],"x":null}`)
	f.Fuzz(func(t *testing.T, place uint8, seed uint64, text string) {
		of := types[int(place)%len(types)]
		value := reflect.New(of)
		newFiller(seed).fill(value.Elem(), 0)
		written := compareMarshal(t, value.Interface())
		if again := compareMarshal(t, value.Elem().Interface()); again != written && of.Kind() != reflect.Interface {
			t.Fatalf("%v was written as %q, and behind a pointer as %q", of, again, written)
		}
		bent := newFiller(seed ^ 1).bend(written)
		for _, data := range []string{text, written, bent, strings.ToLower(bent)} {
			for _, prefilled := range []uint64{0, seed + 2} {
				compareUnmarshal(t, of, data, prefilled, strictjson.Unmarshal, strictjson.UnmarshalScanned)
				compareUnmarshal(t, of, data, prefilled, strictjson.UnmarshalAnyCase, strictjson.UnmarshalAnyCaseScanned)
			}
		}
	})
}

// compareMarshal returns the JSON of a value, "" if it is refused.
func compareMarshal(t *testing.T, value any) string {
	t.Helper()
	got, err := strictjson.Marshal(value)
	want, wantErr := strictjson.MarshalStrictly(value)
	require.Equal(t, string(want), string(got), "%T, %+v", value, value)
	require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err), "%T, %+v", value, value)
	return string(got)
}

// compareUnmarshal reads a text into two values that are filled in the same way, by no seed not at all.
func compareUnmarshal(t *testing.T, of reflect.Type, data string, seed uint64, read, scanned func([]byte, any) error) {
	t.Helper()
	got, want := reflect.New(of), reflect.New(of)
	if seed > 0 {
		newFiller(seed).fill(got.Elem(), 0)
		newFiller(seed).fill(want.Elem(), 0)
	}
	if !alike(got, want) {
		return // there is a NaN in it
	}
	input := []byte(data)
	err, wantErr := read(input, got.Interface()), scanned([]byte(data), want.Interface())
	if string(input) != data {
		t.Fatalf("%v: reading %q has made %q of it", of, data, input)
	}
	clear(input) // nothing that was read shares memory with it
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("%v: %q is %v, for the library %v", of, data, err, wantErr)
	}
	if err == nil && !alike(got, want) {
		t.Fatalf("%v: %q became %#v, for the library %#v", of, data, got.Elem(), want.Elem())
	}
}

// alike reports whether values are equal; -0 and 0 differ, as in their JSON.
func alike(a, b reflect.Value) bool {
	one, _ := strictjson.MarshalStrictly(a.Interface())
	other, _ := strictjson.MarshalStrictly(b.Interface())
	return reflect.DeepEqual(a.Interface(), b.Interface()) && bytes.Equal(one, other)
}
