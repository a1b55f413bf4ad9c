package claims

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/rs/zerolog"
)

// When the key set is read again. A key that its issuer has removed is refused within five minutes, however the two
// times and the time that fetching takes come together.
const (
	refreshPause = 4 * time.Minute
	retryPause   = 30 * time.Second // after a failure, and the least between two attempts
)

// jwksRefresher makes one attempt at a time, not too often.
type jwksRefresher struct {
	life    context.Context // of the verifier
	end     context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex // protects what is below
	begun    time.Time  // when the last attempt began
	failed   bool       // what came of the last attempt
	inflight chan struct{}
}

// firstKeys reads the key set when the verifier is opened.
func (v *Verifier) firstKeys(ctx context.Context) error {
	v.refresh.begun = time.Now()
	set, err := v.read(ctx)
	var unreachable *unreachableError
	if errors.As(err, &unreachable) && ctx.Err() == nil {
		v.refresh.failed = true
		v.config.Logger.Error().Err(err).Msg("no token is accepted until the key set can be read")
		return nil
	}
	switch {
	case err != nil:
		return err
	case set.private:
		return fmt.Errorf("key set %s: %w", v.source, errPrivate)
	case len(set.keys) == 0:
		return fmt.Errorf("key set %s: no key in it verifies %v: %w", v.source, algorithms(), set.whyIgnored())
	}
	level := zerolog.DebugLevel // that all is well at the start
	if len(set.ignored) > 0 {
		level = zerolog.InfoLevel
	}
	v.adopt(set, level)
	return nil
}

// startRefresh starts the goroutine that keeps the keys fresh. It ends with the verifier.
func (v *Verifier) startRefresh() {
	r := &v.refresh
	r.life, r.end = context.WithCancel(context.Background())
	r.running.Go(func() {
		for {
			select {
			case <-r.life.Done():
				return
			case <-time.After(r.pause()):
				v.refreshKeys(r.life)
			}
		}
	})
}

// pause is the time until the next attempt that no caller asks for.
func (r *jwksRefresher) pause() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed {
		return retryPause
	}
	return refreshPause
}

// stop ends what runs and waits for it.
func (r *jwksRefresher) stop() {
	r.mu.Lock()
	r.end()
	r.mu.Unlock()
	r.running.Wait()
}

// refreshKeys reads the key set again, unless that has just been done, and waits until it is done or the context ends.
// All who call it meanwhile wait for the same attempt, which none of them can cancel for the others.
func (v *Verifier) refreshKeys(ctx context.Context) {
	if flight := v.refresh.join(v.attempt); flight != nil {
		select {
		case <-flight:
		case <-ctx.Done():
		}
	}
}

// join returns what is closed when the attempt under way is over; it begins one if it may, otherwise it returns nil.
func (r *jwksRefresher) join(attempt func()) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inflight == nil {
		if r.life.Err() != nil || time.Since(r.begun) < retryPause {
			return nil
		}
		r.begun = time.Now()
		r.inflight = make(chan struct{})
		r.running.Go(attempt)
	}
	return r.inflight
}

// attempt reads the key set and takes over what has changed. What cannot be read changes nothing.
func (v *Verifier) attempt() {
	r := &v.refresh
	set, err := v.read(r.life)
	switch {
	case err == nil:
		v.adopt(set, zerolog.InfoLevel)
	case r.life.Err() == nil:
		v.config.Logger.Warn().Err(err).Msg("the key set could not be refreshed; the keys known so far stay in use")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.inflight)
	r.inflight, r.failed = nil, err != nil
}

// read fetches and parses the key set. It returns the one that is there when nothing has changed.
func (v *Verifier) read(ctx context.Context) (*keySet, error) {
	text, err := v.source.fetch(ctx)
	if err != nil {
		return nil, fmt.Errorf("key set %s: %w", v.source, err)
	}
	hash := sha256.Sum256(text)
	if known := v.keys.Load(); known != nil && bytes.Equal(known.hash[:], hash[:]) {
		return known, nil
	}
	set, err := parseKeySet(text)
	if err != nil {
		return nil, fmt.Errorf("key set %s: %w", v.source, err)
	}
	set.hash = hash
	return set, nil
}

// adopt makes a set the one that counts, and logs it at a level, worse if need be. The tokens that the one before had
// accepted are forgotten with it.
func (v *Verifier) adopt(set *keySet, level zerolog.Level) {
	if set == v.keys.Load() {
		return
	}
	v.keys.Store(set)
	if set.private || len(set.keys) == 0 {
		level = zerolog.ErrorLevel
	}
	v.config.Logger.WithLevel(level).Stringer("source", v.source).
		Int("keys", len(set.keys)).Errs("ignored", set.ignored).Msg("new key set")
}

// keysFor returns the key set, and which of its keys may have signed a token with this header.
func (v *Verifier) keysFor(ctx context.Context, header jose.Header) (*keySet, []*jose.JSONWebKey, error) {
	algorithm := jose.SignatureAlgorithm(header.Algorithm)
	keys := v.keys.Load()
	candidates := keys.candidates(header.KeyID, algorithm)
	if len(candidates) == 0 {
		v.refreshKeys(ctx)
		keys = v.keys.Load()
		candidates = keys.candidates(header.KeyID, algorithm)
	}
	switch {
	case keys == nil && v.refresh.life.Err() != nil:
		return nil, nil, refuse("token: no token is accepted any more, since the verifier is closed")
	case keys == nil:
		return nil, nil, refuse("token: it cannot be verified yet, because no key set has been read; try again in a minute")
	case len(candidates) == 0 && ctx.Err() != nil:
		return nil, nil, &Error{Detail: "token: the request ended before its key (kid) was fetched", cause: ctx.Err()}
	case len(candidates) == 0:
		return nil, nil, refuse("token: signed with a key (kid, alg) that is not in the key set")
	case len(candidates) > maxCandidates:
		return nil, nil, refuse("token: more than %d keys may have signed it; have the issuer name the key in it (kid)",
			maxCandidates)
	}
	return keys, candidates, nil
}
