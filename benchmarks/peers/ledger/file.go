package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// An operation may allocate a little more than the last line says: the garbage collector empties pools at random, and
// what many calls share is divided by their number. How much a write to the broker gathers, and so the size of its
// buffers, is up to the machine: one commit took 8094 and 8606 bytes for a stored event on two of them.
const (
	moreAllocs = 1.0 // beside 2 %
	moreBytes  = 64  // beside 10 %
)

// lastLine returns the figures of the last row of a ledger.
func lastLine(file string) (figures, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return parseLine(lines[len(lines)-1])
}

// parseLine reads what figures.line writes.
func parseLine(line string) (figures, error) {
	cells := strings.Split(line, "|")
	if len(cells) != len(operations())+5 { // those outside, date, commit and note
		return nil, fmt.Errorf("the ledger's last line has %d cells, not one for each of %d operations, date, commit and note: %s",
			len(cells)-2, len(operations()), line)
	}
	read := make(figures, len(operations()))
	for i := range read {
		if _, err := fmt.Sscan(cells[i+3], &read[i].Ratio, &read[i].Allocs, &read[i].Bytes); err != nil {
			return nil, fmt.Errorf("the ledger's last line: %s: %q: %w", operations()[i].name, cells[i+3], err)
		}
	}
	return read, nil
}

// grownSince returns an error for each operation that allocates more.
func (f figures) grownSince(last figures) (grown []error) {
	for i, each := range f {
		before := last[i]
		if each.Allocs > before.Allocs*1.02+moreAllocs || each.Bytes > before.Bytes*1.10+moreBytes {
			grown = append(grown, fmt.Errorf("%s: %.1f allocations of %.0f bytes, where the ledger has %.0f of %.0f: "+
				"find what allocates, or add a line that says why", operations()[i].name, each.Allocs, each.Bytes,
				before.Allocs, before.Bytes))
		}
	}
	return grown
}

// appendLine adds a row with the commit that is checked out.
func appendLine(ctx context.Context, file string, measured figures, note string) error {
	commit, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=8", "HEAD").Output()
	if err != nil {
		return fmt.Errorf("which commit is checked out: %w", err)
	}
	ledger, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	line := measured.line(time.Now().Format(time.DateOnly), strings.TrimSpace(string(commit)), note)
	if _, err := fmt.Fprintln(ledger, line); err != nil {
		return err
	}
	return ledger.Close()
}
