package metrics_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/busline/busline/bus/metrics"
)

// TestMerger_AddAll cuts what conflicts from the exposition that has it, and nothing of the others.
func TestMerger_AddAll(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		expositions, want []string // want is the text, and the bytes cut of each
	}{
		"the most have it": {
			[]string{"# TYPE x gauge\nx{a=\"1\"} 1\ny 1\n", "# TYPE x counter\nx{a=\"2\"} 1\n", "# TYPE x counter\nx{a=\"3\"} 1\n"},
			[]string{"# TYPE x counter\nx{a=\"2\"} 1\nx{a=\"3\"} 1\ny 1\n", "11", "0", "0"},
		},
		"the first has it": {
			[]string{"# HELP x 1\n# TYPE x gauge\nx{a=\"1\"} 1\n", "# HELP x 2\nx{a=\"2\"} 1\n"},
			[]string{"# HELP x 1\n# TYPE x gauge\nx{a=\"1\"} 1\n", "0", "11"},
		},
		"the framework has it": {
			[]string{"# TYPE busline_x_total gauge\nbusline_x_total 1\n", "# TYPE busline_x_total gauge\nbusline_x_total{a=\"2\"} 1\n",
				"# TYPE busline_x_total counter\nbusline_x_total{a=\"3\"} 1\n"},
			[]string{"# TYPE busline_x_total counter\nbusline_x_total{a=\"3\"} 1\n", "18", "25", "0"},
		},
		"names of samples": {
			[]string{"# TYPE x histogram\nx_sum 1\n", "x_sum{a=\"2\"} 1\n", "x_sum{a=\"3\"} 1\n", "# TYPE busline_x_sum gauge\nbusline_x_sum 1\n"},
			[]string{"x_sum{a=\"2\"} 1\nx_sum{a=\"3\"} 1\n", "8", "0", "0", "16"},
		},
		"without samples": {
			[]string{"# TYPE x gauge\n", "# TYPE x gauge\n", "# TYPE x counter\nx 1\n"},
			[]string{"# TYPE x counter\nx 1\n", "0", "0", "0"},
		},
		"a series twice": {[]string{"x 1\n", "x 2\ny 1\n"}, []string{"x 1\n", "0", "8"}},
	} {
		var expositions []*metrics.Merger
		for _, text := range test.expositions {
			exposition := new(metrics.Merger)
			if err := exposition.Add(text); err != nil {
				t.Fatal(err)
			}
			expositions = append(expositions, exposition)
		}
		merger := new(metrics.Merger)
		var got []string
		for _, bytes := range merger.AddAll(expositions) {
			got = append(got, strconv.Itoa(bytes))
		}
		if got = append([]string{merger.String()}, got...); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
