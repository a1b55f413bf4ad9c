package main

import (
	"go/token"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/busline/busline/restmap"
)

// scope holds the Go names in use in some scope. A name gets underscores until it is unused; callers of the service do
// not see that.
type scope map[string]bool

func newScope(names ...string) scope {
	s := make(scope)
	for _, name := range names {
		s[name] = true
	}
	return s
}

// free returns an unused name, and marks it as used.
func (s scope) free(name string) string {
	for s[name] || token.IsKeyword(name) {
		name += "_"
	}
	s[name] = true
	return name
}

func isExported(name string) bool { return token.IsExported(name) }

func isBlank(name string) bool { return name == "" || name == "_" }

// fieldName returns the exported field name of an argument or a result: Sum for sum, ID for id, HTTPPort for httpPort.
// A name in a script without capital letters gets one in front.
func fieldName(name string) string {
	name = strings.TrimLeft(name, "_")
	switch rest, isHTTP := strings.CutPrefix(name, "http"); {
	case name == "id" || name == "url":
		return strings.ToUpper(name)
	case isHTTP && !startsLower(rest):
		return "HTTP" + rest
	}
	first, size := utf8.DecodeRuneInString(name)
	if capital := string(unicode.ToUpper(first)) + name[size:]; isExported(capital) {
		return capital
	}
	return "X" + name
}

func startsLower(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLower(first)
}

// unexported returns a name with its first word in lower case: add, httpStatus for HTTPStatus.
func unexported(name string) string {
	word, _, _ := strings.Cut(restmap.Kebab(name), "-")
	runes := []rune(name)
	for i := range min(utf8.RuneCountInString(word), len(runes)) {
		runes[i] = unicode.ToLower(runes[i])
	}
	return string(runes)
}
