package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], ".", os.Stderr))
}

// run runs the command for the package in a folder, and returns its exit status: 0, 1 if nothing could be written, 2
// for wrong usage.
func run(ctx context.Context, arguments []string, dir string, stderr io.Writer) int {
	wanted, err := parseFlags(arguments, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		complain(stderr, fmt.Errorf("%w; see apigen -h", err))
		return 2
	}
	note, err := generate(ctx, wanted, dir)
	if err != nil {
		complain(stderr, err)
		return 1
	}
	if note != nil {
		complain(stderr, note)
	}
	return 0
}

// complain prints one line for each diagnostic.
func complain(stderr io.Writer, err error) {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(stderr, "apigen: %s\n", strings.TrimSuffix(line, "\n"))
	}
}

// generate does all the work, from reading the folder to writing the file. note says what it had to guess; nil if
// nothing.
func generate(ctx context.Context, wanted request, dir string) (note, err error) {
	before, err := writtenFor(dir, wanted.output)
	if err != nil {
		return nil, err
	}
	source, err := load(ctx, dir, wanted.output)
	if err != nil {
		return nil, err
	}
	out, err := source.plan(wanted)
	if err != nil {
		return nil, err
	}
	if err := source.mayReplace(before, wanted.typeName); err != nil {
		return nil, err
	}
	text, err := out.render()
	if err != nil {
		return nil, err
	}
	return out.note, write(dir, wanted.output, text)
}

// plan determines what to write for a type, or returns all diagnostics.
func (s *sources) plan(wanted request) (*output, error) {
	if closed := s.enumType(wanted.typeName); closed != nil {
		return s.planEnum(closed, wanted)
	}
	if union, declared, err := s.unionType(wanted.typeName); err != nil {
		return nil, diagnostic{s.position(union.Pos()), wanted.typeName + ": " + err.Error()}
	} else if union != nil {
		return s.planUnion(union, declared, wanted)
	}
	found, err := s.api(wanted.typeName)
	if err != nil {
		return nil, err
	}
	return plan(s, found, wanted)
}
