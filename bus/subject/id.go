package subject

import (
	"crypto/rand"
	"strings"
)

const idLength = 10 // length of the instance IDs that NewID returns

// NewID returns a new instance ID: 10 characters of a-z and 2-7 that begin with a letter, with almost 50 bits from
// crypto/rand.
func NewID() string {
	for {
		id := strings.ToLower(rand.Text()[:idLength])
		if id[0] >= 'a' {
			return id
		}
	}
}

// Joins reports whether text is first, a dot and second, as an instance is its ID and its host.
func Joins(text, first, second string) bool {
	return len(text) == len(first)+1+len(second) && text[:len(first)] == first && text[len(first)] == '.' &&
		text[len(first)+1:] == second
}
