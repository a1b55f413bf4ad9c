package claimstest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
)

// What it makes is read in the tests of package claims.

func TestRefused(t *testing.T) {
	t.Parallel()
	key, err := claimstest.NewKey()
	require.NoError(t, err)
	for text, reason := range map[string]string{
		"":                           "parse a key: ",
		`{"kty":"oct","k":"AA"}`:     "parse a key: not a private Ed25519 or P-256 key",
		`{"kty":"OKP","crv":"X448"}`: "parse a key: ",
	} {
		_, err := claimstest.ParseKey([]byte(text))
		require.Error(t, err, text)
		assert.True(t, strings.HasPrefix(err.Error(), reason), err.Error())
	}
	_, err = key.Sign(claims.Claims{"x": make(chan int)})
	require.Error(t, err, "a channel")
	assert.True(t, strings.HasPrefix(err.Error(), "sign a token: "), err.Error())
	path := filepath.Join(t.TempDir(), "none", "keys.json")
	err = claimstest.WriteKeySet(path, key)
	require.Error(t, err, "no folder")
	assert.True(t, strings.HasPrefix(err.Error(), "write a key set: "), err.Error())
}
