package claims

import (
	"context"
	"crypto/sha256"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// Config says which tokens a [Verifier] accepts.
type Config struct {
	// KeySet is where the JSON Web Key Set is: the path of a file or an http or https URL. It is required.
	KeySet string
	// Issuer is what iss has to be. Default: anything.
	Issuer string
	// Audience is what aud has to be or hold. Default: anything.
	Audience string
	// Check returns an error for claims that are not accepted from the key of this ID, which has signed them. It is called
	// before a token is remembered, and has to be safe for concurrent use. Default: all are accepted.
	Check func(keyID string, said Claims) error
	// HTTPClient fetches a KeySet that is a URL. It follows no redirection from https to http, unless it has a
	// CheckRedirect of its own. Default: http.DefaultClient.
	HTTPClient *http.Client
	// Logger gets a line when the keys change or cannot be read. Default: none.
	Logger zerolog.Logger
}

// Verifier accepts tokens that a key of its key set has signed and that are valid now. It keeps the key set fresh until
// it is closed. It is safe for concurrent use. One that was not opened, nil or the zero value, accepts no token.
type Verifier struct {
	config  Config
	source  source
	keys    atomic.Pointer[keySet] // nil before the first key set and after Close
	refresh jwksRefresher
}

// Open reads the key set and returns a verifier. A file that does not exist, text that is not a key set, and a set
// without a usable key or with a private key are errors. A URL that cannot be reached is not: no token is accepted
// until it can be. ctx bounds the first attempt to reach it. Close the verifier when it is no longer needed.
func Open(ctx context.Context, config Config) (*Verifier, error) {
	source, err := newSource(config.KeySet, config.HTTPClient)
	if err != nil {
		return nil, err
	}
	v := &Verifier{config: config, source: source}
	if err := v.firstKeys(ctx); err != nil {
		return nil, err
	}
	v.startRefresh()
	return v, nil
}

// Verify returns the claims of a token. An error is an [*Error], whose detail may be shown to the caller: the token is
// malformed, longer than 8192 bytes, not signed by a key of the set, not yet or no longer valid (with 30 s of leeway),
// of another issuer or for another audience; or there are no keys.
//
// For a key ID that is not in the set it may wait, at most once in 30 s, until the key set has been read again or ctx
// ends. An accepted token is remembered, so that verifying it again costs little.
func (v *Verifier) Verify(ctx context.Context, token string) (Claims, error) {
	switch {
	case !v.opened():
		return nil, refuse("token: no token is accepted here, since no key set is configured")
	case token == "":
		return nil, refuse("token: missing")
	case len(token) > maxTokenBytes:
		return nil, refuse("token: longer than %d bytes", maxTokenBytes)
	}
	hash := hashOf(token)
	if keys := v.keys.Load(); keys != nil {
		if claims := keys.accepted.get(hash, time.Now()); claims != nil {
			return claims, nil
		}
	}
	return v.verify(ctx, token, hash)
}

// hashOf does not allocate memory for a token of usual length.
func hashOf(token string) [sha256.Size]byte {
	var room [1 << 10]byte
	return sha256.Sum256(append(room[:0], token...))
}

// verify does it the long way.
func (v *Verifier) verify(ctx context.Context, token string, hash [sha256.Size]byte) (Claims, error) {
	signed, err := parseToken(token)
	if err != nil {
		return nil, err
	}
	keys, candidates, err := v.keysFor(ctx, signed.Signatures[0].Protected)
	if err != nil {
		return nil, err
	}
	payload, key, err := checkSignature(signed, candidates)
	if err != nil {
		return nil, err
	}
	claims, err := parse(payload)
	if err != nil { // which may quote the payload
		return nil, refuse("token: its payload is not one strictly valid JSON object")
	}
	expiry, err := v.check(claims, key.KeyID)
	if err != nil {
		return nil, err
	}
	keys.accepted.put(hash, len(token), accepted{claims, expiry})
	return claims, nil
}

// check checks the claims that every token has or may have, and which key has signed them.
func (v *Verifier) check(claims Claims, keyID string) (expiry time.Time, err error) {
	expiry, err = checkTimes(claims, time.Now())
	if err == nil {
		err = checkIssuer(claims, v.config.Issuer)
	}
	if err == nil {
		err = checkAudience(claims, v.config.Audience)
	}
	if err == nil && v.config.Check != nil {
		if why := v.config.Check(keyID, claims); why != nil {
			err = refuse("token: %s", why)
		}
	}
	return expiry, err
}

// Close stops the verifier and waits until none of its goroutines runs. No token is accepted afterwards. It may be
// called again, and on a verifier that was not opened.
func (v *Verifier) Close() {
	if !v.opened() {
		return
	}
	v.refresh.stop()
	v.keys.Store(nil)
}

func (v *Verifier) opened() bool { return v != nil && v.source != nil }

// Limits of half a cache. When one of them is reached the older half is forgotten.
const (
	maxCachedTokens = 4096
	maxCachedBytes  = 4 << 20 // of the tokens; their claims take a few times as much
)

// cache remembers accepted tokens, by their hash: a token itself is a secret that need not be kept. It is safe for
// concurrent use.
type cache struct {
	mu           sync.RWMutex // protects what is below
	young, older map[[sha256.Size]byte]accepted
	bytes        int // of the tokens in young
}

// accepted is a token that was good when it was seen, and is until it expires.
type accepted struct {
	claims Claims
	expiry time.Time
}

func newCache() cache {
	return cache{young: make(map[[sha256.Size]byte]accepted)}
}

// get returns the claims of an accepted token, nil when there is none or it has expired.
func (c *cache) get(hash [sha256.Size]byte, now time.Time) Claims {
	c.mu.RLock()
	entry, found := c.young[hash]
	if !found {
		entry, found = c.older[hash]
	}
	c.mu.RUnlock()
	if !found || !now.Before(entry.expiry) {
		return nil
	}
	return entry.claims
}

// put remembers an accepted token of that many bytes.
func (c *cache) put(hash [sha256.Size]byte, size int, entry accepted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= maxCachedTokens || c.bytes+size > maxCachedBytes {
		c.young, c.older, c.bytes = make(map[[sha256.Size]byte]accepted), c.young, 0
	}
	c.young[hash] = entry
	c.bytes += size
}
