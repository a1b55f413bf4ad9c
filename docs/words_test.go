package docs_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
)

const (
	usualWords    = 650
	decisionWords = 350
	recipeWords   = 450
	allWords      = 56_360
)

// wordBudgets are the pages that may be longer than usual: references, and the two that are read from start to end.
var wordBudgets = map[string]int{
	"README.md":                       900,
	"CHANGELOG.md":                    1_147,
	"benchmarks/README.md":            3_800,
	"benchmarks/faults.md":            840,
	"benchmarks/upgrade.md":           670,
	"docs/ARCHITECTURE.md":            1_719,
	"docs/reference/command.md":       1_863,
	"docs/understand/comparison.md":   1050,
	"docs/reference/configuration.md": 3_286,
	"docs/reference/errors.md":        900,
	"docs/guides/size.md":             800,
	"docs/guides/events.md":           1615,
	"docs/model/README.md":            1_035,
	"docs/reference/limits.md":        1_307,
	"docs/guides/operations.md":       1000,
	"docs/understand/promises.md":     909,
	"docs/guides/service.md":          1_570,
	"docs/guides/types.md":            800,
	"docs/reference/telemetry.md":     1300,
	"docs/understand/threats.md":      1625,
	"docs/learn/tutorial.md":          1600,
	"docs/decisions/README.md":        492,
	"docs/reference/wire.md":          4_355,
	"docs/guides/claims.md":           745,
	"docs/guides/call.md":             700,
	"docs/guides/permissions.md":      700,
	"docs/guides/portal.md":           1_120,
}

// TestWords holds each page to a number of words, code and tables included and pictures left out, so that pages do not
// grow back unseen. A page that needs more gets a row, and another page has to give.
func TestWords(t *testing.T) {
	t.Parallel()
	all := 0
	for _, file := range tree(t) {
		if path.Ext(file) != ".md" || strings.Contains("/"+file, "/testdata/") {
			continue
		}
		words := countWords(readFile(t, file))
		all += words
		assert.LessOrEqual(t, words, wordBudget(file), file)
	}
	assert.LessOrEqual(t, all, allWords, "all pages together")
}

func wordBudget(file string) int {
	budget, listed := wordBudgets[file]
	switch {
	case listed:
		return budget
	case strings.HasPrefix(file, "docs/decisions/"):
		return decisionWords
	case strings.HasPrefix(file, "docs/recipes/"):
		return recipeWords
	}
	return usualWords
}

var picture = regexp.MustCompile("(?s)```mermaid\n.*?```")

// countWords counts what has a letter or a digit, outside of pictures: the bars of tables are no words.
func countWords(text string) int {
	words := 0
	text = picture.ReplaceAllString(text, "")
	for word := range strings.FieldsSeq(text) {
		if strings.IndexFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0 {
			words++
		}
	}
	return words
}
