package strictjson_test

import (
	"math"
	"testing"
	"time"

	"github.com/busline/busline/restmap/strictjson"
)

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
			if err != nil || string(got) != test.want {
				t.Errorf("Marshal(%#v) = %s, %v, want %s", test.value, got, err, test.want)
			}
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
		if got, err := strictjson.Marshal(value); err == nil {
			t.Errorf("Marshal of %s = %s, want an error", name, got)
		}
	}
}
