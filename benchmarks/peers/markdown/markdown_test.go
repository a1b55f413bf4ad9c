package markdown_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/busline/busline/benchmarks/peers/markdown"
)

func TestTable(t *testing.T) {
	t.Parallel()
	table := markdown.Table{Heading: []string{"who", "µs"}, Rows: [][]string{{"a", "1"}, {"b", "2"}}}
	if got, want := table.String(), "| who | µs |\n|---|--:|\n| a | 1 |\n| b | 2 |\n"; got != want {
		t.Errorf("table:\n%swant:\n%s", got, want)
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		figure   float64
		decimals int
		want     string
	}{
		{1.234, 2, "1.23"},
		{12.34, 2, "12.3"},
		{123.4, 2, "123"},
		{12345, 2, "12345"},
		{0, 0, "0"},
		{-0.04, 1, "0.0"},
		{-0.06, 1, "-0.1"},
		{math.NaN(), 2, "–"},
		{math.Inf(1), 2, "–"},
	} {
		if got := markdown.Number(c.figure, c.decimals); got != c.want {
			t.Errorf("Number(%v, %d) = %s, want %s", c.figure, c.decimals, got, c.want)
		}
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	if got := markdown.Median([]float64{9, 1, 2}); got != 2 {
		t.Errorf("of three: %v", got)
	}
	if got := markdown.Median([]float64{9, 1, 2, 4}); got != 3 {
		t.Errorf("of four: %v", got)
	}
	if got := markdown.Median(nil); !math.IsNaN(got) {
		t.Errorf("of none: %v", got)
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(file, []byte("a\n<!-- begin x -->\nold\n<!-- end x -->\nz\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := markdown.Replace(file, "x", "new\n"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if want := "a\n<!-- begin x -->\n\nnew\n\n<!-- end x -->\nz\n"; err != nil || string(text) != want {
		t.Errorf("%q, %v; want %q", text, err, want)
	}
	if err := markdown.Replace(file, "y", ""); err == nil ||
		!strings.Contains(err.Error(), `has not both "<!-- begin y -->" and "<!-- end y -->"`) {
		t.Errorf("without marks: error %v", err)
	}
}

func TestMachine(t *testing.T) {
	t.Parallel()
	text := markdown.Machine(time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC))
	if !strings.HasPrefix(text, "Measured on 21 November 2026 with ") || !strings.HasSuffix(text, ".") {
		t.Errorf("%q", text)
	}
}
