package subject

import (
	"crypto/rand"
	"strings"
)

const idLength = 10 // of the instance IDs that NewID makes

// NewID returns a new instance ID: 10 of a-z and 2-7, first a letter, almost 50 bits from crypto/rand.
func NewID() string {
	for {
		id := strings.ToLower(rand.Text()[:idLength])
		if id[0] >= 'a' {
			return id
		}
	}
}
