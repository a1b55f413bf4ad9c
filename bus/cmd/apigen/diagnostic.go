package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// diagnostic is one error and its position.
type diagnostic struct {
	at   token.Position // the zero value is no particular place
	text string
}

// Error returns the diagnostic as one line, "calculator.go:12: method Add: …".
func (f diagnostic) Error() string {
	switch {
	case f.at.Filename == "":
		return f.text
	case f.at.Line == 0:
		return fmt.Sprintf("%s: %s", f.at.Filename, f.text)
	}
	return fmt.Sprintf("%s:%d: %s", f.at.Filename, f.at.Line, f.text)
}

// joined joins all diagnostics in the order of the source, without duplicates, to one error; nil if there are none.
func joined(diagnostics []diagnostic) error {
	slices.SortStableFunc(diagnostics, func(a, b diagnostic) int {
		return cmp.Or(strings.Compare(a.at.Filename, b.at.Filename), cmp.Compare(a.at.Offset, b.at.Offset))
	})
	texts := make(map[string]bool)
	var errs []error
	for _, f := range diagnostics {
		if !texts[f.Error()] {
			texts[f.Error()] = true
			errs = append(errs, f)
		}
	}
	return errors.Join(errs...)
}
