// Package bench has a service to measure. docs/recipes/bench.md explains it.
package bench

import "strings"

// Words counts words.
type Words struct{}

// Count returns the number of words in a text.
func (Words) Count(text string) (words int) { return len(strings.Fields(text)) }
