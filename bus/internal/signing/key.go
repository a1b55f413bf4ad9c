// Package signing makes and reads private keys, and signs JSON Web Tokens with them: the proofs of services, and tokens
// for tests. Package bus/claims verifies what it signs.
package signing

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/go-jose/go-jose/v4"
)

// Key is a private key that signs tokens. It is safe for concurrent use.
type Key struct {
	private jose.JSONWebKey
	signer  jose.Signer
}

// New returns a new Ed25519 key with a key ID; "" stands for one that follows from its public half.
func New(id string) (*Key, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	key := jose.JSONWebKey{Key: private, KeyID: id, Algorithm: string(jose.EdDSA), Use: "sig"}
	if id == "" {
		thumbprint, err := key.Thumbprint(crypto.SHA256)
		if err != nil {
			return nil, fmt.Errorf("make a key: %w", err)
		}
		key.KeyID = base64.RawURLEncoding.EncodeToString(thumbprint)
	}
	return withSigner(key)
}

// Parse reads a private JSON Web Key: Ed25519, or P-256.
func Parse(text []byte) (*Key, error) {
	var key jose.JSONWebKey
	if err := json.Unmarshal(text, &key); err != nil {
		return nil, fmt.Errorf("parse a key: %w", err)
	}
	return withSigner(key)
}

// ParseAll reads a private JSON Web Key, or a set of them.
func ParseAll(text []byte) ([]*Key, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("parse a key: %w", err)
	}
	if set.Keys == nil {
		set.Keys = []json.RawMessage{text}
	}
	keys := make([]*Key, 0, len(set.Keys))
	for _, each := range set.Keys {
		key, err := Parse(each)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func withSigner(key jose.JSONWebKey) (*Key, error) {
	algorithm, err := algorithmOf(key.Key)
	if err != nil {
		return nil, fmt.Errorf("parse a key: %w", err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
	if err != nil {
		return nil, fmt.Errorf("use a key: %w", err)
	}
	return &Key{key, signer}, nil
}

var errNotPrivate = errors.New("not a private Ed25519 or P-256 key")

func algorithmOf(key any) (jose.SignatureAlgorithm, error) {
	switch key := key.(type) {
	case ed25519.PrivateKey:
		return jose.EdDSA, nil
	case *ecdsa.PrivateKey:
		if key.Curve == elliptic.P256() {
			return jose.ES256, nil
		}
	}
	return "", errNotPrivate
}

// CheckName returns an error unless the ID of a service's key, which is a host, or a host, a slash and a name, has a
// proper name.
func CheckName(id string) error {
	const longest = 128
	_, name, isNamed := strings.Cut(id, "/")
	if isNamed && (name == "" || len(name) > longest || strings.ContainsFunc(name, unicode.IsControl)) {
		return fmt.Errorf("key ID %.80q: behind the slash it needs 1 to %d bytes without control characters", id, longest)
	}
	return nil
}

// ID returns the key ID, the kid of the tokens that the key signs.
func (k *Key) ID() string { return k.private.KeyID }

// Private returns the key as a private JSON Web Key. It can sign: only its owner may read a file of it.
func (k *Key) Private() ([]byte, error) { return json.MarshalIndent(k.private, "", "  ") }

// Sign returns a token with this payload, which is an object in JSON.
func (k *Key) Sign(payload any) (string, error) {
	text, err := json.Marshal(payload)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	signed, err := k.signer.Sign(text)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return signed.CompactSerialize()
}
