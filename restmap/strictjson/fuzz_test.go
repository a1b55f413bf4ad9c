package strictjson_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/busline/busline/restmap/strictjson"
)

// FuzzUnmarshal holds reading against encoding/json: what is taken here is taken there
// with the same result, and survives being written and read again, integers to the last digit.
func FuzzUnmarshal(f *testing.F) {
	for _, seed := range []string{
		`null`, `{}`, `[]`, `"\ud83d\ude00"`, `-0`, `1e400`, `{"a":1,"a":2}`, `{"a":{"b":[1,2.5,true]}} `, "\"\xff\"",
		`{"x":1}{"x":2}`, `[[[[`, `"\u0000"`, `01`, `[1,]`, "\ufeff1", `[9007199254740993,-9223372036854775809,{"a":10000000000000000.5}]`,
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
		if err := strictjson.Unmarshal(written, &again); err != nil || !reflect.DeepEqual(rounded(again), got) {
			t.Fatalf("%q was written as %q and read again as %#v (%v)", data, written, again, err)
		}
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

// sameIntegers says whether all integers keep their digits.
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
