package benchmarks_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/busline/busline/reflectapi/strictjson"
)

// BenchmarkJSON encodes and decodes the arguments of the other benchmarks, with our strict JSON and with that of the
// standard library, which lets more pass. The other parts of a call are measured beside their code: bus/wire,
// bus/subject, restmap, reflectapi, bus/claims.
func BenchmarkJSON(b *testing.B) {
	b.Run("add", func(b *testing.B) { overLibraries(b, addArguments{X: 5, Y: 6}) })
	b.Run("echo-1KiB", func(b *testing.B) { overLibraries(b, echoArguments{Text: strings.Repeat("a", 1<<10)}) })
	b.Run("echo-64KiB", func(b *testing.B) { overLibraries(b, echoArguments{Text: strings.Repeat("a", 64<<10)}) })
}

func overLibraries[Arguments any](b *testing.B, arguments Arguments) {
	b.Helper()
	for _, library := range []struct {
		name      string
		marshal   func(any) ([]byte, error)
		unmarshal func([]byte, any) error
	}{
		{"strict", strictjson.Marshal, strictjson.Unmarshal},
		{"standard", json.Marshal, json.Unmarshal},
	} {
		b.Run(library.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				data, err := library.marshal(arguments)
				if err != nil {
					b.Fatal(err)
				}
				var out Arguments
				if err := library.unmarshal(data, &out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
