package main_test

import (
	"strings"
	"testing"

	"github.com/busline/busline/benchmarks/peers/paths"
)

const output = `goos: linux
BenchmarkAdd/plain/serial-2         	 1000	     2.5 ns/op	 0 writes/call	 0 B/op	 0 allocs/op
BenchmarkAdd/tcp-broker/serial-2    	 1000	 40000 ns/op	 32000 p50-ns	 90000 p99-ns	 120000 p999-ns	 4.05 writes/call	 7000 B/op	 84 allocs/op
BenchmarkAdd/tcp-broker/serial-2    	 1000	 44000 ns/op	 34000 p50-ns	 92000 p99-ns	 122000 p999-ns	 4.07 writes/call	 7002 B/op	 84 allocs/op
BenchmarkAdd/tcp-broker/parallel-2  	 1000	 12345 ns/op	 1.3 writes/call	 8000 B/op	 80 allocs/op
BenchmarkStartUp/tcp-broker-2       	 1000	 987654 ns/op
BenchmarkElsewhere-2                	 1000	 1 ns/op
PASS
`

func TestTables(t *testing.T) {
	t.Parallel()
	var tables strings.Builder
	if err := main.Run(nil, strings.NewReader(output), &tables); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| `Add(x, y) sum` | serial µs | p50 | p99 | p99.9 | writes | parallel µs | p50 | p99 | p99.9 | writes | B/op | " +
			"allocs/op |\n",
		"| plain | 0.00 | – | – | – | 0.00 | – | – | – | – | – | 0 | 0 |\n",
		"| tcp broker | 42.0 | 33 | 91 | 121 | 4.06 | 12.3 | – | – | – | 1.30 | 7001 | 84 |\n",
		"| start-up to the first answer | ms |\n|---|--:|\n| tcp broker | 0.99 |\n",
	} {
		if !strings.Contains(tables.String(), want) {
			t.Errorf("%q is missing in\n%s", want, tables.String())
		}
	}
	if strings.Contains(tables.String(), "multicast") {
		t.Errorf("a table of what did not run:\n%s", tables.String())
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"":                           "no benchmark in the input; pipe the output of go test -bench",
		output + "FAIL\n":            "the benchmarks failed",
		"BenchmarkAdd/x 1 few ns/op": `parsing "few"`,
	} {
		if err := main.Run(nil, strings.NewReader(input), new(strings.Builder)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", input, err, want)
		}
	}
}
