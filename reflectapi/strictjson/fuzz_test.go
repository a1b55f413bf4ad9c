package strictjson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/strictjson"
)

// FuzzUnmarshal holds reading against encoding/json: what is taken here is taken there
// with the same result, and survives being written and read again, integers to the last digit.
func FuzzUnmarshal(f *testing.F) {
	for _, seed := range []string{
		`null`, `{}`, `[]`, `"\ud83d\ude00"`, `-0`, `1e400`, `{"a":1,"a":2}`, `{"a":{"b":[1,2.5,true]}} `, "\"\xff\"",
		`{"x":1}{"x":2}`, `[[[[`, `"\u0000"`, `01`, `[1,]`, "\ufeff1",
		`[9007199254740993,-9223372036854775809,{"a":10000000000000000.5}]`,
		strings.Repeat("2", 400),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = strictjson.Unmarshal(data, new(sample))
		var got, standard, again any
		if strictjson.Unmarshal(data, &got) != nil {
			return
		}
		if err := json.Unmarshal(data, &standard); err != nil {
			t.Fatalf("took %q, which encoding/json refuses: %v", data, err)
		}
		written, err := strictjson.Marshal(got)
		if err != nil {
			t.Fatalf("cannot write what was read from %q: %v", data, err)
		}
		if !sameIntegers(numbers(t, data), numbers(t, written)) {
			t.Fatalf("%q was written as %q", data, written)
		}
		if got = rounded(got); !reflect.DeepEqual(got, standard) {
			t.Fatalf("read %q as %#v, encoding/json as %#v", data, got, standard)
		}
		err = strictjson.Unmarshal(written, &again)
		require.NoError(t, err, "%q, %q", data, written)
		require.Equal(t, got, rounded(again), "%q, %q", data, written)
	})
}

// rounded converts every integer to a float64, as encoding/json does.
func rounded(value any) any {
	switch value := value.(type) {
	case int64:
		return float64(value)
	case *big.Int:
		float, _ := value.Float64()
		return float
	case []any:
		for i := range value {
			value[i] = rounded(value[i])
		}
	case map[string]any:
		for name := range value {
			value[name] = rounded(value[name])
		}
	}
	return value
}

// numbers returns a JSON value with numbers as their digits.
func numbers(t *testing.T, data []byte) (value any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	return value
}

// sameIntegers reports whether all integers keep their digits.
func sameIntegers(before, after any) bool {
	switch before := before.(type) {
	case json.Number:
		return before == after || strings.ContainsAny(before.String(), ".eE")
	case []any:
		for i := range before {
			if !sameIntegers(before[i], after.([]any)[i]) {
				return false
			}
		}
	case map[string]any:
		for name := range before {
			if !sameIntegers(before[name], after.(map[string]any)[name]) {
				return false
			}
		}
	}
	return true
}

// scalars is what is read without the JSON library, as far as the text is plain.
type scalars struct {
	Flag   bool    `json:"flag"`
	Small  int8    `json:"small"`
	X      int     `json:"x"`
	Tiny   uint8   `json:"tiny"`
	Count  uint64  `json:"count"`
	Single float32 `json:"single"`
	Price  float64 `json:"price"`
	Text   string  `json:"name"`
	Inner  inner   `json:"at"`
	Wait   time.Duration
}

type inner struct {
	Y     float64 `json:"Y"`
	Count int     `json:"count,omitzero"`
}

// planTargets are values to decode into, some of which are not zero.
func planTargets() []any {
	seven := 7
	return []any{
		new(flat), new(sample), new(scalars), &scalars{Small: 1, Text: "a", Inner: inner{Count: 2}}, new(point),
		new([]flat), new([]string), new(string), new(float64), new(*point),
		&flat{X: 1, Name: "a", Bytes: []byte("abc"), Pointer: &seven, Tags: []string{"a", "b"}, At: &point{1, 2},
			Shelf: shelf{Next: &point{3, 4}, Books: []string{"c"}}},
	}
}

var planSeeds = []string{
	`{}`, `null`, `[]`, `"a"`, `1.5`, ` { "x" : 1 , "name" : "a" } `, `{"x":1,"x":2}`, `{"y":1,"y":2}`, `{"X":1,"x":2}`,
	`{"SMALL":-128}`,
	`{"small":127,"count":18446744073709551615,"tiny":255,"price":1e-7,"single":0.1,"flag":true,"bytes":"AQI=","when":"2024-05-06T07:08:09.5Z","wait":-1,"pointer":5}`,
	`{"name":"\"\\\/\b\f\n\r\t\u00e9😀\ud83d\ude00"}`, "{\"name\":\"\xff\"}", `{"bytes":"AQ\n="}`, `{"bytes":"AR=="}`,
	`{"when":"2024-05-06T07:08:09+02:00"}`, `{"when":"2024-05-06t24:00:60z"}`,
	`{"tags":["a",null,"b"],"points":[{"X":1},{"Y":-0}],"at":{"X":1,"Y":{}},"rows":[[1],[]]}`,
	`{"at":{"X":5},"shelf":{"next":{"Y":6},"books":["d","e","f"]}}`,
	`{"shelf":{"number":0,"Ratio":-0.0,"corner":{"X":1}},"open":[1],"attrs":{"a":1}}`,
	"{ \"flag\" : true ,\t\"small\":-128,\"at\":{\"Y\":-0.5,\"COUNT\":-0},\"WAIT\":7}\n", `{"flag":false,"tiny":256}`, `{"x":1.0}`,
	`{"x":-0,"count":-0,"price":-0,"single":1.}`, `{"price":.5}`, `{"price":00.5}`, `{"small":-129}`, `{"x":1e2}`, `{"x":"1"}`,
	`{"single":3.4028236e38,"price":0.1}`, `{"single":340282360000000000000000000000000000000.0}`, `{"name":"é\u0000"}`,
	"{\"name\":\"é\xff\"}", `{"name":"a","name":"b"}`, `{"name":"a","NAME":"b"}`, `{"flag":truex}`, `{"flag":true}}`, `{"x":1,}`,
	`{"x":123456789012345678,"count":1234567890123456789}`, `{"x":9223372036854775808}`, `{"at":null}`, `{"at":{"Y":1}`,
	`{"price":9007199254740993,"other":01}`, `[{"x":1},{"x":2,"tags":[]}]`,
}

// FuzzUnmarshalShortcuts holds Unmarshal against the JSON library alone: the result and the error do not depend on
// whether the text was scanned. A plan and the library write the same for what was read.
func FuzzUnmarshalShortcuts(f *testing.F) {
	for _, seed := range planSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		compareReading(t, data, strictjson.Unmarshal, strictjson.UnmarshalScanned)
		compareReading(t, data, strictjson.UnmarshalAnyCase, strictjson.UnmarshalAnyCaseScanned)
	})
}

// compareReading compares two ways to read a text into each of the targets.
func compareReading(t *testing.T, data []byte, read, scanned func([]byte, any) error) {
	t.Helper()
	got, want := planTargets(), planTargets()
	for i := range got {
		err, wantErr := read(data, got[i]), scanned(data, want[i])
		require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err), data)
		require.Equal(t, want[i], got[i], data)
		if err == nil {
			comparePlainWriting(t, got[i])
		}
	}
}

// comparePlainWriting compares what a plan and the library write for a value.
func comparePlainWriting(t *testing.T, value any) {
	t.Helper()
	got, plain := strictjson.PlanOf(reflect.TypeOf(value)).MarshalPlain(reflect.ValueOf(value))
	want, err := strictjson.MarshalStrictly(value)
	if plain && (err != nil || !bytes.Equal(got, want)) {
		t.Fatalf("%+v was written as %q, by the library as %q, %v", value, got, want, err)
	}
}

// FuzzPlainEncode holds what plans write against what the JSON library writes.
func FuzzPlainEncode(f *testing.F) {
	f.Add("a", 1, uint64(2), 1.5, []byte("b"), int64(3))
	f.Add("\x00\"\\\u2028\xff", -1, uint64(1<<63), 1e-7, []byte{}, int64(-1<<62))
	f.Add("0123456789012345678901234567890123456789\n", 0, uint64(0), 1e21, []byte(nil), int64(1<<60))
	f.Fuzz(func(t *testing.T, text string, number int, count uint64, ratio float64, blob []byte, seconds int64) {
		zone := time.FixedZone("", number%100_000)
		value := flat{
			X: number, Small: int8(number), Count: count, Tiny: uint8(count), Price: ratio, Single: float32(ratio), Name: text,
			Flag: number > 0, Bytes: blob,
			When: time.Unix(seconds, int64(count%1e9)).In(zone), Wait: time.Duration(seconds), Pointer: &number,
			Tags: []string{text, ""}, At: &point{number, 1},
			Shelf: shelf{Number: number, Ratio: ratio, Label: text, Open: count > 0, Map: map[string]any{text: ratio}},
			Open:  []any{text, blob, float32(ratio)}, Attrs: map[string]any{text: number, "a": value(count), "b": point{}},
		}
		comparePlainWriting(t, value)
		comparePlainWriting(t, &value)
		comparePlainWriting(t, arguments{"text": text, text: count, "ratio": ratio, "blob": blob, "when": value.When})
		// each alone, as one that is not plain spoils the rest
		for _, part := range []any{text, number, ratio, float32(ratio), blob, value.When} {
			comparePlainWriting(t, part)
		}
	})
}

func value(count uint64) any {
	if count%3 == 0 {
		return nil
	}
	return count
}
