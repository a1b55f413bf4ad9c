package claims_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus/claims"
)

// inBubble opens a verifier whose keys come from an issuer without a network, on a clock of its own.
func inBubble(t *testing.T, text string, test func(t *testing.T, verifier *claims.Verifier, server *issuer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := &issuer{text: text}
		verifier := open(t, claims.Config{KeySet: keySetURL, HTTPClient: server.client()})
		defer verifier.Close()
		test(t, verifier, server)
	})
}

// TestUnknownKey holds that the verifier reads the key set again for a token with an unknown key ID, once for all, and
// not too often.
func TestUnknownKey(t *testing.T) {
	t.Parallel()
	old, fresh := ed25519Key(t, "old"), ed25519Key(t, "fresh")
	inBubble(t, keySet(t, old), func(t *testing.T, verifier *claims.Verifier, server *issuer) {
		refuses(t, verifier, fresh.good(t), "signed with a key (kid, alg) that is not in the key set")
		if server.count() != 1 {
			t.Errorf("%d requests at once", server.count())
		}
		server.set(keySet(t, old, fresh), 0)
		server.delay = time.Second
		time.Sleep(30 * time.Second)
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() { accepts(t, verifier, fresh.good(t)) })
		}
		callers.Wait()
		for range 100 {
			refuses(t, verifier, ed25519Key(t, "evil").good(t), "that is not in the key set")
		}
		accepts(t, verifier, old.good(t))
		if server.count() != 2 {
			t.Errorf("%d requests, want 2", server.count())
		}
	})
}

// TestRotation holds that old and new keys go together, and that a removed one is refused within five minutes, even
// for a token that has been accepted.
func TestRotation(t *testing.T) {
	t.Parallel()
	old, fresh := ed25519Key(t, "old"), ed25519Key(t, "fresh")
	inBubble(t, keySet(t, old), func(t *testing.T, verifier *claims.Verifier, server *issuer) {
		token := old.good(t)
		accepts(t, verifier, token)
		server.set(keySet(t, old, fresh), 0)
		time.Sleep(5 * time.Minute)
		accepts(t, verifier, fresh.good(t))
		accepts(t, verifier, token)

		time.Sleep(400 * time.Second) // 20 s before the next refresh: this one on demand stands in for it
		refuses(t, verifier, ed25519Key(t, "evil").good(t), "that is not in the key set")
		server.set(keySet(t, fresh), 0)
		time.Sleep(5 * time.Minute)
		refuses(t, verifier, token, "that is not in the key set")
		accepts(t, verifier, fresh.good(t))

		server.set(`{"keys":[]}`, 0)
		time.Sleep(5 * time.Minute)
		refuses(t, verifier, fresh.good(t), "that is not in the key set")
	})
}

// TestIssuerAway holds that keys outlive their issuer, and that it is asked again soon.
func TestIssuerAway(t *testing.T) {
	t.Parallel()
	old, fresh := ed25519Key(t, "old"), ed25519Key(t, "fresh")
	inBubble(t, keySet(t, old), func(t *testing.T, verifier *claims.Verifier, server *issuer) {
		for _, status := range []int{-1, 503, 302} {
			server.set(keySet(t, fresh), status)
			time.Sleep(time.Hour)
			accepts(t, verifier, old.good(t))
			refuses(t, verifier, fresh.good(t), "that is not in the key set")
		}
		server.set("<html>", 0)
		time.Sleep(time.Hour)
		accepts(t, verifier, old.good(t))

		server.set(keySet(t, fresh), 0)
		time.Sleep(31 * time.Second)
		refuses(t, verifier, old.good(t), "that is not in the key set") // a known key: it has nothing read again
		accepts(t, verifier, fresh.good(t))
	})
}

// TestRefresh_PrivateKey holds that a private key is not used even when it is published late, and neither is its public
// half.
func TestRefresh_PrivateKey(t *testing.T) {
	t.Parallel()
	leaked, other := ed25519Key(t, "leaked"), ed25519Key(t, "other")
	set := keySet(t, leaked, other)
	inBubble(t, set, func(t *testing.T, verifier *claims.Verifier, server *issuer) {
		server.set(strings.Replace(set, `"kid":"leaked"`, `"kid":"leaked","d":"AA"`, 1), 0)
		time.Sleep(5 * time.Minute)
		refuses(t, verifier, leaked.good(t), "that is not in the key set")
		accepts(t, verifier, other.good(t))
	})
}

// TestColdStart holds that without keys no token is accepted, until there are keys.
func TestColdStart(t *testing.T) {
	t.Parallel()
	key := ed25519Key(t, "k1")
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		server := &issuer{text: keySet(t, key), delay: time.Hour}
		verifier := open(t, claims.Config{KeySet: keySetURL, HTTPClient: server.client(), Logger: zerolog.New(&log)})
		defer verifier.Close()
		const notYet = "it cannot be verified yet, because no key set has been read; try again in a minute"
		refuses(t, verifier, key.good(t), notYet)
		if !strings.Contains(log.String(), "key set https://id.example/jwks.json: cannot be reached: ") {
			t.Errorf("log %s", &log)
		}
		server.mu.Lock()
		server.delay = 5 * time.Second
		server.mu.Unlock()
		time.Sleep(20 * time.Second)
		accepts(t, verifier, key.good(t)) // waits for the attempt under way
	})
}

// TestRefresh_SecretsOfAURL holds that the log shows neither the password nor the query of a URL, be it that of the key
// set or one to which that redirects.
func TestRefresh_SecretsOfAURL(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		server *issuer
		keySet string
		want   string
	}{
		{&issuer{status: -1}, "https://me:secret@id.example/jwks.json?token=secret#secret",
			"key set https://me:xxxxx@id.example/jwks.json: cannot be reached: unexpected EOF"},
		{&issuer{status: 302, location: "http://me:secret@id.example/?token=secret"}, keySetURL,
			"key set " + keySetURL + ": cannot be reached: redirected from https to http"},
		{&issuer{status: 302, location: "https://me:secret@id.example/?token=secret"}, keySetURL,
			"key set " + keySetURL + ": cannot be reached: too many redirections"},
	} {
		var log bytes.Buffer
		open(t, claims.Config{KeySet: test.keySet, HTTPClient: test.server.client(), Logger: zerolog.New(&log)}).Close()
		assert.Contains(t, log.String(), `"`+test.want+`"`, "%s, %s", &log, test.want)
		assert.NotContains(t, log.String(), "secret", "%s, %s", &log, test.want)
	}
}

// TestPatience holds that a caller waits for a key no longer than its context.
func TestPatience(t *testing.T) {
	t.Parallel()
	old, fresh := ed25519Key(t, "old"), ed25519Key(t, "fresh")
	inBubble(t, keySet(t, old), func(t *testing.T, verifier *claims.Verifier, server *issuer) {
		time.Sleep(time.Minute)
		server.set(keySet(t, fresh), 0)
		server.mu.Lock()
		server.delay = 5 * time.Second
		server.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := verifier.Verify(ctx, fresh.good(t))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.EqualError(t, err, "token: the request ended before its key (kid) was fetched")
		accepts(t, verifier, fresh.good(t)) // the attempt went on
	})
}

// TestOpenCancelled holds that a context ends the wait for the first key set.
func TestOpenCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		server := &issuer{delay: time.Minute}
		_, err := claims.Open(ctx, claims.Config{KeySet: keySetURL, HTTPClient: server.client()})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

// TestClose_WhileFetching holds that Close does not wait for an issuer that does not answer.
func TestClose_WhileFetching(t *testing.T) {
	t.Parallel()
	key := ed25519Key(t, "k1")
	inBubble(t, keySet(t, key), func(t *testing.T, verifier *claims.Verifier, server *issuer) {
		server.mu.Lock()
		server.delay = time.Hour
		server.mu.Unlock()
		time.Sleep(4*time.Minute + time.Second)
		begun := time.Now()
		verifier.Close()
		if waited := time.Since(begun); waited != 0 {
			t.Errorf("waited %v", waited)
		}
		refuses(t, verifier, key.good(t), "the verifier is closed")
	})
}

// TestFileRotation holds that a file is read again, and that one that goes away keeps its keys.
func TestFileRotation(t *testing.T) {
	t.Parallel()
	old, fresh := ed25519Key(t, "old"), ed25519Key(t, "fresh")
	path := file(t, keySet(t, old))
	synctest.Test(t, func(t *testing.T) {
		verifier := open(t, claims.Config{KeySet: path})
		defer verifier.Close()
		must(t, os.WriteFile(path, []byte(keySet(t, fresh)), 0o600))
		time.Sleep(5 * time.Minute)
		refuses(t, verifier, old.good(t), "that is not in the key set")
		accepts(t, verifier, fresh.good(t))
		must(t, os.Remove(path))
		time.Sleep(5 * time.Minute)
		accepts(t, verifier, fresh.good(t))
	})
}

// TestHTTP reads a key set over a real network.
func TestHTTP(t *testing.T) {
	t.Parallel()
	key := ed25519Key(t, "k1")
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/jwks.json", http.StatusFound)
			return
		}
		fmt.Fprint(w, keySet(t, key))
	}))
	t.Cleanup(server.Close)
	accepts(t, open(t, claims.Config{KeySet: server.URL + "/jwks.json", HTTPClient: server.Client()}), key.good(t))
	accepts(t, open(t, claims.Config{KeySet: server.URL + "/moved", HTTPClient: server.Client()}), key.good(t))
}

// TestRefresh_NoRedirectToHTTP holds that a redirection from https to http is not followed.
func TestRefresh_NoRedirectToHTTP(t *testing.T) {
	t.Parallel()
	key := ed25519Key(t, "k1")
	var log bytes.Buffer
	server := &issuer{text: keySet(t, key), status: 302}
	verifier := open(t, claims.Config{KeySet: keySetURL, HTTPClient: server.client(), Logger: zerolog.New(&log)})
	refuses(t, verifier, key.good(t), "it cannot be verified yet, because no key set has been read")
	assert.Equal(t, 1, server.count(), &log)
	assert.Contains(t, log.String(), "redirected from https to http", &log)
}
