package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestLine holds that a line is read as it was written.
func TestLine(t *testing.T) {
	t.Parallel()
	written := make(figures, len(operations()))
	for i := range written {
		written[i] = figure{Ratio: 1.25 + float64(i), Allocs: float64(10 * i), Bytes: float64(1000 * i)}
	}
	line := written.line("2026-11-29", "0123abcd", "what it is")
	read, err := parseLine(line)
	if err != nil {
		t.Fatal(err)
	}
	for i := range written {
		if read[i] != written[i] {
			t.Errorf("%s: %v, want %v", operations()[i].name, read[i], written[i])
		}
	}
	for bad, want := range map[string]string{
		"|---|---|": "has 2 cells",
		strings.Replace(line, "1.25 0 0", "1.25 0", 1): "Add, serial",
	} {
		if _, err := parseLine(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", bad, err, want)
		}
	}
}

// TestGrownSince holds that what grows beyond what comes by chance is an error that names the operation.
func TestGrownSince(t *testing.T) {
	t.Parallel()
	last := make(figures, len(operations()))
	for i := range last {
		last[i] = figure{Allocs: 100, Bytes: 10_000}
	}
	now := append(figures(nil), last...)
	now[1].Allocs, now[2].Bytes, now[3].Allocs, now[4].Bytes = 103, 11_000, 104, 11_100
	grown := now.grownSince(last)
	if len(grown) != 2 || !strings.HasPrefix(grown[0].Error(), "Echo 64 KiB: 104.0 allocations of 10000 bytes") ||
		!strings.HasPrefix(grown[1].Error(), "multicast to 16: ") {
		t.Error(grown)
	}
}

// TestBeside holds that the interval has the ratio of builds of which one takes a tenth more.
func TestBeside(t *testing.T) {
	t.Parallel()
	one, other := new(build), new(build)
	for round := range 10 {
		noise := 1 + float64(round%3)/50
		one.rounds = append(one.rounds, figures{{CPU: 1.1 * noise}})
		other.rounds = append(other.rounds, figures{{CPU: 1}})
	}
	if ratio, around := one.beside(other, 0); ratio-around > 1.13 || ratio+around < 1.11 || around > 0.02 {
		t.Errorf("%.3f ± %.3f", ratio, around)
	}
}

// TestAlternate holds that each build is measured in each round, until the intervals are narrow.
func TestAlternate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a build is a shell script here")
	}
	builds := make([]*build, 3)
	for i := range builds {
		measured := make(figures, len(operations()))
		for at := range measured {
			measured[at].CPU = float64(i + 1)
		}
		text, err := json.Marshal(measured)
		if err != nil {
			t.Fatal(err)
		}
		builds[i] = &build{path: filepath.Join(t.TempDir(), "build")}
		if err := os.WriteFile(builds[i].path, fmt.Appendf(nil, "#!/bin/sh\necho '%s'\n", text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := alternate(t.Context(), builds, time.Second, time.Hour, io.Discard); err != nil {
		t.Fatal(err)
	}
	for i, each := range builds {
		if len(each.rounds) != fewestRounds || each.rounds[0][0].CPU != float64(i+1) {
			t.Errorf("build %d: %v", i, each.rounds)
		}
	}
}

// TestRun measures for a moment, beside nothing and against a ledger that has more, and less.
func TestRun(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.md")
	high := make(figures, len(operations()))
	for i := range high {
		high[i] = figure{Allocs: 1e9, Bytes: 1e12}
	}
	for want, last := range map[string]figures{"": high, "Add, serial:": make(figures, len(operations()))} {
		if err := os.WriteFile(file, []byte(last.line("", "", "")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err := run(t.Context(), []string{"-check", "-rounds", "1", "-time", time.Millisecond.String(), "-file", file}, &out,
			io.Discard)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, err := parseLine(strings.TrimSpace(out.String())); err != nil {
			t.Error(err)
		}
	}
}
