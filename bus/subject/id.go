package subject

import (
	"crypto/rand"
	"strings"
)

// NewID returns a new instance ID: 10 of a-z and 2-7, first a letter, almost 50 bits from crypto/rand.
func NewID() string {
	const length = 10
	for {
		id := strings.ToLower(rand.Text()[:length])
		if id[0] >= 'a' {
			return id
		}
	}
}
