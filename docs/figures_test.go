package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// figures are what benchmarks/README.md says: rows of cells, by the title of their table.
type figures map[string][][]string

// column is one in all tables of peers over TCP.
type column int

const (
	serial column = iota + 1
	serialRatio
	_ // p99
	parallel
	parallelRatio
	_               // p99
	_               // p99.9
	throughputRatio // that of the rival
	cpu
	cpuRatio
	writes
	_
	allocations
)

// TestFigures holds the figures of the other documents to those that were measured, from which they are taken. Who has
// measured them again has them written with -update.
func TestFigures(t *testing.T) {
	t.Parallel()
	read := readFigures(t)
	checkBetween(t, "README.md", "figures", read.short(t))
	checkBetween(t, "docs/understand/comparison.md", "figures", read.compared(t))
	checkBetween(t, "benchmarks/README.md", "goals", read.goals(t))
}

func readFigures(t *testing.T) figures {
	t.Helper()
	read := figures{}
	for _, block := range []string{"peers", "paths"} {
		_, text, _ := strings.Cut(readFile(t, "benchmarks/README.md"), "<!-- begin "+block+" -->")
		text, _, _ = strings.Cut(text, "<!-- end "+block+" -->")
		rows, title := tableRows(text), ""
		for i, row := range rows {
			switch {
			case i+1 < len(rows) && strings.HasPrefix(rows[i+1][0], "---"):
				title = row[0]
			case !strings.HasPrefix(row[0], "---"):
				read[title] = append(read[title], row)
			}
		}
	}
	return read
}

var measuredOn = regexp.MustCompile(`Measured on \d+ \w+ \d{4}`)

// measured says when the figures were.
func measured(t *testing.T) string {
	t.Helper()
	return measuredOn.FindString(readFile(t, "benchmarks/README.md")) + "."
}

// of returns a cell.
func (f figures) of(t *testing.T, table, peer string, of column) string {
	t.Helper()
	for _, row := range f[table] {
		if row[0] == peer && int(of) < len(row) {
			return row[of]
		}
	}
	t.Fatalf("benchmarks/README.md has no column %d of %s for %q", of, peer, table)
	return ""
}

// short is what README.md has.
func (f figures) short(t *testing.T) string {
	t.Helper()
	const floor = "nats request"
	var text strings.Builder
	text.WriteString("\n| | busline, × NATS request | grpc-go, × NATS request |\n|---|--:|--:|\n")
	text.WriteString(f.rows(t, []string{"busline", "grpc-go"}, []figureRow{
		{"`Add`, one caller, time", "Add", serialRatio},
		{"`Add`, 64 callers per core, time", "Add", parallelRatio},
		{"`Echo` of 1 KiB, 64 callers per core, time", "Echo 1 KiB", parallelRatio},
		{"`Echo` of 64 KiB, one caller, time", "Echo 64 KiB", serialRatio},
	}))
	text.WriteString("| allocations of `Add`, all sides together")
	for _, peer := range []string{"busline", "grpc-go"} {
		text.WriteString(" | " + f.of(t, "Add", peer, allocations) + " of " + f.of(t, "Add", floor, allocations))
	}
	text.WriteString(" |\n\nA call within the process takes " + f.of(t, "Add in the process", "busline, short circuit",
		serialRatio) +
		" × what a gRPC channel without a connection does (`Add`). " + measured(t) + "\n\n")
	return text.String()
}

// compared is what docs/understand/comparison.md has.
func (f figures) compared(t *testing.T) string {
	t.Helper()
	peers := []string{"busline", "nats micro", "grpc-go", "connect-go, HTTP/1.1", "net/http, JSON"}
	var text strings.Builder
	text.WriteString("\n| | " + strings.Join(peers, " | ") + " |\n|---|" + strings.Repeat("--:|", len(peers)) + "\n")
	text.WriteString(f.rows(t, peers, []figureRow{
		{"`Add`, serial, µs", "Add", serial},
		{"`Add`, parallel, µs", "Add", parallel},
		{"`Add`, CPU µs of all sides", "Add", cpu},
		{"`Echo` 1 KiB, parallel, µs", "Echo 1 KiB", parallel},
		{"`Echo` 64 KiB, serial, µs", "Echo 64 KiB", serial},
		{"`Echo` 64 KiB, parallel, µs", "Echo 64 KiB", parallel},
	}))
	text.WriteString("\n" + measured(t) + "\n\n")
	return text.String()
}

// figureRow is a row of one figure, of all peers.
type figureRow struct {
	what, table string
	of          column
}

// rows writes rows of a table with a column for each peer.
func (f figures) rows(t *testing.T, peers []string, rows []figureRow) string {
	t.Helper()
	var text strings.Builder
	for _, row := range rows {
		text.WriteString("| " + row.what)
		for _, peer := range peers {
			text.WriteString(" | " + f.of(t, row.table, peer, row.of))
		}
		text.WriteString(" |\n")
	}
	return text.String()
}

// tableRows returns the cells of all table rows in a text.
func tableRows(text string) (rows [][]string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "|-") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows
}
