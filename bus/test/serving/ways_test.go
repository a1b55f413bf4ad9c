package serving_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/strictjson"
	"github.com/busline/busline/restmap"
)

// The types of this file are those that an argument may have.

type (
	waysLevel  int8
	waysColour string
	waysInner  struct {
		N    int      `json:"n"`
		Tags []string `json:"tags"`
	}
	waysOuter struct {
		waysInner
		*WaysPaging
		Name  string         `json:"name"`
		Inner waysInner      `json:"inner"`
		Maybe *waysInner     `json:"maybe"`
		Lines []waysInner    `json:"lines"`
		By    map[string]int `json:"by"`
		Any   any            `json:"any"`
	}
	WaysPaging struct {
		Limit int `json:"limit"`
	}
	waysLimit struct {
		Most int `json:"limit"`
	}
	waysSpan  struct{ time.Duration }
	waysDeep  struct{ *WaysPaging }
	waysExact struct { // what it is decides whether a limit is checked by the value or by its JSON
		Low   int64   `json:"low" jsonschema:"minimum=9007199254740993"`
		One   int64   `json:"one,omitempty" jsonschema:"enum=9007199254740993"`
		By    int64   `json:"by,omitempty" jsonschema:"multipleOf=9007199254740993"`
		Most  uint64  `json:"most,omitempty" jsonschema:"maximum=9007199254740991"`
		Ones  []int64 `json:"ones,omitempty" jsonschema:"enum=9007199254740993"`
		Text  string  `json:"text,omitempty" jsonschema:"minLength=2"`
		Spelt int64   `json:"spelt,omitempty" jsonschema:"minimum=1152921504606846977"`
	}
	waysFilter struct {
		waysDeep
		Text  string     `json:"text"`
		Pages WaysPaging `json:"pages"`
	}
)

// ways echoes a value of each type.
type ways struct{}

func (ways) Bool(v bool) (out bool)                                       { return v }
func (ways) Int(v int) (out int)                                          { return v }
func (ways) IntSmall(v int8) (out int8)                                   { return v }
func (ways) IntMiddle(v int16) (out int16)                                { return v }
func (ways) IntHalf(v int32) (out int32)                                  { return v }
func (ways) IntLarge(v int64) (out int64)                                 { return v }
func (ways) Uint(v uint) (out uint)                                       { return v }
func (ways) UintSmall(v uint8) (out uint8)                                { return v }
func (ways) UintLarge(v uint64) (out uint64)                              { return v }
func (ways) FloatHalf(v float32) (out float32)                            { return v }
func (ways) Float(v float64) (out float64)                                { return v }
func (ways) Text(v string) (out string)                                   { return v }
func (ways) Level(v waysLevel) (out waysLevel)                            { return v }
func (ways) Colour(v waysColour) (out waysColour)                         { return v }
func (ways) Bytes(v []byte) (out []byte)                                  { return v }
func (ways) Time(v time.Time) (out time.Time)                             { return v }
func (ways) Duration(v time.Duration) (out time.Duration)                 { return v }
func (ways) Span(v waysSpan) (out waysSpan)                               { return v }
func (ways) Addr(v netip.Addr) (out netip.Addr)                           { return v }
func (ways) Big(v *big.Int) (out *big.Int)                                { return v }
func (ways) Number(v json.Number) (out json.Number)                       { return v }
func (ways) Raw(v json.RawMessage) (out json.RawMessage)                  { return v }
func (ways) Any(v any) (out any)                                          { return v }
func (ways) IntPointer(v *int) (out *int)                                 { return v }
func (ways) TextPointer(v *string) (out *string)                          { return v }
func (ways) BoolPointer(v *bool) (out *bool)                              { return v }
func (ways) Texts(v []string) (out []string)                              { return v }
func (ways) Ints(v []int) (out []int)                                     { return v }
func (ways) Bools(v []bool) (out []bool)                                  { return v }
func (ways) Times(v []time.Time) (out []time.Time)                        { return v }
func (ways) Anys(v []any) (out []any)                                     { return v }
func (ways) Lists(v [][]string) (out [][]string)                          { return v }
func (ways) Pair(v [2]int) (out [2]int)                                   { return v }
func (ways) Map(v map[string]string) (out map[string]string)              { return v }
func (ways) Numbered(v map[int]float64) (out map[int]float64)             { return v }
func (ways) Object(v map[string]any) (out map[string]any)                 { return v }
func (ways) Struct(v waysInner) (out waysInner)                           { return v }
func (ways) StructPointer(v *waysInner) (out *waysInner)                  { return v }
func (ways) Structs(v []waysInner) (out []waysInner)                      { return v }
func (ways) Nested(v waysOuter) (out waysOuter)                           { return v }
func (ways) TimePointer(v *time.Time) (out *time.Time)                    { return v }
func (ways) TimesByKey(v map[string]time.Time) (out map[string]time.Time) { return v }
func (ways) Exact(v waysExact) (out waysExact)                            { return v }
func (ways) Filter(v waysFilter) (out waysFilter)                         { return v }
func (ways) Paged(v struct {
	Pages WaysPaging `json:"pages"`
}) (out int) {
	return v.Pages.Limit
}
func (ways) StructsByKey(v map[string]waysInner) (out map[string]waysInner) { return v }

// waysTest has a service, and callers over the broker and in the process.
type waysTest struct {
	*testing.T
	callers map[string]*bus.Conn
}

// What goes in comes out, whichever way it takes: by name, from a struct, through a client, as JSON, in a query and in
// a form; with and without a body; over the broker and within the process.
func TestWays(t *testing.T) {
	b := bustest.New(t)
	if err := bus.Serve(b.Connect("ways.example"), ways{}); err != nil {
		t.Fatal(err)
	}
	w := waysTest{t, map[string]*bus.Conn{"broker": b.Connect("far.example", bus.WithoutShortCircuit()),
		"process": b.Connect("near.example")}}

	texts := []string{"", "tea", " ", "5", "null", "true", "a b&c=d+e%20;f", `"quoted"`, "{", "[1]", "é漢🙂", "on", "1e3",
		"2h", "a.b", "\x7f\n"}
	goesThrough(w, "bool", false, true)
	goesThrough(w, "int", 0, 5, -5, math.MaxInt, math.MinInt)
	goesThrough(w, "int-small", int8(0), math.MaxInt8, math.MinInt8)
	goesThrough(w, "int-middle", int16(0), math.MaxInt16, math.MinInt16)
	goesThrough(w, "int-half", int32(0), math.MaxInt32, math.MinInt32)
	goesThrough(w, "int-large", int64(0), math.MaxInt64, math.MinInt64)
	goesThrough(w, "uint", uint(0), math.MaxUint)
	goesThrough(w, "uint-small", uint8(0), math.MaxUint8)
	goesThrough(w, "uint-large", uint64(0), math.MaxUint64)
	goesThrough(w, "float-half", float32(0), 0.1, -1.5, math.MaxFloat32, math.SmallestNonzeroFloat32)
	goesThrough(w, "float", 0.0, 0.1, -1.5, math.MaxFloat64, math.SmallestNonzeroFloat64, 1e21, 1e-7)
	goesThrough(w, "text", texts...)
	goesThrough(w, "level", waysLevel(0), 3)
	goesThrough(w, "colour", waysColour(""), "red", "7")
	goesThrough(w, "bytes", []byte{}, []byte("tea"), []byte{0, 255, 254, 62, 63})
	goesThrough(w, "time", time.Time{}, time.Date(2026, 11, 28, 12, 0, 0, 5, time.UTC),
		time.Date(2026, 11, 28, 12, 0, 0, 0, time.FixedZone("", -5400)))
	goesThrough(w, "duration", time.Duration(0), time.Second, -time.Nanosecond, math.MaxInt64)
	goesThrough(w, "span", waysSpan{}, waysSpan{5}, waysSpan{time.Hour})
	goesThrough(w, "addr", netip.Addr{}, netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("fe80::1%eth0"))
	goesThrough(w, "big", nil, big.NewInt(0), new(big.Int).Exp(big.NewInt(10), big.NewInt(40), nil))
	goesThrough(w, "number", json.Number("0"), "1.50", "12345678901234567890123", "-1e400")
	goesThrough(w, "raw", json.RawMessage("null"), json.RawMessage(`"5"`), json.RawMessage("5"),
		json.RawMessage(`{"a":[1,"x"]}`), json.RawMessage(`"tea"`))
	goesThrough(w, "int-pointer", nil, new(int), new(-7))
	goesThrough(w, "text-pointer", append(pointersTo(texts), nil)...)
	goesThrough(w, "bool-pointer", nil, new(false), new(true))
	goesThrough(w, "texts", []string{}, []string{"tea"}, []string{""}, []string{"", "a", ""},
		[]string{"a,b", "5", "null"}, texts)
	goesThrough(w, "ints", []int{}, []int{0}, []int{1, -2, math.MaxInt})
	goesThrough(w, "bools", []bool{}, []bool{true, false})
	goesThrough(w, "times", []time.Time{}, []time.Time{{}, time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)})
	goesThrough(w, "lists", [][]string{}, [][]string{{}, {""}, {"a", "b"}})
	goesThrough(w, "pair", [2]int{}, [2]int{1, 2})
	goesThrough(w, "map", map[string]string{}, map[string]string{"": "", "a.b": "5", "c": "null"})
	goesThrough(w, "numbered", map[int]float64{}, map[int]float64{-1: 0.5, 7: 1e300})
	goesThrough(w, "struct", waysInner{Tags: []string{}}, waysInner{5, []string{"", "a"}})
	goesThrough(w, "struct-pointer", nil, &waysInner{5, []string{""}})
	goesThrough(w, "structs", []waysInner{}, []waysInner{{1, []string{}}, {2, []string{"", "x"}}})
	goesThrough(w, "structs-by-key", map[string]waysInner{},
		map[string]waysInner{"a": {1, []string{""}}, "": {2, []string{}}})
	goesThrough(w, "nested", waysOuter{
		waysInner: waysInner{1, []string{"a"}}, WaysPaging: &WaysPaging{2}, Name: "null", Inner: waysInner{2, []string{}},
		Maybe: &waysInner{3, []string{""}}, Lines: []waysInner{{4, []string{}}}, By: map[string]int{"x": 1}, Any: "5",
	})
	anything := []any{nil, true, 5.0, 1e300, int64(math.MaxInt64), []any{}, []any{"5", 5.0, nil}, map[string]any{},
		map[string]any{"a": "5"}}
	for _, text := range texts {
		anything = append(anything, text)
	}
	goesThrough(w, "any", anything...)
	goesThrough(w, "anys", []any{}, anything)
	goesThrough(w, "object", map[string]any{}, map[string]any{"a": anything})
}

// A text in a query or a form means what the same value in a JSON body means.
func TestWays_Texts(t *testing.T) {
	b := bustest.New(t)
	if err := bus.Serve(b.Connect("ways.example"), ways{}); err != nil {
		t.Fatal(err)
	}
	w := waysTest{t, nil}
	conns := map[string]*bus.Conn{"broker": b.Connect("far.example", bus.WithoutShortCircuit()),
		"process": b.Connect("near.example")}
	const noTime = "expects a date and time such as 2006-01-02T15:04:05Z (RFC 3339)"
	for _, test := range []struct {
		path, texts, body string // body is JSON of the argument, "" for none that means the same
		want              string // the JSON of the result, or a part of the refusal
	}{
		{"time", "v=2020-01-01T00:00:00.5Z", `"2020-01-01T00:00:00.5Z"`, `"2020-01-01T00:00:00.5Z"`},
		{"time", "v=2020-01-01T00:00:00,5Z", `"2020-01-01T00:00:00,5Z"`, noTime},
		{"time", "v=2020-01-01T0:00:00Z", `"2020-01-01T0:00:00Z"`, noTime},
		{"time", "v=2020-01-01T00:00:00%2B10:60", `"2020-01-01T00:00:00+10:60"`, noTime},
		{"time", "v=2020-01-01T00:00:00%2B24:00", `"2020-01-01T00:00:00+24:00"`, noTime},
		{"time", "v=2020-01-01t00:00:00z", `"2020-01-01t00:00:00z"`, noTime},
		{"times", "v=2020-01-01T00:00:00,5Z", `["2020-01-01T00:00:00,5Z"]`, noTime},
		{"time-pointer", "v=2020-01-01T0:00:00Z", `"2020-01-01T0:00:00Z"`, noTime},
		{"times-by-key", "v.a=2020-01-01T0:00:00Z", `{"a":"2020-01-01T0:00:00Z"}`, noTime},
		{"texts", "v=a&v=", `["a",""]`, `["a",""]`},
		{"texts", "v=&v=", `["",""]`, `["",""]`},
		{"ints", "v=1,2&v=3", `[1,2,3]`, `[1,2,3]`},
		{"ints", "v=1,,2", `[1,"",2]`, "expects an integer"},
		{"ints", "v=[1,2]", "", "expects an integer; repeat the name for each element"},
		{"pair", "v=1&v=2", `[1,2]`, `[1,2]`},
		{"pair", "v=1", `[1]`, "expects an array of 2"},
		{"anys", "v=1&v=a&v=", `[1,"a",""]`, `[1,"a",""]`},
		{"object", "v.x=5&v.y=tea&v.z=", `{"x":5,"y":"tea","z":""}`, `{"x":5,"y":"tea","z":""}`},
		{"nested", "v.name=&v.any=5", "", `"any":5`},
		{"text-pointer", "v=", `""`, `""`},
		{"big", "v=1e3", `1e3`, `1000`},
		{"duration", "v=1e3", `1e3`, `1000`},
		{"duration", "v=1.0", `1.0`, `1`},
		{"uint-large", "v=-0", `-0`, `0`},
		{"int-small", "v=-0", `-0`, `0`},
		{"map", "v[a]=5", "", "write v.a"},
		{"filter", "v.waysDeep.WaysPaging.limit=4", "", "write limit"},
		{"filter", "WaysPaging.limit=4", "", "write limit or pages.limit"},
		{"paged", "limit=4", "", "write pages.limit"},
		{"filter", "limit=4&pages.limit=5", `{"limit":4,"pages":{"limit":5}}`, `{"limit":4,"text":"","pages":{"limit":5}}`},
		{"filter", "", `{"limit":4}`, `{"limit":4,"text":"","pages":{"limit":0}}`},
		{"exact", "low=9007199254740993", `{"low":9007199254740993}`, `{"low":9007199254740993}`},
		{"exact", "low=9007199254740992", `{"low":9007199254740992}`, "expects at least 9007199254740993"},
		{"exact", "low=9007199254740992.0", `{"low":9007199254740992.0}`, "expects at least 9007199254740993"},
		{"exact", "low=9007199254740993&one=9007199254740992", `{"low":9007199254740993,"one":9007199254740992}`,
			"expects 9007199254740993"},
		{"exact", "low=9007199254740993&by=9007199254740992", `{"low":9007199254740993,"by":9007199254740992}`,
			"expects a multiple of 9007199254740993"},
		{"exact", "low=9007199254740993&most=9007199254740992", `{"low":9007199254740993,"most":9007199254740992}`,
			"expects at most 9007199254740991"},
		{"exact", "low=9007199254740993&ones=9007199254740992", `{"low":9007199254740993,"ones":[9007199254740992]}`,
			"expects 9007199254740993"},
		{"exact", "low=9007199254740993&spelt=1.152921504606846976e18",
			`{"low":9007199254740993,"spelt":1.152921504606846976e18}`, "expects at least 1152921504606846977"},
	} {
		for where, conn := range conns {
			expect := func(way, method, address, contentType, body string) {
				var results struct {
					Out json.RawMessage `json:"out"`
				}
				err := w.byHand(conn, method, address, contentType, body, &results)
				got := string(results.Out)
				if err != nil {
					got = err.Error()
				}
				if !strings.Contains(got, test.want) {
					t.Errorf("%s of %s%s, %s %s: %s, want %s", test.path, test.texts, body, where, way, got, test.want)
				}
			}
			address := "https://ways.example/" + test.path
			if test.texts != "" {
				expect("in a query", http.MethodGet, address+"?"+test.texts, "", "")
				expect("in a form", http.MethodPost, address, "application/x-www-form-urlencoded", test.texts)
			}
			if test.body != "" {
				expect("as JSON", http.MethodPost, address, "application/json", `{"v":`+test.body+`}`)
			}
		}
	}
}

// A name that a query has flat is unknown in a JSON body, which says where it belongs.
func TestWays_FlatInJSON(t *testing.T) {
	b := bustest.New(t)
	if err := bus.Serve(b.Connect("ways.example"), ways{}); err != nil {
		t.Fatal(err)
	}
	for _, conn := range []*bus.Conn{b.Connect("far.example", bus.WithoutShortCircuit()), b.Connect("near.example")} {
		for name, want := range map[string]string{
			"text": "text (body): is unknown; write it inside v", "v.text": "v.text (body): is unknown; write text inside v",
			"limit": "limit (body): is unknown; write it inside v or v.pages",
		} {
			err := conn.Call(t.Context(), "https://ways.example/filter", bus.Args{name: 5}, nil)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
	}
}

// What one way refuses, all refuse. The exception is what a query cannot tell: there a number and a boolean are texts,
// and one text is a list of one.
func TestWays_Refusals(t *testing.T) {
	b := bustest.New(t)
	if err := bus.Serve(b.Connect("ways.example"), ways{}); err != nil {
		t.Fatal(err)
	}
	far, near := b.Connect("far.example", bus.WithoutShortCircuit()), b.Connect("near.example")
	given := []any{nil, true, 7, 300, -1, 1.5, 1e300, "", "tea", "5", "null", "{", []string{"a"}, []int{1}, []any{},
		map[string]int{"n": 1}, map[string]string{"N": "1"}}
	for method := range reflect.TypeFor[ways]().Methods() {
		path := restmap.Kebab(method.Name)
		for _, value := range given {
			outcome := func(conn *bus.Conn, method string) string {
				var results struct{ Out json.RawMessage }
				if err := conn.Call(t.Context(), method+" https://ways.example/"+path, bus.Args{"v": value}, &results); err != nil {
					failed, _ := errors.AsType[*bus.Error](err)
					return fmt.Sprint(failed.Status)
				}
				return string(results.Out)
			}
			want := outcome(far, http.MethodPost)
			for way, got := range map[string]string{
				"in the process": outcome(near, http.MethodPost), "with GET": outcome(far, http.MethodGet),
				"with GET in the process": outcome(near, http.MethodGet),
			} {
				isText := want == "400" && strings.Trim(got, `["]`) == fmt.Sprint(value)
				if got != want && !isText {
					t.Errorf("%s of %#v %s: %s, want %s", path, value, way, got, want)
				}
			}
		}
	}
}

// waysNull has arguments with defaults. Whether another one is required decides how limits are checked.
type waysNull interface {
	Free(limit int, state string, levels []int, shade string) (out int)
	Tied(limit int, state string, levels []int, shade string) (out int)
}

var _ = reflectapi.Register[waysNull](`type waysNull interface {
	//busline:arg limit minimum=1 default=20
	//busline:arg state enum=open,sent default=sent
	//busline:arg levels maximum=5
	Free(limit int, state string, levels []int, shade string) (out int)
	//busline:arg limit minimum=1 default=20
	//busline:arg state enum=open,sent default=sent
	//busline:arg levels maximum=5
	//busline:arg shade required
	Tied(limit int, state string, levels []int, shade string) (out int)
}
`)

type waysNulls struct{}

func (waysNulls) Free(limit int, _ string, _ []int, _ string) (out int) { return limit }
func (waysNulls) Tied(limit int, _ string, _ []int, _ string) (out int) { return limit }

// Null is the zero value, and checked as such, whatever else is declared.
func TestWays_Null(t *testing.T) {
	b := bustest.New(t)
	if err := bus.Serve[waysNull](b.Connect("ways.example"), waysNulls{}); err != nil {
		t.Fatal(err)
	}
	const missing = "20"
	for where, conn := range map[string]*bus.Conn{"broker": b.Connect("far.example", bus.WithoutShortCircuit()),
		"process": b.Connect("near.example")} {
		for _, test := range []struct {
			body string
			want string // the result, or a part of the refusal
		}{
			{`{"shade":"a"}`, missing},
			{`{"shade":"a","limit":null}`, "limit (body): expects at least 1"},
			{`{"shade":"a","state":null}`, "state (body): expects one of open, sent"},
			{`{"shade":"a","levels":null}`, missing},
			{`{"shade":"a","levels":[null]}`, missing},
			{`{"shade":"a","levels":[null,6]}`, "levels[1] (body): expects at most 5"},
		} {
			arguments := bus.Args{}
			if err := json.Unmarshal([]byte(test.body), &arguments); err != nil {
				t.Fatal(err)
			}
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				for _, path := range []string{"free", "tied"} {
					expect := func(way string, got int, err error) {
						text := fmt.Sprint(got)
						if err != nil {
							text = err.Error()
						}
						if !strings.Contains(text, test.want) {
							t.Errorf("%s %s %s, %s %s: %s, want %s", method, path, test.body, where, way, text, test.want)
						}
					}
					var byName, byHand struct {
						Out int `json:"out"`
					}
					address := "https://ways.example/" + path
					err := conn.Call(t.Context(), method+" "+address, arguments, &byName)
					expect("by name", byName.Out, err)
					err = waysTest{t, nil}.byHand(conn, method, address, "application/json", test.body, &byHand)
					expect("by hand", byHand.Out, err)
				}
			}
		}
	}
}

func pointersTo[T any](values []T) (pointers []*T) {
	for _, value := range values {
		pointers = append(pointers, &value)
	}
	return pointers
}

// goesThrough sends values every way, and expects each of them back.
func goesThrough[T any](w waysTest, path string, values ...T) {
	w.Helper()
	type arguments struct {
		V T `json:"v"`
	}
	type results struct {
		Out T `json:"out"`
	}
	for _, value := range values {
		for where, conn := range w.callers {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				address := "https://ways.example/" + path
				var byName, byStruct, byHand results
				err := conn.Call(w.Context(), method+" "+address, bus.Args{"v": value}, &byName)
				expectSame(w, where+" by name, "+method, path, value, byName.Out, err)

				err = conn.Call(w.Context(), method+" "+address, arguments{value}, &byStruct)
				expectSame(w, where+" by struct, "+method, path, value, byStruct.Out, err)

				byClient, err := bus.NewOperation[arguments, results](conn, method+" "+address).Call(w.Context(), arguments{value})
				expectSame(w, where+" by client, "+method, path, value, byClient.Results.Out, err)

				err = w.byHand(conn, method, address, "application/json", jsonOf(arguments{value}), &byHand)
				expectSame(w, where+" as JSON, "+method, path, value, byHand.Out, err)

				values, exact := textOf(value)
				if !exact {
					continue
				}
				var inForm, inQuery results
				err = w.byHand(conn, method, address, "application/x-www-form-urlencoded", values.Encode(), &inForm)
				expectSame(w, where+" in a form, "+method, path, value, inForm.Out, err)

				err = w.byHand(conn, method, address+"?"+values.Encode(), "", "", &inQuery)
				expectSame(w, where+" in a query, "+method, path, value, inQuery.Out, err)
			}
		}
	}
}

// textOf returns a value as a query or a form has it: nothing for null, a list of texts one by one, other texts as they
// are, and everything else as JSON; false if a query cannot tell the value from another one.
func textOf[T any](value T) (values url.Values, exact bool) {
	t := reflect.TypeFor[T]()
	written := jsonOf(value)
	var text string
	var list []json.RawMessage
	isText := t.Kind() != reflect.Interface && t != reflect.TypeFor[json.RawMessage]() &&
		json.Unmarshal([]byte(written), &text) == nil
	switch {
	case written == "null":
		return url.Values{}, true
	case isText:
		return url.Values{"v": {text}}, true
	case t.Kind() != reflect.Slice || !restmap.IsText(t):
		return url.Values{"v": {written}}, true
	}
	_ = json.Unmarshal([]byte(written), &list)
	values = url.Values{}
	for _, element := range list {
		if json.Unmarshal(element, &text) != nil {
			text = string(element)
		}
		values.Add("v", text)
	}
	return values, len(list) != 1 || values.Get("v") != ""
}

// jsonOf returns a value as encoding/json has it, or the error.
func jsonOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (w waysTest) byHand(conn *bus.Conn, method, address, contentType, body string, out any) error {
	request, err := http.NewRequestWithContext(w.Context(), method, address, strings.NewReader(body))
	if err != nil {
		return err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := conn.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return errors.New(text.String())
	}
	return strictjson.Unmarshal(text.Bytes(), out)
}

// expectSame fails the test if a value is not what was sent.
func expectSame(w waysTest, way, path string, sent, received any, err error) {
	w.Helper()
	if err == nil {
		if before, after := jsonOf(sent), jsonOf(received); before != after {
			err = fmt.Errorf("it is %s", after)
		}
	}
	if err != nil {
		w.Errorf("%s: %s %#v: %v", way, path, sent, err)
	}
}
