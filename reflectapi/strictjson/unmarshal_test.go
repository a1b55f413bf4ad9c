package strictjson_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/strictjson"
)

// sample has a field of every kind that reading words differently.
type sample struct {
	X       int            `json:"x"`
	Small   int8           `json:"small"`
	Count   uint           `json:"count"`
	Tiny    uint8          `json:"tiny"`
	Price   float64        `json:"price"`
	Single  float32        `json:"single"`
	Name    string         `json:"name"`
	Flag    bool           `json:"flag"`
	Tags    []string       `json:"tags"`
	Pair    [2]int         `json:"pair"`
	Bytes   []byte         `json:"bytes"`
	Key     keyBytes       `json:"key"`
	Attr    map[string]int `json:"attr"`
	Days    map[int8]int   `json:"days"`
	Colors  map[color]int  `json:"colors"`
	When    time.Time      `json:"when"`
	Wait    time.Duration  `json:"wait"`
	Color   color          `json:"color"`
	Any     any            `json:"any"`
	Pointer *int           `json:"pointer"`
	Child   *sample        `json:"child"`
}

// keyBytes are bytes like any others.
type keyBytes []byte

// color reads itself, and says more than a caller should be shown.
type color int

func (c *color) UnmarshalText(text []byte) error {
	if string(text) != "red" {
		return errors.New("secret: no such color " + string(text))
	}
	*c = 1
	return nil
}

func TestUnmarshal_Takes(t *testing.T) {
	t.Parallel()
	seven := 7
	tests := []struct {
		name string
		data string
		want sample
	}{
		{"an empty object", `{}`, sample{}},
		{"surrounding blanks", " \t\r\n{} \n", sample{}},
		{"unknown names", `{"y":1,"X":2,"ſmall":3}`, sample{}},
		{"null as the zero value", `{"x":null,"tags":null,"child":null}`, sample{}},
		{"the largest int", fmt.Sprintf(`{"x":%d}`, math.MaxInt), sample{X: math.MaxInt}},
		{"the smallest int8", `{"small":-128}`, sample{Small: -128}},
		{"a number with an exponent", `{"price":1e2}`, sample{Price: 100}},
		{"an escaped NUL", `{"name":"\u0000"}`, sample{Name: "\x00"}},
		{"a surrogate pair", `{"name":"\ud83d\ude00"}`, sample{Name: "😀"}},
		{"base64", `{"bytes":"AQI="}`, sample{Bytes: []byte{1, 2}}},
		{"a time", `{"when":"2024-05-06T07:08:09Z"}`, sample{When: time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)}},
		{"a duration in nanoseconds", `{"wait":1500}`, sample{Wait: 1500}},
		{"a value that reads itself", `{"color":"red"}`, sample{Color: 1}},
		{"pointers", `{"pointer":7,"child":{"x":1}}`, sample{Pointer: &seven, Child: &sample{X: 1}}},
		{"a field without a type", `{"any":[1,"a",{}]}`, sample{Any: []any{1.0, "a", map[string]any{}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got sample
			if err := strictjson.Unmarshal([]byte(test.data), &got); err != nil {
				t.Fatalf("Unmarshal(%s) = %v", test.data, err)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("Unmarshal(%s) = %+v, want %+v", test.data, got, test.want)
			}
		})
	}
}

func TestUnmarshal_Refuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, data      string
		pointer, detail string
	}{
		{"nothing", ``, "", "is not valid JSON: it ends too early"},
		{"blanks", ` `, "", "is not valid JSON: it ends too early"},
		{"half an object", `{"x":1`, "", "is not valid JSON: it ends too early"},
		{"two values", `{"x":1}{"x":2}`, "", "is not valid JSON at byte 7"},
		{"junk behind", `{"x":1} junk`, "", "is not valid JSON at byte 8"},
		{"a byte order mark", "\ufeff{}", "", "is not valid JSON at byte 0"},
		{"a trailing comma", `{"x":1,}`, "", "is not valid JSON at byte 6"},
		{"a leading zero", `{"x":01}`, "", "is not valid JSON at byte 6"},
		{"NaN", `{"price":NaN}`, "/price", "is not valid JSON at byte 9"},
		{"a single quote", `{'x':1}`, "", "is not valid JSON at byte 1"},
		{"a comment", `{/**/}`, "", "is not valid JSON at byte 1"},
		{"a name twice", `{"x":1,"x":1}`, "/x", "is given twice"},
		{"an unknown name twice", `{"y":{"a":1,"a":2}}`, "/y/a", "is given twice"},
		{"invalid UTF-8", "{\"name\":\"\xff\"}", "/name", "is not valid UTF-8"},
		{"a lone surrogate", `{"name":"\ud800"}`, "/name", "is not valid JSON at byte 9"},
		{"a control byte in a string", "{\"name\":\"\x01\"}", "/name", "is not valid JSON at byte 9"},

		{"another kind of value", `[]`, "", "expects an object"},
		{"a string for an integer", `{"x":"five"}`, "/x", "expects an integer"},
		{"a fraction for an integer", `{"x":1.5}`, "/x", "expects an integer"},
		{"an exponent for an integer", `{"x":1e-2}`, "/x", "expects an integer"},
		{"an integer over 64 bits", `{"x":9223372036854775808}`, "/x",
			"expects an integer from -9223372036854775808 to 9223372036854775807"},
		{"an integer over 8 bits", `{"small":300}`, "/small", "expects an integer from -128 to 127"},
		{"a negative count", `{"count":-1}`, "/count", "expects an integer of 0 or more"},
		{"a byte over 255", `{"tiny":256}`, "/tiny", "expects an integer of 0 or more, 255 at most"},
		{"a float64 over its range", `{"price":1e400}`, "/price", "expects a number that fits 64 bits"},
		{"a float32 over its range", `{"single":1e39}`, "/single", "expects a number that fits 32 bits"},
		{"a number without a type over its range", `{"any":1e400}`, "/any", "expects a number that fits 64 bits"},
		{"a string for a number", `{"price":"1"}`, "/price", "expects a number"},
		{"a number for a string", `{"name":1}`, "/name", "expects a string"},
		{"a number for a boolean", `{"flag":1}`, "/flag", "expects true or false"},
		{"an object for an array", `{"tags":{}}`, "/tags", "expects an array"},
		{"an element of another kind", `{"tags":["a",1]}`, "/tags/1", "expects a string"},
		{"a short array", `{"pair":[1]}`, "/pair", "expects an array of 2"},
		{"a long array", `{"pair":[1,2,3]}`, "/pair", "expects an array of 2"},
		{"no base64", `{"bytes":"#"}`, "/bytes", "expects a base64 string"},
		{"an array for bytes", `{"bytes":[1]}`, "/bytes", "expects a base64 string"},
		{"no base64 for a type of bytes", `{"key":"#"}`, "/key", "expects a base64 string"},
		{"a key of another type", `{"days":{"1":1, "may" : 2}}`, "/days/may",
			"has a key of the wrong type: it expects an integer"},
		{"a key over 8 bits", `{"days":{"300":1}}`, "/days/300",
			"has a key of the wrong type: it expects an integer from -128 to 127"},
		{"a key that a type refuses", `{"colors":{"#secret":1}}`, "/colors/#secret",
			"has a key of the wrong type: it expects a valid color"},
		{"a text under a key", `{"days":{"1":"2"}}`, "/days/1", "expects an integer"},
		{"a map with another kind of value", `{"attr":{"a/b":"c"}}`, "/attr/a~1b", "expects an integer"},
		{"no time", `{"when":"yesterday"}`, "/when", "expects a date and time such as 2006-01-02T15:04:05Z (RFC 3339)"},
		{"a duration in words", `{"wait":"3s"}`, "/wait", "expects an integer number of nanoseconds"},
		{"what a type refuses for itself", `{"color":"#secret"}`, "/color", "expects a valid color"},
		{"an error deep inside", `{"child":{"child":{"x":true}}}`, "/child/child/x", "expects an integer"},

		{"65 levels", strings.Repeat("[", 65) + strings.Repeat("]", 65), "", "nests deeper than 64 levels"},
		{"65 levels of both kinds", strings.Repeat(`{"a":[`, 33), "", "nests deeper than 64 levels"},
		{"a million levels", strings.Repeat("[", 1<<20), "", "nests deeper than 64 levels"},
		{"a number of a million digits", `{"price":` + strings.Repeat("1", 1_000_000) + `}`, "/price",
			"is a number or word that is too long"},
		{"a word of a million letters", strings.Repeat("a", 1_000_000), "", "is a number or word that is too long"},
		{"a small number of a thousand digits", `{"child":{"price": 0.` + strings.Repeat("0", 1100) + `1}}`, "/child/price",
			"is a number or word that is too long"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := strictjson.Unmarshal([]byte(test.data), new(sample))
			var got *strictjson.Error
			if !errors.As(err, &got) {
				t.Fatalf("Unmarshal = %v, want an *Error", err)
			}
			assert.Equal(t, test.pointer, got.Pointer)
			assert.Equal(t, test.detail, got.Detail)
		})
	}
}

// TestUnmarshal_TakesPlain reads texts of every kind into fields of plain types.
func TestUnmarshal_TakesPlain(t *testing.T) {
	t.Parallel()
	seven := 7
	tests := []struct {
		data string
		want flat
	}{
		{" {\t\"x\" :\r\n5 , \"y\":6 } ", flat{X: 5}},
		{`null`, flat{}},
		{`{"x":-0}`, flat{}},
		{`{"x":2147483647,"small":-128,"tiny":255,"count":18446744073709551615}`,
			flat{X: math.MaxInt32, Small: -128, Tiny: 255, Count: math.MaxUint64}},
		{`{"price":-1.5e-3,"single":3.4e38}`, flat{Price: -1.5e-3, Single: 3.4e38}},
		{`{"price":0}`, flat{}},
		{`{"price":-0.0}`, flat{Price: math.Copysign(0, -1)}},
		{`{"price":123456789012345678}`, flat{Price: 123456789012345678}},
		{`{"name":""}`, flat{}},
		{`{"name":"a\"\\\/\b\f\n\r\tbA\u00e9\uffff"}`, flat{Name: "a\"\\/\b\f\n\r\tbAé\uffff"}},
		{`{"name":"äöü 😀"}`, flat{Name: "äöü 😀"}},
		{`{"name":"\ud83d\ude00"}`, flat{Name: "😀"}},
		{`{"name":"<&>` + "\u2028\x7f" + `"}`, flat{Name: "<&>\u2028\x7f"}},
		{`{"flag":true,"bytes":"AQI=","when":"2024-05-06T07:08:09.5Z","wait":1500,"pointer":7}`,
			flat{Flag: true, Bytes: []byte{1, 2}, When: time.Date(2024, 5, 6, 7, 8, 9, 500000000, time.UTC), Wait: 1500,
				Pointer: &seven}},
		{`{"bytes":""}`, flat{Bytes: []byte{}}},
		{`{"tags":[],"rows":[[],[1,2,3,4,5],null],"points":[{"X":1,"Y":2},{},null],"at":{"Y":3}}`,
			flat{Tags: []string{}, Rows: [][]int{{}, {1, 2, 3, 4, 5}, nil}, Points: []point{{1, 2}, {}, {}}, At: &point{Y: 3}}},
		{`{"x":null,"flag":null,"name":null,"bytes":null,"tags":null,"at":null,"when":null,"shelf":null,"open":null,"attrs":null}`, flat{}},
		{`{"unknown":1,"X":"a","other":false,"Name":-2.5,"y":{},"z":[],"\u0041":"\u0041","y\n":1,"ü":1}`, flat{}},
		{`{"shelf":{"Ratio":0.5,"corner":{"X":1},"books":["a"]}}`,
			flat{Shelf: shelf{Ratio: 0.5, Corner: point{X: 1}, Books: []string{"a"}}}},
		{`{"open":1,"attrs":{}}`, flat{Open: 1.0, Attrs: map[string]any{}}},
	}
	for _, test := range tests {
		var got flat
		err := strictjson.Unmarshal([]byte(test.data), &got)
		require.NoError(t, err, "Unmarshal(%s)", test.data)
		assert.True(t, alike(reflect.ValueOf(got), reflect.ValueOf(test.want)), "Unmarshal(%s)", test.data)
	}
}

// TestUnmarshal_RefusesPlain has errors that a lenient reader of plain types could miss.
func TestUnmarshal_RefusesPlain(t *testing.T) {
	t.Parallel()
	const int64Range = " from -9223372036854775808 to 9223372036854775807"
	for _, test := range []struct{ data, pointer, detail string }{
		{`{`, "", "is not valid JSON: it ends too early"},
		{`{"x"`, "/x", "is not valid JSON: it ends too early"},
		{`{"x":`, "/x", "is not valid JSON: it ends too early"},
		{`{"x":1,`, "", "is not valid JSON: it ends too early"},
		{`{,}`, "", "is not valid JSON at byte 1"},
		{`{"x":1}}`, "", "is not valid JSON at byte 7"},
		{"{}\x00", "", "is not valid JSON at byte 2"},
		{`5`, "", "expects an object"},
		{`nul`, "", "is not valid JSON: it ends too early"},
		{`nullx`, "", "is not valid JSON at byte 4"},
		{`{"y":1,"y":2}`, "/y", "is given twice"},
		{`{"y":01}`, "", "is not valid JSON at byte 6"},

		{`{"x":-9223372036854775809}`, "/x", "expects an integer" + int64Range},
		{`{"x":-}`, "/x", "is not valid JSON at byte 6"},
		{`{"x":+1}`, "/x", "is not valid JSON at byte 5"},
		{`{"x":- 1}`, "/x", "is not valid JSON at byte 6"},
		{`{"x":true}`, "/x", "expects an integer"},
		{`{"small":128}`, "/small", "expects an integer from -128 to 127"},
		{`{"small":-129}`, "/small", "expects an integer from -128 to 127"},
		{`{"tiny":-1}`, "/tiny", "expects an integer of 0 or more"},
		{`{"count":18446744073709551616}`, "/count", "expects an integer of 0 or more, 18446744073709551615 at most"},
		{`{"price":.5}`, "/price", "is not valid JSON at byte 9"},
		{`{"price":1.}`, "/price", "is not valid JSON at byte 11"},
		{`{"price":1e}`, "/price", "is not valid JSON at byte 11"},
		{`{"price":1e+}`, "/price", "is not valid JSON at byte 12"},
		{`{"price":00}`, "", "is not valid JSON at byte 10"},
		{`{"price":` + strings.Repeat("1", 1101) + `}`, "/price", "is a number or word that is too long"},

		{`{"name":"a}`, "/name", "is not valid JSON: it ends too early"},
		{`{"name":"\"}`, "/name", "is not valid JSON: it ends too early"},
		{`{"name":"\x"}`, "/name", "is not valid JSON at byte 9"},
		{`{"name":"\u12"}`, "/name", "is not valid JSON at byte 9"},
		{`{"name":"\u00g0"}`, "/name", "is not valid JSON at byte 9"},
		{"{\"name\":\"a\xc3\"}", "/name", "is not valid UTF-8"},
		{"{\"name\":\"\xed\xa0\x80\"}", "/name", "is not valid UTF-8"},
		{"{\"name\":\"\\\xc3\xa9\"}", "/name", "is not valid JSON at byte 9"},
		{`{"name":'a'}`, "/name", "is not valid JSON at byte 8"},
		{`{"flag":truth}`, "/flag", "is not valid JSON at byte 11"},

		{`{"bytes":"AQI"}`, "/bytes", "expects a base64 string"},
		{`{"bytes":"AQ\n="}`, "/bytes", "expects a base64 string"},
		{`{"when":"2024-05-06T7:08:09Z"}`, "/when", "expects a date and time such as 2006-01-02T15:04:05Z (RFC 3339)"},
		{`{"when":"2024-05-06T07:08:09,5Z"}`, "/when", "expects a date and time such as 2006-01-02T15:04:05Z (RFC 3339)"},
		{`{"when":"2024-05-06T07:08:09+24:00"}`, "/when", "expects a date and time such as 2006-01-02T15:04:05Z (RFC 3339)"},
		{`{"when":5}`, "/when", "expects a date and time such as 2006-01-02T15:04:05Z (RFC 3339)"},
		{`{"tags":["a"`, "/tags", "is not valid JSON: it ends too early"},
		{`{"tags":["a",]}`, "/tags", "is not valid JSON at byte 12"},
		{`{"at":[]}`, "/at", "expects an object"},
	} {
		err := strictjson.Unmarshal([]byte(test.data), new(flat))
		if got, ok := errors.AsType[*strictjson.Error](err); !ok ||
			*got != (strictjson.Error{Pointer: test.pointer, Detail: test.detail}) {
			t.Errorf("Unmarshal(%.40q) = %v, want %q: %q", test.data, err, test.pointer, test.detail)
		}
	}
}

func TestUnmarshal_DepthCountsLevelsNotBrackets(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		strings.Repeat("[", 64) + strings.Repeat("]", 64),
		"[" + strings.Repeat("[],", 1000) + "[]]",
		`["` + strings.Repeat("[", 1000) + `"]`,
		`["\"` + strings.Repeat("[", 1000) + `\\"]`,
	} {
		var got any
		if err := strictjson.Unmarshal([]byte(data), &got); err != nil {
			t.Errorf("Unmarshal(%.20s…) = %v", data, err)
		}
	}
}

// TestUnmarshal_HoldsLimits reads into types without an any, for which short and flat texts are not scanned.
func TestUnmarshal_HoldsLimits(t *testing.T) {
	t.Parallel()
	nest := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	const tooDeep, tooLong = "nests deeper than 64 levels", "is a number or word that is too long"
	for _, test := range []struct {
		target     any
		data, want string
	}{
		{new(list), nest(64), "<nil>"},
		{new(list), nest(65), tooDeep},
		{new(point), `{"y":` + nest(63) + `}`, "<nil>"},
		{new(point), `{"y":` + nest(64) + `}`, tooDeep},
		{new(string), nest(65), tooDeep},
		{new(float64), `0.` + strings.Repeat("0", 1098), "<nil>"},
		{new(float64), `0.` + strings.Repeat("0", 1099), tooLong},
		{new(point), `{"X":` + strings.Repeat("1", 1101) + `}`, "/X " + tooLong},
		{new(string), strings.Repeat("a", 1101), tooLong},
	} {
		if got := fmt.Sprint(strictjson.Unmarshal([]byte(test.data), test.target)); got != test.want {
			t.Errorf("Unmarshal(%.20s…) into a %T = %s, want %s", test.data, test.target, got, test.want)
		}
	}
}

// TestUnmarshal_KeepsDigits is about integers that a float64 would round.
func TestUnmarshal_KeepsDigits(t *testing.T) {
	t.Parallel()
	const hundred = "1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"
	huge, _ := new(big.Int).SetString(hundred, 10)
	tests := []struct {
		data string
		want any
	}{
		{`9007199254740991`, float64(1<<53 - 1)},
		{`9007199254740992`, int64(1 << 53)},
		{`-9007199254740992`, int64(-1 << 53)},
		{`9007199254740993`, int64(1<<53 + 1)},
		{`-9007199254740993`, int64(-1<<53 - 1)},
		{`1152921504606846976`, int64(1 << 60)}, // a float64 too, which is written with other digits
		{`9223372036854775807`, int64(math.MaxInt64)},
		{`9223372036854775808`, new(big.Int).SetUint64(1 << 63)},
		{hundred, huge},
		{`9007199254740993.0`, 9007199254740992.0},
		{`9007199254740993e0`, 9007199254740992.0},
		{`[{"a":9007199254740993,"b":1}]`, []any{map[string]any{"a": int64(1<<53 + 1), "b": 1.0}}},
	}
	for _, test := range tests {
		var got any
		err := strictjson.Unmarshal([]byte(test.data), &got)
		require.NoError(t, err, "Unmarshal(%s)", test.data)
		assert.Equal(t, test.want, got, "Unmarshal(%s)", test.data)
		inside := sample{}
		err = strictjson.Unmarshal([]byte(`{"any":`+test.data+`}`), &inside)
		require.NoError(t, err, "Unmarshal(%s)", test.data)
		assert.Equal(t, test.want, inside.Any, "Unmarshal(%s)", test.data)
		var caller struct{ Any any }
		err = strictjson.UnmarshalAnyCase([]byte(`{"any":`+test.data+`}`), &caller)
		require.NoError(t, err, "UnmarshalAnyCase(%s)", test.data)
		assert.Equal(t, test.want, caller.Any, "UnmarshalAnyCase(%s)", test.data)
		if _, float := test.want.(float64); float {
			continue
		}
		again, err := strictjson.Marshal(got)
		require.NoError(t, err)
		assert.Equal(t, test.data, string(again))
	}
}

func TestUnmarshal_BlamesTheTarget(t *testing.T) {
	t.Parallel()
	type sealed struct{ hidden int }
	_ = sealed{hidden: 1}
	for _, target := range []any{nil, sample{}, (*sample)(nil), new(sealed), new(func())} {
		err := strictjson.Unmarshal([]byte(`{}`), target)
		var failure *strictjson.Error
		require.Error(t, err, "%T", target)
		assert.False(t, errors.As(err, &failure), "%T", target)
		assert.True(t, strings.HasPrefix(err.Error(), "read JSON: "), err.Error())
	}
}

func TestUnmarshalAnyCase(t *testing.T) {
	t.Parallel()
	type result struct {
		Sum    int
		UserID string
	}
	type tagged struct {
		Sum    int
		UserID string `json:"userID"`
	}
	type both struct{ Sum, SUM int }
	tests := []struct {
		target     any
		data, want string
	}{
		{new(result), `{"sum":11,"userid":"a"}`, `&{11 a}`},
		{new(result), `{"Sum":11,"UserID":"a"}`, `&{11 a}`},
		{new(result), `{"user_id":"a","user-id":"b"}`, `&{0 }`},
		{new(result), `{"sum":"x"}`, `/sum expects an integer`},
		{new(result), `{"sum":1,"SUM":2}`, `/SUM is given twice`},
		{new(result), `{"sum":1`, `is not valid JSON: it ends too early`},
		{new(tagged), `{"SUM":11,"UserID":"a"}`, `&{11 a}`},
		{new(tagged), `{"user_id":"a","ſum":1}`, `&{1 }`},
		{new(both), `{"SUM":1,"Sum":2}`, `&{2 1}`},
		{new(point), `{"x":1,"y":2}`, `&{1 2}`},
	}
	for _, test := range tests {
		text := fmt.Sprint(strictjson.UnmarshalAnyCase([]byte(test.data), test.target))
		if text == "<nil>" {
			text = fmt.Sprint(test.target)
		}
		if text != test.want {
			t.Errorf("UnmarshalAnyCase(%s) = %s, want %s", test.data, text, test.want)
		}
	}
}

func TestError_NamesThePlace(t *testing.T) {
	t.Parallel()
	err := strictjson.Unmarshal([]byte(`{"x":"five"}`), new(sample))
	if got, want := err.Error(), "/x expects an integer"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	err = strictjson.Unmarshal([]byte(`5`), new(sample))
	if got, want := err.Error(), "expects an object"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}

// TestUnmarshalAnyCase_Ambiguous refuses a key that means two fields.
func TestUnmarshalAnyCase_Ambiguous(t *testing.T) {
	t.Parallel()
	var both struct{ Sum, SUM int }
	const want = "/sum has a key of the wrong type: it expects an object"
	err := strictjson.UnmarshalAnyCase([]byte(`{"sum":1}`), &both)
	assert.ErrorContains(t, err, want, both)
}
