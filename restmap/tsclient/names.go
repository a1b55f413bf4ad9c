package tsclient

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/busline/busline/restmap"
)

// lowerCamel returns a name as TypeScript has those of functions: Add becomes add, HTTPStatus httpStatus, GET_files
// getFiles.
func lowerCamel(name string) string {
	words := wordsOf(name)
	if len(words) == 0 {
		return "_"
	}
	first, _, _ := strings.Cut(restmap.Kebab(words[0]), "-")
	words[0] = first + words[0][min(len(first), len(words[0])):]
	for i := 1; i < len(words); i++ {
		words[i] = capitalized(words[i])
	}
	return identifier(strings.Join(words, ""))
}

// upperCamel returns a name as TypeScript has those of types.
func upperCamel(name string) string {
	words := wordsOf(name)
	for i := range words {
		words[i] = capitalized(words[i])
	}
	return identifier(strings.Join(words, ""))
}

func wordsOf(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func capitalized(word string) string {
	first, size := utf8.DecodeRuneInString(word)
	return string(unicode.ToUpper(first)) + word[size:]
}

// identifier returns letters and digits as a name, which does not begin with a digit.
func identifier(name string) string {
	if first, _ := utf8.DecodeRuneInString(name); name == "" || unicode.IsDigit(first) {
		return "_" + name
	}
	return name
}

// names are those that are taken.
type names map[string]bool

// claim takes a name that is free: the wanted one, otherwise with a number from 2 appended.
func (n names) claim(wanted string) string {
	name := wanted
	for i := 2; n[name]; i++ {
		name = wanted + strconv.Itoa(i)
	}
	n[name] = true
	return name
}

// distinct chooses a name for each of several things, of which each has candidates, the best first. All that would
// share a name get their next one, so that no order decides. A name in reserved is shared by nature. What shares its
// last candidate gets a number.
func distinct(candidates [][]string, reserved names) []string {
	at := make([]int, len(candidates))
	for grown := true; grown; {
		count := make(map[string]int)
		for i, each := range candidates {
			count[each[at[i]]]++
		}
		grown = false
		for i, each := range candidates {
			if name := each[at[i]]; (count[name] > 1 || reserved[name]) && at[i]+1 < len(each) {
				at[i]++
				grown = true
			}
		}
	}
	taken := make(names)
	for name := range reserved {
		taken[name] = true
	}
	chosen := make([]string, len(candidates))
	for i, each := range candidates {
		chosen[i] = taken.claim(each[at[i]])
	}
	return chosen
}

// reservedTypes are the names that the shared part exports or has at its top, and globals that it uses.
func reservedTypes() names {
	reserved := make(names)
	for _, source := range []string{runtimeSource, jsonSource} {
		for line := range strings.Lines(source) {
			line = strings.TrimPrefix(strings.TrimPrefix(line, "export "), "async ")
			declares, name, _ := strings.Cut(line, " ")
			if slices.Contains([]string{"class", "const", "function", "function*", "interface", "type"}, declares) {
				reserved[wordsOf(name)[0]] = true
			}
		}
	}
	for _, name := range []string{
		"Bus", "connect", "shapes", "int64", "AbortController", "AbortSignal", "Array", "AsyncGenerator", "BigInt",
		"DOMException", "Date", "Error", "Infinity", "JSON", "Math", "NonNullable", "Number", "Object", "Promise",
		"RangeError", "ReadableStream", "Record", "RequestInit", "Response", "ReturnType", "Set", "String", "TextDecoder",
		"URLSearchParams",
	} {
		reserved[name] = true
	}
	return reserved
}

// key returns a name as that of a member: as it is, or quoted. new would begin the signature of a constructor.
func key(name string) string {
	for i, r := range name {
		if r != '_' && r != '$' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return quote(name)
		}
	}
	if name == "" || name == "new" {
		return quote(name)
	}
	return name
}

// literalKey is key for a member of an object that has a value, where __proto__ is not like other names.
func literalKey(name string) string {
	if name == "__proto__" {
		return "['__proto__']"
	}
	return key(name)
}

// quote returns a text as a literal.
func quote(text string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) //nolint:errchkjson // neither a text nor a buffer fails
	quoted := strings.TrimSuffix(out.String(), "\n")
	inner := strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	return "'" + strings.ReplaceAll(inner, "'", `\'`) + "'"
}

const deprecation = "Deprecated: "

// comment returns a text as a comment above what it describes, nothing for none. Lines that begin with @ are tags.
func comment(indent string, paragraphs ...string) string {
	var lines []string
	for _, paragraph := range paragraphs {
		for part := range strings.SplitSeq(strings.TrimSpace(paragraph), "\n\n") {
			if reason, isDeprecated := strings.CutPrefix(part, deprecation); isDeprecated {
				part = "@deprecated " + reason
			}
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			if len(lines) > 0 && !strings.HasPrefix(part, "@") {
				lines = append(lines, "")
			}
			lines = append(lines, strings.Split(part, "\n")...)
		}
	}
	for i := range lines {
		line := strings.Map(func(r rune) rune {
			if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
				return ' '
			}
			return r
		}, lines[i])
		lines[i] = strings.TrimRight(strings.ReplaceAll(line, "*/", `*\/`), " ")
	}
	switch len(lines) {
	case 0:
		return ""
	case 1:
		return indent + "/** " + lines[0] + " */\n"
	}
	var out strings.Builder
	out.WriteString(indent + "/**\n")
	for _, line := range lines {
		out.WriteString(strings.TrimRight(indent+" * "+line, " ") + "\n")
	}
	out.WriteString(indent + " */\n")
	return out.String()
}
