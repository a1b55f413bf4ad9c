package restmap

import (
	"strings"
	"unicode"
)

// Kebab returns a Go name in lower case, its words joined by hyphens:
//
//	Add → add    DefaultQueue → default-queue    HTTPStatus → http-status    UserIDs → user-ids
func Kebab(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if r == '_' {
			r = '-'
		} else if startsWord(runes, i) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// startsWord reports whether a word starts at a capital letter within a name: after a small letter or a digit, or at
// the last letter of an abbreviation. The small s of a plural belongs to its abbreviation.
func startsWord(name []rune, i int) bool {
	if i == 0 || !unicode.IsUpper(name[i]) || name[i-1] == '_' {
		return false
	}
	if !unicode.IsUpper(name[i-1]) {
		return true
	}
	after := name[i+1:]
	plural := len(after) > 0 && after[0] == 's' && (len(after) == 1 || !unicode.IsLower(after[1]))
	return len(after) > 0 && unicode.IsLower(after[0]) && !plural
}
