package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/busline/busline/benchmarks/peers"
)

// TestRun makes one short round, prints it and writes it.
func TestRun(t *testing.T) {
	t.Parallel()
	readme := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(readme, []byte("above\n<!-- begin peers -->\n<!-- end peers -->\nbelow\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var tables, progress strings.Builder
	arguments := []string{"-rounds", "1", "-time", "1ms", "-only", "Add in the process", "-readme", readme}
	if err := main.Run(t.Context(), arguments, &tables, &progress); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(tables.String(), "| Add in the process | serial µs | × inprocgrpc |") {
		t.Errorf("no table in\n%s", tables.String())
	}
	if !strings.HasPrefix(progress.String(), "round 1 of 1: ") {
		t.Errorf("progress = %q", progress.String())
	}
	written, err := os.ReadFile(readme)
	if want := "above\n<!-- begin peers -->\n\n" + tables.String() + "\n<!-- end peers -->\nbelow\n"; err != nil ||
		string(written) != want {
		t.Errorf("written: %q, %v", written, err)
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		"-rounds 0":     "0 rounds of 300ms measure nothing",
		"-time 0s":      "9 rounds of 0s measure nothing",
		"-only Nothing": `no scenario has a title that matches "Nothing"`,
		"-only (":       "missing closing )",
		"-rouns 1":      "flag provided but not defined: -rouns",
	} {
		err := main.Run(t.Context(), strings.Fields(arguments), new(strings.Builder), new(strings.Builder))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", arguments, err, want)
		}
	}
}
