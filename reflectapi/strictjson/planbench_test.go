package strictjson_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/busline/busline/reflectapi/strictjson"
)

type (
	pair struct {
		X int `json:"x"`
		Y int `json:"y"`
	}
	message struct {
		Text string `json:"text"`
	}
	sum struct {
		Sum int `json:"sum"`
	}
)

// TestPlan_Allocations holds how often reading and writing allocate: reading for the values, writing once. A string
// with escapes is copied once more under the race detector.
func TestPlan_Allocations(t *testing.T) {
	tests := []struct {
		name      string
		target    any
		data      string
		mostRead  float64
		mostWrite float64
	}{
		{"integers", new(pair), `{"x":5,"y":6}`, 0, 1},
		{"numbers", new(struct{ A, B float64 }), `{"A":-1.25e-3,"B":6}`, 0, 1},
		{"a string", new(message), `{"text":"` + strings.Repeat("a", 1<<10) + `"}`, 1, 1},
		{"a string with escapes", new(message), `{"text":"` + strings.Repeat(`a\n`, 100) + `"}`, 2, 2},
		{"a long string", new(message), `{"text":"` + strings.Repeat("a", 64<<10) + `"}`, 1, 1},
		{"unknown members", new(pair), `{"x":5,"y":6,"z":"a","X":-1.5}`, 0, 1},
	}
	for _, test := range tests {
		target, data := reflect.ValueOf(test.target).Elem(), []byte(test.data)
		plan := strictjson.PlanOf(target.Type())
		if got := leastAllocations(func() { _ = strictjson.Unmarshal(data, test.target) }); got > test.mostRead {
			t.Errorf("reading %s allocates %v times, want %v at most", test.name, got, test.mostRead)
		}
		if got := leastAllocations(func() { _, _ = plan.Marshal(target) }); got > test.mostWrite {
			t.Errorf("writing %s allocates %v times, want %v at most", test.name, got, test.mostWrite)
		}
	}
}

// leastAllocations returns how often something allocates, the least of many times: the race detector takes something
// out of the pools of the JSON library at random.
func leastAllocations(of func()) float64 {
	least := math.Inf(1)
	for range 200 {
		least = min(least, testing.AllocsPerRun(1, of))
	}
	return least
}

// BenchmarkPlan compares plans with the JSON library alone.
func BenchmarkPlan(b *testing.B) {
	for _, bench := range []struct {
		name   string
		target any
		data   string
	}{
		{"pair", new(pair), `{"x":5,"y":6}`},
		{"sum", new(sum), `{"sum":11}`},
		{"1KiB", new(message), `{"text":"` + strings.Repeat("a", 1<<10) + `"}`},
		{"1KiB escapes", new(message), `{"text":"` + strings.Repeat(`say \"hello\"\n`, 72) + `"}`},
		{"1KiB umlauts", new(message), `{"text":"` + strings.Repeat("grüße aus köln ", 57) + `"}`},
		{"64KiB", new(message), `{"text":"` + strings.Repeat("a", 64<<10) + `"}`},
		{"list", new([]pair), `[` + strings.Repeat(`{"x":5,"y":6},`, 99) + `{"x":5,"y":6}]`},
	} {
		data, target := []byte(bench.data), reflect.ValueOf(bench.target).Elem()
		plan := strictjson.PlanOf(target.Type())
		measure := func(what string, step func() bool) {
			b.Run(bench.name+"/"+what, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if !step() {
						b.Fatal("it failed")
					}
				}
			})
		}
		measure("read", func() bool { target.SetZero(); return strictjson.Unmarshal(data, bench.target) == nil })
		measure("write", func() bool { _, err := plan.Marshal(target); return err == nil })
		measure("write by the library", func() bool { _, err := strictjson.MarshalStrictly(bench.target); return err == nil })
	}
}

// BenchmarkMarshal is a caller, who looks for the plan each time.
func BenchmarkMarshal(b *testing.B) {
	for name, value := range map[string]any{
		"struct":    &pair{5, 6},
		"arguments": arguments{"x": 5, "y": 6},
		"texts":     arguments{"text": strings.Repeat("a", 100), "name": "b", "last": "c"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := strictjson.Marshal(value); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+" by the library", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := strictjson.MarshalStrictly(value); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkUnmarshalAnyCase is the same for reading.
func BenchmarkUnmarshalAnyCase(b *testing.B) {
	var result struct{ Sum int }
	data := []byte(`{"sum":11}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := strictjson.UnmarshalAnyCase(data, &result); err != nil {
			b.Fatal(err)
		}
	}
}
