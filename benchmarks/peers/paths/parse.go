package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// results are the figures in the output of go test.
type results struct {
	names   []string                        // of benchmarks, "Add/plain/serial", in order
	figures map[string]map[string][]float64 // by name, then by unit; one for each run
}

// parse parses the output of go test -bench. A failed run is an error: its figures would be wrong.
func parse(output io.Reader) (*results, error) {
	read := &results{figures: make(map[string]map[string][]float64)}
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "--- FAIL") {
			return nil, errors.New("the benchmarks failed; see what they say without this program")
		}
		if fields := strings.Fields(line); len(fields) > 3 && strings.HasPrefix(line, "Benchmark") {
			if err := read.add(fields); err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
		}
	}
	return read, lines.Err()
}

// add adds a line: a name, the number of iterations, and pairs of figure and unit.
func (r *results) add(fields []string) error {
	name := strings.TrimPrefix(regexp.MustCompile(`-\d+$`).ReplaceAllString(fields[0], ""), "Benchmark")
	if r.figures[name] == nil {
		r.names = append(r.names, name)
		r.figures[name] = make(map[string][]float64)
	}
	for i := 2; i+1 < len(fields); i += 2 {
		figure, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return err
		}
		r.figures[name][fields[i+1]] = append(r.figures[name][fields[i+1]], figure)
	}
	return nil
}
