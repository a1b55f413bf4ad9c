package main_test

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/busline/busline/benchmarks/child"
	main "github.com/busline/busline/benchmarks/peers/load"
	"github.com/busline/busline/benchmarks/peers/peer"
)

// TestMain runs the tests, or is a stage of one that runs in the parent process.
func TestMain(m *testing.M) {
	isChild, err := child.Run(context.Background(), peer.Stages())
	if !isChild {
		os.Exit(m.Run())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// TestRun measures all targets for a moment.
func TestRun(t *testing.T) {
	t.Parallel()
	readme, picture := filepath.Join(t.TempDir(), "README.md"), filepath.Join(t.TempDir(), "load.svg")
	if err := os.WriteFile(readme, []byte("<!-- begin load -->\n<!-- end load -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var tables, progress strings.Builder
	arguments := []string{"-rounds", "1", "-time", "20ms", "-limit", "500", "-readme", readme, "-picture", picture}
	if err := main.Run(t.Context(), arguments, &tables, &progress); err != nil {
		t.Fatal(err)
	}
	if got, want := checkTables(t, tables.String()), []int{6 * 7, 7, 8}; !slices.Equal(got, want) {
		t.Errorf("tables of %d rows, want %d", got, want)
	}
	written, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := checkTables(t, string(written)), []int{7, 8}; !slices.Equal(got, want) {
		t.Errorf("README: tables of %d rows, want %d", got, want)
	}
	drawn, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	checkPicture(t, string(drawn))
	if got := strings.Count(progress.String(), "round 1 of 1: "); got != 8 {
		t.Errorf("progress = %q", progress.String())
	}
}

// checkTables holds that all rows of a table have as many cells as its heading, and returns the numbers of rows.
func checkTables(t *testing.T, text string) (rows []int) {
	t.Helper()
	cells := 0
	for line := range strings.Lines(text) {
		count := strings.Count(line, "|")
		switch {
		case count == 0:
			cells = 0
		case cells == 0:
			cells = count
			rows = append(rows, -1) // the line below the heading is none
		case count != cells || strings.Contains(line, "NaN") || strings.Contains(line, "Inf"):
			t.Errorf("a row of %d cells below a heading of %d: %s", count, cells, line)
		default:
			rows[len(rows)-1]++
		}
	}
	return rows
}

// checkPicture holds that a picture is XML, with a line and a name for each target.
func checkPicture(t *testing.T, drawn string) {
	t.Helper()
	decoder, lines := xml.NewDecoder(strings.NewReader(drawn)), 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, is := token.(xml.StartElement); is && start.Name.Local == "polyline" {
			lines++
		}
	}
	if lines != 6 || strings.Contains(drawn, "NaN") || strings.Contains(drawn, "Inf") {
		t.Errorf("%d lines, want 6, and only numbers, in\n%s", lines, drawn)
	}
	for _, name := range []string{"busline", "nats micro", "grpc-go", "httputil.ReverseProxy"} {
		if !strings.Contains(drawn, ">"+name+"</text>") {
			t.Errorf("no name %q", name)
		}
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		"-rounds 0":     "-rounds, -time and -limit have to be above zero",
		"-time 0s":      "-rounds, -time and -limit have to be above zero",
		"-limit 0":      "-rounds, -time and -limit have to be above zero",
		"-only nothing": `no target has a name that matches "nothing"`,
		"-only (":       "missing closing )",
	} {
		err := main.Run(t.Context(), strings.Fields(arguments), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", arguments, err, want)
		}
	}
}
