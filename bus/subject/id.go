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
