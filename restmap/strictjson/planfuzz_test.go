package strictjson_test

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/busline/busline/restmap/strictjson"
)

// planTargets are values to decode into, some of which are not zero.
func planTargets() []any {
	seven := 7
	return []any{
		new(flat), new(sample), new(point), new([]flat), new([]string), new(string), new(float64), new(*point),
		&flat{X: 1, Name: "a", Bytes: []byte("abc"), Pointer: &seven, Tags: []string{"a", "b"}, At: &point{1, 2}, Shelf: shelf{Next: &point{3, 4}, Books: []string{"c"}}},
	}
}

var planSeeds = []string{
	`{}`, `null`, `[]`, `"a"`, `1.5`, ` { "x" : 1 , "name" : "a" } `, `{"x":1,"x":2}`, `{"y":1,"y":2}`, `{"X":1,"x":2}`, `{"SMALL":-128}`,
	`{"small":127,"count":18446744073709551615,"tiny":255,"price":1e-7,"single":0.1,"flag":true,"bytes":"AQI=","when":"2024-05-06T07:08:09.5Z","wait":-1,"pointer":5}`,
	`{"name":"\"\\\/\b\f\n\r\t\u00e9😀\ud83d\ude00"}`, "{\"name\":\"\xff\"}", `{"bytes":"AQ\n="}`, `{"bytes":"AR=="}`, `{"when":"2024-05-06T07:08:09+02:00"}`, `{"when":"2024-05-06t24:00:60z"}`,
	`{"tags":["a",null,"b"],"points":[{"X":1},{"Y":-0}],"at":{"X":1,"Y":{}},"rows":[[1],[]]}`, `{"at":{"X":5},"shelf":{"next":{"Y":6},"books":["d","e","f"]}}`,
	`{"shelf":{"number":0,"Ratio":-0.0,"corner":{"X":1}},"open":[1],"attrs":{"a":1}}`, `{"price":9007199254740993,"other":01}`, `[{"x":1},{"x":2,"tags":[]}]`,
}

// FuzzPlainDecode holds plans against the JSON library. What they take it takes, with the same result; what they leave to
// it in the middle does not change what it makes of the rest; and what was read is written by both alike.
func FuzzPlainDecode(f *testing.F) {
	for _, seed := range planSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, want := planTargets(), planTargets()
		for i := range got {
			target := reflect.ValueOf(got[i]).Elem()
			plain := strictjson.PlanOf(target.Type()).UnmarshalPlain(data, target)
			comparePlain(t, data, plain, got[i], want[i], unmarshalStrictly)
		}
		got, want = planTargets(), planTargets()
		for i := range got {
			target := reflect.ValueOf(got[i]).Elem()
			plain := strictjson.PlanOf(target.Type()).UnmarshalAnyCasePlain(data, target)
			comparePlain(t, data, plain, got[i], want[i], strictjson.UnmarshalAnyCaseStrictly)
		}
	})
}

// comparePlain compares the value in got with what the library decodes into want. If plain is false no plan has filled
// got, and the library fills it first.
func comparePlain(t *testing.T, data []byte, plain bool, got, want any, strictly func([]byte, any) error) {
	t.Helper()
	err := strictly(data, want)
	if plain && err != nil {
		t.Fatalf("%T: %q is plain, and refused: %v", got, data, err)
	}
	if again := strictly; !plain && again(data, got) == nil && err != nil {
		t.Fatalf("%T: %q is refused (%v), but not after a plan has tried", got, data, err)
	}
	if err != nil {
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%T: %q became %+v (plain: %v), for the library %+v", got, data, got, plain, want)
	}
	comparePlainWriting(t, got)
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
			X: number, Small: int8(number), Count: count, Tiny: uint8(count), Price: ratio, Single: float32(ratio), Name: text, Flag: number > 0, Bytes: blob,
			When: time.Unix(seconds, int64(count%1e9)).In(zone), Wait: time.Duration(seconds), Pointer: &number, Tags: []string{text, ""}, At: &point{number, 1},
			Shelf: shelf{Number: number, Ratio: ratio, Label: text, Open: count > 0, Map: map[string]any{text: ratio}},
			Open:  []any{text, blob, float32(ratio)}, Attrs: map[string]any{text: number, "a": value(count), "b": point{}},
		}
		comparePlainWriting(t, value)
		comparePlainWriting(t, &value)
		comparePlainWriting(t, arguments{"text": text, text: count, "ratio": ratio, "blob": blob, "when": value.When})
		for _, part := range []any{text, number, ratio, float32(ratio), blob, value.When} { // each alone, as one that is not plain spoils the rest
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
