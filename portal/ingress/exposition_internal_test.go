package ingress

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/portal/internal/plane"
)

// own are the labels of the instance a.example.
const own = `host="a.example",id="a1"`

func TestReadExposition(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		text, want string
	}{
		{"nothing", "", ""},
		{"comments", "\n# a word to people\n \t\n", ""},
		{"no end of line", "x{" + own + "} 1", "# TYPE x untyped\nx{" + own + "} 1\n"},
		{"spaces", "  x\t{ " + own + " , }  +Inf\n", "# TYPE x untyped\nx{" + own + "} +Inf\n"},
		{"escapes", "# HELP x a\\nb\\\\\n# TYPE x gauge\nx{" + own + `,b="\"\\\n"} NaN`,
			"# HELP x a\\nb\\\\\n# TYPE x gauge\nx{" + own + `,b="\"\\\n"} NaN` + "\n"},
		{"a timestamp", "x{" + own + "} 1 1700000000", "# TYPE x untyped\nx{" + own + "} 1\n"},
		{"mixed metrics", "x{" + own + "} 1\ny{" + own + "} 2\nx{" + own + `,n="1"} 3`,
			"# TYPE x untyped\nx{" + own + "} 1\nx{" + own + `,n="1"} 3` + "\n# TYPE y untyped\ny{" + own + "} 2\n"},
		{"no samples", "# HELP x Calls.\n# TYPE x counter\n", ""},
		{"a summary", "# TYPE x summary\nx{" + own + `,quantile="0.5"} 1` + "\nx_sum{" + own + "} 2\nx_count{" + own +
			"} 3\n", "# TYPE x summary\nx{" + own + `,quantile="0.5"} 1` + "\nx_sum{" + own + "} 2\nx_count{" + own + "} 3\n"},
		{"a histogram", "# TYPE x histogram\nx_bucket{" + own + `,le="+Inf"} 3` + "\nx_sum{" + own + "} 2\nx_count{" + own +
			"} 3\n", "# TYPE x histogram\nx_bucket{" + own + `,le="+Inf"} 3` + "\nx_sum{" + own + "} 2\nx_count{" +
			own + "} 3\n"},
		{"half a histogram", "# TYPE x histogram\nx_bucket{" + own + `,le="1"} 3` + "\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			read, err := readExposition(test.text, plane.Peer{Host: "a.example", ID: "a1"})
			got := read.String()
			require.NoError(t, err, "readExposition(%q)", test.text)
			assert.Equal(t, test.want, got, "readExposition(%q)", test.text)
		})
	}
}

func TestReadExposition_Malformed(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range maxMetrics + 1 {
		many.WriteString("x" + strconv.Itoa(i) + "{" + own + "} 1\n")
	}
	for _, test := range []struct {
		name       string
		text, want string
	}{
		{"HTML", "<script>alert(1)</script>", "invalid metric name"},
		{"no name", "{} 1", "does not begin with the name of a metric"},
		{"no labels", "x 1", "x: not of the instance a1.a.example"},
		{"another instance", `x{host="a.example",id="b"} 1`, "x: not of the instance"},
		{"the instance twice", `x{host="b.example",` + own + "} 1", "duplicate label"},
		{"no value", "x{" + own + "}", "expected float as value"},
		{"no number", "x{" + own + "} one", "expected float as value"},
		{"more than a timestamp", "x{" + own + "} 1 2 3", "spurious string after timestamp"},
		{"no quotes", "x{host=a} 1", "expected '\"'"},
		{"no end", `x{host="a`, "label value"},
		{"an unknown escape", `x{host="\t"} 1`, "invalid escape sequence"},
		{"a name of a label", `x{a:b="",` + own + "} 1", "label"},
		{"a series twice", "x{" + own + "} 1\nx{id=\"a1\",host=\"a.example\"} 2",
			`x: {host="a.example",id="a1"} is given twice`},
		{"a type that is none", "# TYPE x histgram\n", "unknown metric type"},
		{"a type twice", "# TYPE x gauge\n# TYPE x gauge\nx{" + own + "} 1", "second TYPE line"},
		{"a type afterwards", "x{" + own + "} 1\n# TYPE x gauge", "TYPE reported after samples"},
		{"a limit without", "# TYPE x histogram\nx_bucket{" + own + `,le="small"} 1`,
			"expected float as value for 'le' label"},
		{"no UTF-8", "x{" + own + "} 1\xff", "not UTF-8"},
		{"a name in braces", "# TYPE x histogram\ny{" + own + "} 1\n{\"x\"," + own + "} 1",
			"does not begin with the name of a metric"},
		{"a count of none", "# TYPE x summary\nx_count{" + own + "} -1", "out of range"},
		{"half a count", "# TYPE x histogram\nx_bucket{" + own + `,le="1"} 0.5` + "\nx_count{" + own + "} 1", "not whole"},
		{"a limit twice", "# TYPE x histogram\nx_bucket{" + own + `,le="1"} 1` + "\nx_bucket{" + own + `,le="1.0"} 2` +
			"\nx_count{" + own + "} 2", "a limit is given twice"},
		{"a sum twice", "# TYPE x summary\nx_sum{" + own + "} 1\nx_sum{" + own + "} 2\nx_count{" + own + "} 2",
			"given twice"},
		{"no limit", "# TYPE x histogram\nx_bucket{" + own + "} 1\nx_count{" + own + "} 1", "has no limit"},
		{"a gauge histogram", "# TYPE x gauge_histogram\nx_count{" + own + "} 1", ""},
		{"many labels", "x{" + own + "," + labels(maxLabels-1) + "} 1", "more than 64 labels"},
		{"many metrics", many.String(), "more than 4096 metrics"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := readExposition(test.text, plane.Peer{Host: "a.example", ID: "a1"})
			assert.ErrorContains(t, err, test.want, "readExposition(%.200q)", test.text)
		})
	}
}

func labels(count int) string {
	var text strings.Builder
	for i := range count {
		text.WriteString("l" + strconv.Itoa(i) + `="",`)
	}
	return text.String()
}

// TestMerge_Expositions cuts what conflicts from the exposition that has it, and nothing of the others.
func TestMerge_Expositions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		texts []string // of instances a, b, …; @ stands for their labels
		want  string
		cut   []int
	}{
		{"the most have it",
			[]string{"# TYPE x gauge\nx{@} 1\ny{@} 1\n", "# TYPE x counter\nx{@} 1\n", "# TYPE x counter\nx{@} 1\n"},
			"# TYPE x counter\nx{@b} 1\nx{@c} 1\n# TYPE y untyped\ny{@a} 1\n", []int{29, 0, 0},
		},
		{"the first has it",
			[]string{"# HELP x 1\n# TYPE x gauge\nx{@} 1\n", "# HELP x 2\nx{@} 2\n"},
			"# HELP x 1\n# TYPE x gauge\nx{@a} 1\n", []int{0, 29},
		},
		{"the framework has it",
			[]string{"# TYPE busline_x_total gauge\nbusline_x_total{@} 1\n",
				"# TYPE busline_x_total counter\nbusline_x_total{@} 1\n"},
			"# TYPE busline_x_total counter\nbusline_x_total{@b} 1\n", []int{43, 0},
		},
		{"names of samples",
			[]string{"# TYPE x summary\nx_sum{@} 1\nx_count{@} 1\n", "x_sum{@} 1\n", "x_sum{@} 1\n",
				"# TYPE busline_x_sum gauge\nbusline_x_sum{@} 1\n"},
			"# TYPE x_sum untyped\nx_sum{@b} 1\nx_sum{@c} 1\n", []int{68, 0, 0, 41},
		},
		{"without samples",
			[]string{"# TYPE x gauge\n", "# TYPE x gauge\n", "# TYPE x counter\nx{@} 1\n"},
			"# TYPE x counter\nx{@c} 1\n", []int{0, 0, 0},
		},
		{"help of the first",
			[]string{"# TYPE x gauge\nx{@} 1\n", "# HELP x 2\n# TYPE x gauge\nx{@} 2\n", "# HELP x 3\n# TYPE x gauge\nx{@} 3\n"},
			"# HELP x 2\n# TYPE x gauge\nx{@a} 1\nx{@b} 2\nx{@c} 3\n", []int{0, 0, 0},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := test.want
			var expositions []exposition
			for at, text := range test.texts {
				of := plane.Peer{Host: "a.example", ID: string(rune('a' + at))}
				own := `host="a.example",id="` + of.ID + `"`
				want = strings.ReplaceAll(want, "@"+of.ID, own)
				read, err := readExposition(strings.ReplaceAll(text, "@", own), of)
				require.NoError(t, err)
				expositions = append(expositions, read)
			}
			merged, cut := mergeExpositions(expositions)
			if got := merged.String(); got != want {
				t.Errorf("merged are\n%s\nwant\n%s", got, want)
			}
			if !slices.Equal(cut, test.cut) {
				t.Errorf("cut %v bytes, want %v", cut, test.cut)
			}
		})
	}
}

// FuzzReadExposition holds that what is read can be written, and is read again as the same.
func FuzzReadExposition(f *testing.F) {
	for _, seed := range []string{
		"# HELP x a\n# TYPE x histogram\nx_bucket{" + own + ",le=\"+Inf\"} 1\nx_sum{" + own + "} 1\nx_count{" + own + "} 1\n",
		"x{" + own + ",a=\"\\\"\\n\\\\\"} -0", "x{" + own + "} NaN\ny{" + own + "} 1 5",
		"# TYPE x summary\nx{" + own + ",quantile=\"1\"} 2\nx_count{" + own + "} 3",
		"# HELP x_sum\\\n# TYPE x gauge\nx{" + own + "} 1 \n#\n# TYPE", "x{,} 1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		of := plane.Peer{Host: "a.example", ID: "a1"}
		read, err := readExposition(text, of)
		if err != nil {
			return
		}
		merged, cut := mergeExpositions([]exposition{read})
		written := merged.String()
		again, err := readExposition(written, of)
		require.NoError(t, err, text)
		assert.Equal(t, written, again.String(), text)
		if len(read) == len(merged) && cut[0] != 0 {
			t.Errorf("%q: %d bytes are cut of nothing", text, cut[0])
		}
	})
}
