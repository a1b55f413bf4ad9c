// Package claimstest makes keys and tokens for tests and experiments. Tokens for real callers come from an identity
// provider.
//
//	key, err := claimstest.NewKey()
//	…
//	err = claimstest.WriteKeySet("keys.json", key) // BUS_JWKS=keys.json
//	…
//	token, err := key.Sign(claims.Claims{"roles": []string{"admin"}, "exp": time.Now().Add(time.Hour).Unix()})
package claimstest

import (
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/internal/signing"
)

// Key signs tokens, with Ed25519. It is safe for concurrent use.
type Key struct{ key *signing.Key }

// NewKey returns a new key. Its key ID follows from its public half.
func NewKey() (*Key, error) { return keyOf(signing.New("")) }

// ParseKey reads what [Key.Private] has written.
func ParseKey(text []byte) (*Key, error) { return keyOf(signing.Parse(text)) }

func keyOf(key *signing.Key, err error) (*Key, error) {
	if err != nil {
		return nil, err
	}
	return &Key{key}, nil
}

// ID returns the key ID, the kid of the tokens that the key signs.
func (k *Key) ID() string { return k.key.ID() }

// Private returns the key as a private JSON Web Key. It can sign: only its owner may read a file of it.
func (k *Key) Private() ([]byte, error) { return k.key.Private() }

// Sign returns a token with these claims and no others, so that bad tokens can be made too. A good one has exp, in
// seconds since 1970.
func (k *Key) Sign(claims claims.Claims) (string, error) { return k.key.Sign(claims) }

// KeySet returns the public halves of the keys as a JSON Web Key Set.
func KeySet(keys ...*Key) ([]byte, error) { return signing.KeySet(signers(keys)...) }

// WriteKeySet writes what KeySet returns to a file, all at once: who reads it meanwhile sees the old set or the new.
func WriteKeySet(path string, keys ...*Key) error {
	return signing.WriteKeySet(path, signers(keys)...)
}

func signers(keys []*Key) []*signing.Key {
	all := make([]*signing.Key, len(keys))
	for i, each := range keys {
		all[i] = each.key
	}
	return all
}
