package claims

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Limits of a key set. Each holds for what an issuer may publish, not for what is usual: a handful of keys.
const (
	maxSetBytes   = 1 << 20
	maxSetKeys    = 1000
	minRSABits    = 2048
	maxRSABits    = 8192 // the time to verify grows with the square
	maxCandidates = 16   // keys tried for one token: a bad one must not cost a thousand verifications
)

// algorithms are all that a token may be signed with. None of them uses a secret that both sides know.
func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.EdDSA, jose.ES256, jose.RS256, jose.PS256}
}

// keySet is what was read from a JSON Web Key Set, and the tokens that its keys have verified. Only the cache changes.
type keySet struct {
	hash     [sha256.Size]byte // of its text
	keys     []jose.JSONWebKey
	ignored  []error // why each other key is not in keys
	private  bool    // one of these is a private key
	accepted cache
}

// parseKeySet reads a JSON Web Key Set (RFC 7517). A key that is of no use here is left out, as the RFC asks for: what
// an issuer adds for others must not stop us.
func parseKeySet(text []byte) (*keySet, error) {
	if len(text) > maxSetBytes {
		return nil, fmt.Errorf("larger than %d bytes", maxSetBytes)
	}
	var document struct {
		Keys []stdjson.RawMessage `json:"keys"`
	}
	if err := stdjson.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("not a JSON Web Key Set: %w", err)
	}
	if document.Keys == nil {
		return nil, errors.New(`not a JSON Web Key Set: no "keys"`)
	}
	if len(document.Keys) > maxSetKeys {
		return nil, fmt.Errorf("%d keys; the limit is %d", len(document.Keys), maxSetKeys)
	}
	set := &keySet{accepted: newCache()}
	for i, text := range document.Keys {
		if err := set.add(text); err != nil {
			set.ignored = append(set.ignored, fmt.Errorf("key %d: %w", i+1, err))
		}
	}
	return set, nil
}

// Why a key is not used.
var (
	errPrivate = errors.New("a private key, so whoever reads the set can sign tokens; publish only its public half")
	errShared  = errors.New("a shared secret, so every verifier could sign tokens")
	errUse     = errors.New(`not for verifying: see its "use" or "key_ops"`)
)

// add takes one key into the set, or says why not.
func (s *keySet) add(text []byte) error {
	var members map[string]stdjson.RawMessage
	if err := stdjson.Unmarshal(text, &members); err != nil {
		return err
	}
	if members["d"] != nil || members["priv"] != nil {
		s.private = true
		return errPrivate
	}
	key, err := parseKey(members)
	if err != nil {
		return err
	}
	for _, algorithm := range algorithms() {
		if fits(key, algorithm) {
			s.keys = append(s.keys, *key)
			return nil
		}
	}
	return fmt.Errorf("it verifies none of %v; an RSA key needs %d to %d bits", algorithms(), minRSABits, maxRSABits)
}

// parseKey reads what is used of a public key. Its certificates are not: nothing follows from one that is odd.
func parseKey(members map[string]stdjson.RawMessage) (*jose.JSONWebKey, error) {
	if members["k"] != nil {
		return nil, errShared
	}
	if uses := members["key_ops"]; uses != nil && !bytes.Contains(uses, []byte(`"verify"`)) {
		return nil, errUse
	}
	for name := range members {
		if !slices.Contains([]string{"kty", "kid", "alg", "use", "crv", "x", "y", "n", "e"}, name) {
			delete(members, name)
		}
	}
	text, err := stdjson.Marshal(members)
	if err != nil {
		return nil, err
	}
	key := new(jose.JSONWebKey)
	if err := stdjson.Unmarshal(text, key); err != nil {
		return nil, err
	}
	if key.Use != "" && key.Use != "sig" {
		return nil, errUse
	}
	return key, nil
}

// fits reports whether a key verifies signatures of an algorithm. The type of the key decides, never the token: a
// public key must not be taken for a shared secret.
func fits(key *jose.JSONWebKey, algorithm jose.SignatureAlgorithm) bool {
	if key.Algorithm != "" && key.Algorithm != string(algorithm) {
		return false
	}
	switch public := key.Key.(type) {
	case ed25519.PublicKey:
		return algorithm == jose.EdDSA
	case *ecdsa.PublicKey:
		return algorithm == jose.ES256 && public.Curve == elliptic.P256()
	case *rsa.PublicKey:
		bits := public.N.BitLen()
		return (algorithm == jose.RS256 || algorithm == jose.PS256) && minRSABits <= bits && bits <= maxRSABits
	default:
		return false
	}
}

// candidates returns the keys that may have signed a token with this header: those of its key ID, or all when it has
// none. A nil set has none.
func (s *keySet) candidates(keyID string, algorithm jose.SignatureAlgorithm) []*jose.JSONWebKey {
	if s == nil {
		return nil
	}
	var found []*jose.JSONWebKey
	for i := range s.keys {
		key := &s.keys[i]
		if (keyID == "" || key.KeyID == keyID) && fits(key, algorithm) {
			found = append(found, key)
		}
	}
	return found
}

// whyIgnored says why the first keys that are not used are not.
func (s *keySet) whyIgnored() error {
	const enough = 3
	if len(s.ignored) == 0 {
		return errors.New("it is empty")
	}
	return errors.Join(s.ignored[:min(enough, len(s.ignored))]...)
}

// fetchTimeout is how long a key set may take to arrive.
const fetchTimeout = 10 * time.Second

// source is where a key set is read from.
type source interface {
	// fetch returns at most maxSetBytes+1 bytes.
	fetch(ctx context.Context) ([]byte, error)
	// String names the source for a log, without what is secret in it.
	String() string
}

// newSource distinguishes a URL from a file.
func newSource(keySet string, client *http.Client) (source, error) {
	scheme, _, found := strings.Cut(keySet, "://")
	switch {
	case keySet == "":
		return nil, errors.New("key set: missing; name a file or a URL, or do not open a verifier")
	case !found:
		return fileSource(keySet), nil
	case !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https"):
		return nil, errors.New("key set: neither http nor https; write https://host/path, or the path of a file")
	}
	address, err := url.Parse(keySet)
	if err != nil || address.Host == "" { // the error repeats the URL, password and all
		return nil, errors.New("key set: not a URL; write https://host/path, or the path of a file")
	}
	return urlSource{address, guarded(client)}, nil
}

// fileSource is the path of a file.
type fileSource string

func (s fileSource) String() string { return "file " + string(s) }

func (s fileSource) fetch(context.Context) ([]byte, error) {
	file, err := os.Open(string(s))
	if err != nil {
		return nil, err
	}
	return readSome(file)
}

// readSome reads as much as a key set may have, and a little more, and closes the reader.
func readSome(reader io.ReadCloser) ([]byte, error) {
	defer reader.Close()
	return io.ReadAll(io.LimitReader(reader, maxSetBytes+1))
}

// urlSource is a URL and who fetches it.
type urlSource struct {
	url    *url.URL
	client *http.Client
}

// String leaves the query out, too: some issuers are asked with a key in it.
func (s urlSource) String() string {
	plain := *s.url
	plain.RawQuery, plain.ForceQuery, plain.Fragment, plain.RawFragment = "", false, "", ""
	return plain.Redacted()
}

// unreachableError is that of a source that may well be there later.
type unreachableError struct{ cause error }

func (e *unreachableError) Error() string { return "cannot be reached: " + e.cause.Error() }
func (e *unreachableError) Unwrap() error { return e.cause }

func (s urlSource) fetch(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.String(), nil)
	if err != nil {
		return nil, withoutURL(err)
	}
	request.Close = true // the next one is minutes away
	request.Header.Set("Accept", "application/jwk-set+json, application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return nil, &unreachableError{withoutURL(err)}
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, &unreachableError{fmt.Errorf("status %d", response.StatusCode)}
	}
	text, err := readSome(response.Body)
	if err != nil {
		return nil, &unreachableError{err}
	}
	return text, nil
}

// withoutURL returns the cause of an error that repeats a URL with all its secrets, be it ours or one we were
// redirected to.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

// guarded returns a client that does not follow a redirection from https to http, unless it has a rule of its own.
func guarded(client *http.Client) *http.Client {
	if client == nil {
		client = http.DefaultClient
	}
	if client.CheckRedirect != nil {
		return client
	}
	clone := *client
	clone.CheckRedirect = func(request *http.Request, via []*http.Request) error {
		const most = 5
		if len(via) > most {
			return errors.New("too many redirections")
		}
		if via[0].URL.Scheme == "https" && request.URL.Scheme != "https" {
			return errors.New("redirected from https to http")
		}
		return nil
	}
	return &clone
}
