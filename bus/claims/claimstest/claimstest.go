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
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/go-jose/go-jose/v4"

	"github.com/busline/busline/bus/claims"
)

// Key signs tokens, with Ed25519. It is safe for concurrent use.
type Key struct {
	private jose.JSONWebKey
	signer  jose.Signer
}

// NewKey returns a new key. Its key ID follows from its public half.
func NewKey() (*Key, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	key := jose.JSONWebKey{Key: private, Algorithm: string(jose.EdDSA), Use: "sig"}
	thumbprint, err := key.Thumbprint(crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	key.KeyID = base64.RawURLEncoding.EncodeToString(thumbprint)
	return withSigner(key)
}

// ParseKey reads what [Key.Private] has written.
func ParseKey(text []byte) (*Key, error) {
	var key jose.JSONWebKey
	if err := json.Unmarshal(text, &key); err != nil {
		return nil, fmt.Errorf("parse a key: %w", err)
	}
	if _, ok := key.Key.(ed25519.PrivateKey); !ok {
		return nil, errors.New("parse a key: not a private Ed25519 key; write it with Key.Private")
	}
	return withSigner(key)
}

func withSigner(key jose.JSONWebKey) (*Key, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: key},
		new(jose.SignerOptions).WithType("JWT"))
	if err != nil {
		return nil, fmt.Errorf("use a key: %w", err)
	}
	return &Key{key, signer}, nil
}

// ID returns the key ID, the kid of the tokens that the key signs.
func (k *Key) ID() string { return k.private.KeyID }

// Private returns the key as a private JSON Web Key. It can sign: only its owner may read a file of it.
func (k *Key) Private() ([]byte, error) { return json.MarshalIndent(k.private, "", "  ") }

// Sign returns a token with these claims and no others, so that bad tokens can be made too. A good one has exp, in
// seconds since 1970.
func (k *Key) Sign(claims claims.Claims) (string, error) {
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	signed, err := k.signer.Sign(payload)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return signed.CompactSerialize()
}

// KeySet returns the public halves of the keys as a JSON Web Key Set.
func KeySet(keys ...*Key) ([]byte, error) {
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, key := range keys {
		set.Keys = append(set.Keys, key.private.Public())
	}
	return json.MarshalIndent(set, "", "  ")
}

// WriteKeySet writes what KeySet returns to a file, all at once: who reads it meanwhile sees the old set or the new.
func WriteKeySet(path string, keys ...*Key) error {
	text, err := KeySet(keys...)
	if err != nil {
		return fmt.Errorf("write a key set: %w", err)
	}
	const public = 0o644
	if err := os.WriteFile(path+".new", append(text, '\n'), public); err != nil {
		return fmt.Errorf("write a key set: %w", err)
	}
	return os.Rename(path+".new", path)
}
