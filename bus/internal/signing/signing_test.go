package signing_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/internal/signing"
)

// TestKey_Files writes keys of both kinds to files, reads them, and has a verifier accept what they sign.
func TestKey_Files(t *testing.T) {
	t.Parallel()
	file := func(name string) string { return filepath.Join(t.TempDir(), name) }
	first, err := signing.New("orders.example")
	require.NoError(t, err)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	text, err := json.Marshal(jose.JSONWebKey{Key: curve, KeyID: "orders.example/2"})
	require.NoError(t, err)
	second, err := signing.Parse(text)
	require.NoError(t, err)
	private, public := file("private"), file("public")
	require.NoError(t, signing.WritePrivate(private, first, second))
	require.ErrorIs(t, signing.WritePrivate(private, first), fs.ErrExist)
	require.NoError(t, signing.AddToKeySet(public, first))
	require.NoError(t, signing.AddToKeySet(public, second))
	require.ErrorContains(t, signing.AddToKeySet(public, second), "it has the key \"orders.example/2\" already")
	text, err = os.ReadFile(private)
	require.NoError(t, err)
	read, err := signing.ParseAll(text)
	require.NoError(t, err)
	require.Len(t, read, 2)
	var by []string
	check := func(keyID string, _ claims.Claims) error {
		by = append(by, keyID)
		return nil
	}
	verifier, err := claims.Open(t.Context(), claims.Config{KeySet: public, Check: check})
	require.NoError(t, err)
	defer verifier.Close()
	for _, key := range read {
		token, err := key.Sign(claims.Claims{"exp": time.Now().Add(time.Hour).Unix()})
		require.NoError(t, err)
		for range 2 { // the second time it is remembered
			_, err = verifier.Verify(t.Context(), token)
			require.NoError(t, err)
		}
	}
	assert.Equal(t, []string{"orders.example", "orders.example/2"}, by)
}

func TestParse_Refuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "[]", "{}", `{"keys":[{}]}`, `{"kty":"oct","k":"AA"}`, `{"kty":"OKP","crv":"X448"}`,
		`{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`} {
		_, err := signing.ParseAll([]byte(text))
		assert.ErrorContains(t, err, "parse a key: ", text)
	}
	broken := filepath.Join(t.TempDir(), "broken")
	require.NoError(t, os.WriteFile(broken, []byte(`{"keys":{}}`), 0o600))
	key, err := signing.New("")
	require.NoError(t, err)
	assert.ErrorContains(t, signing.AddToKeySet(broken, key), "not a JSON Web Key Set")
}
