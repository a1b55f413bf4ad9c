package schema_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/busline/busline/reflectapi/schema"
)

// ecmaPattern is a pattern with texts that ECMA 262 matches, and others that it does not. make npm holds them against
// an engine of it.
type ecmaPattern struct {
	Pattern         string
	Matches, Others []string
}

// TestPattern_ECMA checks texts as readers of the document would.
func TestPattern_ECMA(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/patterns.json")
	if err != nil {
		t.Fatal(err)
	}
	var patterns []ecmaPattern
	if err := json.Unmarshal(text, &patterns); err != nil || len(patterns) == 0 {
		t.Fatal(len(patterns), "patterns:", err)
	}
	for _, test := range patterns {
		matches, err := schema.PatternMatches(test.Pattern)
		if err != nil {
			t.Errorf("%s: %v", test.Pattern, err)
			continue
		}
		for _, text := range test.Matches {
			if !matches(text) {
				t.Errorf("%s: does not match %q", test.Pattern, text)
			}
		}
		for _, text := range test.Others {
			if matches(text) {
				t.Errorf("%s: matches %q", test.Pattern, text)
			}
		}
	}
}

// TestPattern_Sets checks each character against the sets that differ.
func TestPattern_Sets(t *testing.T) {
	t.Parallel()
	space, err := schema.PatternMatches(`^\s$`)
	if err != nil {
		t.Fatal(err)
	}
	other, err := schema.PatternMatches(`^[\S]$`)
	if err != nil {
		t.Fatal(err)
	}
	const spaces = "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
	for r := range rune(0x110000) {
		text := string(r)
		if is := strings.ContainsRune(spaces, r); space(text) != is || other(text) == is {
			t.Errorf("%q: space %t, other %t", text, space(text), other(text))
		}
	}
}

func TestCheckPattern(t *testing.T) {
	t.Parallel()
	for documented, want := range map[string]string{
		`^a\z`:         `has \z, which does not mean that to its readers: write $`,
		`\Aa`:          `has \A, which does not mean that to its readers: write ^`,
		`\Qa.b\E`:      `has \Q, which does not mean that to its readers: write a \ before each of ^$\.*+?()[]{}|/`,
		`\C`:           `has \C, which does not mean that to its readers: write [^]`,
		`[\a]`:         `has \a, which does not mean that to its readers: write \x07`,
		`\012`:         `has \0, which does not mean that to its readers: write \x00`,
		`\x{41}`:       `has \x{, which only Go knows: write \u{`,
		`\u41`:         `has \u without the digits of a character: write \x41, \u0041 or \u{41}`,
		`\u{110000}`:   `has \u without the digits`,
		`\uD83D`:       `has half of a surrogate pair, which no text has: write both halves`,
		`(?i)a`:        `has the flags (?i), which only Go knows: write what they stand for, such as [Aa] for (?i:a)`,
		`(?s-i:.)`:     `has the flags (?s-i:, which only Go knows`,
		`(?P<n>a)`:     `has (?P, which only Go knows: write (?<name>…), or (…)`,
		`[[:^alpha:]]`: `has [:^alpha:], which only Go knows: write the characters, such as A-Za-z`,
		`\pL`:          `has \p without a property in braces: write \p{L}, or \P{L} for all others`,
		`[\P{^L}]`:     `has \P without a property in braces`,
		`\p{Greek}`:    `has \p{Greek}, which only Go knows: write \p{Script=Greek}`,
		`\P{Emoji}`:    `has \P{Emoji}, which is no general category and no script of Unicode that Go knows`,
		`a(?=b)`:       `looks ahead or behind, which takes more than linear time: check that in the method`,
		`(?<!b)a`:      `looks ahead or behind`,
		`(a)\1`:        `has \1, which refers to a group and takes more than linear time: check that in the method`,
		`(?<n>a)\k<n>`: `has \k, which refers to a group`,
		`\d+\-\d+`:     `has \-, which its readers refuse: write -`,
		`a\@b`:         `has \@, which its readers refuse: write @`,
		`\y`:           `has \y, which no escape is written as: write y, or \\y`,
		`\`:            `ends with a \: write \\`,
		`a{,3}`:        `has a { that is no quantifier: write \{`,
		`a}`:           `has a } that closes nothing: write \}`,
		`a]`:           `has a ] that closes nothing: write \]`,
		`[a`:           `has a [ that is not closed`,
		`[\w-.]`:       `has a range that begins or ends with a set: write \- for the character -`,
		`[+-\s]`:       `has a range that begins or ends with a set`,
		`^*a`:          `repeats an assertion with *: leave that out`,
		`\b{2}`:        `repeats an assertion with {: leave that out`,
		`[z-a]`:        `is not a regular expression that can be checked: invalid character class range`,
		`(a`:           `is not a regular expression that can be checked: missing closing )`,
		`*a`:           `is not a regular expression that can be checked: missing argument to repetition operator`,
		`a{2,1}`:       `is not a regular expression that can be checked: invalid repeat count`,
		`a{1001}`:      `is not a regular expression that can be checked: invalid repeat count`,
	} {
		if err := schema.CheckPattern(documented); !strings.HasPrefix(errorText(err), want) {
			t.Errorf("%s\ngot:  %v\nwant: %s", documented, err, want)
		}
	}
}
