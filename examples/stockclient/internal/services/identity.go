package services

import (
	"context"
	"path/filepath"
	"time"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
)

// Identity makes tokens, and verifies them.
type Identity struct {
	*claims.Verifier

	key *claimstest.Key
}

// NewIdentity makes a key, whose public half it keeps in a directory.
func NewIdentity(ctx context.Context, directory string) (*Identity, error) {
	key, err := claimstest.NewKey()
	if err != nil {
		return nil, err
	}
	keySet := filepath.Join(directory, "keys.json")
	if err := claimstest.WriteKeySet(keySet, key); err != nil {
		return nil, err
	}
	verifier, err := claims.Open(ctx, claims.Config{KeySet: keySet})
	if err != nil {
		return nil, err
	}
	return &Identity{verifier, key}, nil
}

// Head returns a token of the head of human resources, good for an hour.
func (i *Identity) Head() (token string, err error) {
	return i.key.Sign(claims.Claims{"roles": []string{"hr"}, "level": 3, "exp": time.Now().Add(time.Hour).Unix()})
}
