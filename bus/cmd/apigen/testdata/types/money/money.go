// Package money is another package.
package money

import "math/big"

type (
	// Amount writes its own JSON.
	Amount struct{ value *big.Float }
	// Currency is a key.
	Currency struct{ code [3]byte }
	// List is generic and leads back to itself.
	List[T any] struct {
		Value T
		Next  map[string]List[T]
	}
	// Other is an alias.
	Other = map[Currency]*Amount
)

// MarshalJSON writes it.
func (*Amount) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

// MarshalText writes it.
func (c Currency) MarshalText() ([]byte, error) { return c.code[:], nil }
