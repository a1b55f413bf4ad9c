package metrics_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/busline/busline/bus/metrics"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	instance := func(id string) string {
		text, label := new(metrics.Text), metrics.Label{Name: "id", Value: id}
		text.Gauge("up", "Whether\nit \\ runs.", 1, label)
		text.Counter("calls_total", "Calls.", 3, label, metrics.Label{Name: "from", Value: "a \"b\"\n\\c"})
		text.Histogram("took_seconds", "Time.", metrics.Counts{Buckets: []int64{1, 2}, Took: time.Second}, label)
		return text.String()
	}
	merger := new(metrics.Merger)
	for _, id := range []string{"a", "b"} {
		if err := merger.Add(instance(id), metrics.Label{Name: "id", Value: id}); err != nil {
			t.Fatal(err)
		}
	}
	got := merger.String()
	for _, want := range []string{
		"# HELP up Whether\\nit \\\\ runs.\n# TYPE up gauge\nup{id=\"a\"} 1\nup{id=\"b\"} 1\n",
		"# TYPE calls_total counter\ncalls_total{id=\"a\",from=\"a \\\"b\\\"\\n\\\\c\"} 3\ncalls_total{id=\"b\"",
		"took_seconds_count{id=\"a\"} 3\ntook_seconds_bucket{id=\"b\",le=\"5e-05\"} 1\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no\n%s\nin\n%s", want, got)
		}
	}
	if strings.Count(got, "# TYPE took_seconds histogram\n") != 1 {
		t.Errorf("a metric begins more than once:\n%s", got)
	}
}

// TestMergeOfHelp: two versions of a service may explain a metric differently; the order in which they come does not show.
func TestMergeOfHelp(t *testing.T) {
	t.Parallel()
	texts := []string{"# HELP x Calls.\nx{id=\"a\"} 1\n", "# HELP x Calls made.\nx{id=\"b\"} 1\n"}
	for range texts {
		merger := new(metrics.Merger)
		for _, text := range texts {
			if err := merger.Add(text); err != nil {
				t.Fatal(err)
			}
		}
		if want := "# HELP x Calls.\n"; !strings.HasPrefix(merger.String(), want) {
			t.Errorf("%q does not begin with %q", merger.String(), want)
		}
		slices.Reverse(texts)
	}
}

// TestMergeTakes what others than this package write.
func TestMergeTakes(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                                     "",
		"\n# a word to people\n \t\n":          "",
		"x 1":                                  "x 1\n",
		"x{ } +Inf\n":                          "x +Inf\n",
		"  x\t{ a = \"1\" , b=\"\", }  1e3 \n": "x{a=\"1\",b=\"\"} 1000\n",
		"#TYPE x untyped\nx NaN":               "x NaN\n",
		"# HELP x a \\q b\\\nx 1":              "# HELP x a \\\\q b\\\\\nx 1\n",
		"# TYPE y counter\n# HELP y\n":         "",
		"# TYPE s summary\ns{quantile=\"0.5\"} 1\ns_sum 2\ns_count 3": "# TYPE s summary\ns{quantile=\"0.5\"} 1\ns_sum 2\ns_count 3\n",
		"# TYPE b gauge\nb 1\na 1\nb{x=\"1\"} 2":                      "a 1\n# TYPE b gauge\nb 1\nb{x=\"1\"} 2\n",
	} {
		merger := new(metrics.Merger)
		if err := merger.Add(given); err != nil || merger.String() != want {
			t.Errorf("%q: %v, %q, want %q", given, err, merger.String(), want)
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	const there = "# TYPE took histogram\ntook_bucket{id=\"a\",le=\"1\"} 1\ntook_sum{id=\"a\"} 1\ncount{id=\"a\",to=\"e\"} 1\n"
	for given, want := range map[string]string{
		"x{id=\"a\"} 1\n{} 1":                      `line 2: "{} 1" does not begin with the name of a metric`,
		"<script>alert(1)</script>":                `line 1: "<script>alert(1)</script>" does not begin`,
		"x 1\n":                                    `x has no label id="a"`,
		"x{id=\"b\"} 1\n":                          `x has no label id="a"`,
		"x{id=\"a\"} 1 1700000000":                 "x is followed by 2 words; a single number is expected",
		"x{id=\"a\"}":                              "x is followed by 0 words",
		"x{id=\"a\"} 1_0":                          "the value is not a number",
		"x{id=\"a\"} 0x1p4":                        "the value is not a number",
		"x{id=\"a\"} 1e999":                        "the value is not a number",
		"x{id=\"a\"} one":                          "the value is not a number",
		"x{id=\"a\",id=\"a\"} 1":                   "the label id is given twice",
		"x{id=\"a\" b=\"\"} 1":                     "neither a comma nor a brace after the label id",
		"x{id=a} 1":                                "the value of a label is not in quotes",
		"x{id=\"a":                                 "not in quotes, or does not end",
		"x{id=\"a\\":                               "not in quotes, or does not end",
		"x{id=\"\\t\"} 1":                          `"\\t" is not a valid escape`,
		"x{a:b=\"\"} 1":                            `"a:b" is not the name of a label`,
		"x{id":                                     `"id" is not the name of a label`,
		"x{id=\"a\"} 1\nx{id=\"a\"} 2":             `line 2: the sample x{id="a"} is given twice`,
		"count{to=\"e\",id=\"a\"} 2":               "it repeats a series that another exposition has",
		"# TYPE count counter\n":                   "count has the type counter here, but untyped elsewhere",
		"# TYPE took gauge\n":                      "took has the type gauge here, but histogram elsewhere",
		"# TYPE took_sum gauge\n":                  "took_sum belongs to took_sum here, but to took elsewhere",
		"# TYPE x histgram\n":                      `"histgram" is not a metric type`,
		"# TYPE x gauge\n# TYPE x gauge":           "line 2: the TYPE of x comes twice, or after its samples",
		"x{id=\"a\"} 1\n# TYPE x gauge":            "line 2: the TYPE of x comes twice, or after its samples",
		"x_sum{id=\"a\"} 1\n# TYPE x summary":      "line 2: x_sum already belongs to x_sum",
		"# TYPE 1x gauge":                          `"1x" is not the name of a metric`,
		"# TYPE x histogram\nx{id=\"a\"} 1":        "x is a histogram, so no sample can have this name alone",
		"# TYPE x histogram\nx_bucket{id=\"a\"} 1": "x_bucket has no label le",
		"# TYPE x histogram\nx_bucket{id=\"a\",le=\"small\"} 1":           "the label le of x_bucket is not a number",
		"# TYPE x summary\nx{id=\"a\"} 1":                                 "x has no label quantile",
		"x{id=\"a\"} 1\xff":                                               "not UTF-8",
		"x{" + strings.Repeat("a", 70) + "=\"\"" + strings.Repeat(",", 2): `"," is not the name`,
	} {
		merger := new(metrics.Merger)
		if err := merger.Add(there, metrics.Label{Name: "id", Value: "a"}); err != nil {
			t.Fatal(err)
		}
		before := merger.String()
		err := merger.Add(given, metrics.Label{Name: "id", Value: "a"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", given, err, want)
		}
		if merger.String() != before {
			t.Errorf("%q changed what was there:\n%s", given, merger)
		}
	}
}

// FuzzMerge holds that what is merged can be merged again, and is whole.
func FuzzMerge(f *testing.F) {
	for _, seed := range []string{
		"# HELP x a\n# TYPE x histogram\nx_bucket{le=\"+Inf\"} 1\nx_sum 1\nx_count 1\n", "x{a=\"\\\"\\n\\\\\"} -0", "x NaN\ny 1", "# TYPE x summary\nx{quantile=\"1\"} 2",
		"# HELP x_sum\\\n# TYPE x gauge\nx 1 \n#\n# TYPE", "x_sum 1", "x{,} 1",
	} {
		f.Add(seed, "x 2\nx{b=\"\"} 1e300")
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		merger := new(metrics.Merger)
		lines := 0
		for _, text := range []string{first, second} {
			before := merger.String()
			if err := merger.Add(text); err != nil {
				if merger.String() != before {
					t.Fatalf("%q was refused and changed %q to %q", text, before, merger)
				}
				continue
			}
			for line := range strings.Lines(text) {
				if line = strings.Trim(line, " \t\n"); line != "" && line[0] != '#' {
					lines++
				}
			}
		}
		merged := merger.String()
		again := new(metrics.Merger)
		if err := again.Add(merged); err != nil || again.String() != merged {
			t.Fatalf("%q and %q became %q, which is read as %q, %v", first, second, merged, again, err)
		}
		kept := 0
		for line := range strings.Lines(merged) {
			if line[0] != '#' {
				kept++
			}
		}
		if kept != lines {
			t.Errorf("%q and %q became %q: %d samples of %d", first, second, merged, kept, lines)
		}
	})
}
