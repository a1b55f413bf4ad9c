package proof

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// Verifier verifies the proofs of the callers of an instance. It is safe for concurrent use.
type Verifier struct {
	verifier  *claims.Verifier
	id, plane string
	recent    [256]atomic.Pointer[recentProof]
}

// recentProof is a proof that was verified a moment ago. To compare it takes 20 ns; to ask the verifier, which hashes
// it, takes 500.
type recentProof struct {
	text, fromHost, fromID string
	called                 callee
	until                  time.Time
}

const (
	// recentFor is short, so that a key that was removed from the set is refused within five minutes all the same.
	recentFor = 30 * time.Second
	// maxLife is the longest life of a proof that is accepted.
	maxLife = 5 * time.Minute
)

// Open opens the key set of services, see [claims.Open], for an instance.
func Open(ctx context.Context, keySet, id, plane string, logger zerolog.Logger) (*Verifier, error) {
	v := &Verifier{id: id, plane: plane}
	var err error
	v.verifier, err = claims.Open(ctx, claims.Config{KeySet: keySet, Check: v.accept, Logger: logger})
	return v, err
}

// Close closes the key set.
func (v *Verifier) Close() { v.verifier.Close() }

// Error says what is wrong with a proof.
type Error struct{ Detail string }

// Error returns the detail, and what it is about.
func (e *Error) Error() string { return "the proof of the caller: " + e.Detail }

// Verify returns an error, an [*Error], unless a request has a valid proof of its sender, for the host and port that
// are called.
func (v *Verifier) Verify(ctx context.Context, request *wire.Request, host string, port int, now time.Time) error {
	called := callee{host, port}
	text := request.CallerProof
	slot := &v.recent[slotOf(text)]
	known := slot.Load()
	if known != nil && known.text == text && known.fromID == request.FromID && known.fromHost == request.FromHost &&
		known.called == called && now.Before(known.until) {
		return nil
	}
	said, err := v.verifier.Verify(ctx, text)
	if err != nil {
		return &Error{strings.TrimPrefix(err.Error(), "token: ")}
	}
	if sender, _ := said["sub"].(string); !subject.Joins(sender, request.FromID, request.FromHost) {
		return &Error{"it is that of another sender (sub)"}
	}
	audience, _ := said["aud"].(string)
	if to := called.String(); audience != to && !subject.Joins(audience, v.id, to) {
		return &Error{"it is meant for another host or port (aud)"}
	}
	until := now.Add(recentFor)
	if expiry := said.Expiry(); expiry.Before(until) {
		until = expiry
	}
	slot.Store(&recentProof{text, request.FromHost, request.FromID, called, until})
	return nil
}

// slotOf returns the place of a proof among the recent ones, from its signature.
func slotOf(text string) byte {
	if len(text) < 3 {
		return 0
	}
	return text[len(text)-3]*31 + text[len(text)-2]
}

// accept is what is asked of a proof beside a valid signature: that the key is one of the sender's host, that it is for
// this plane, and that it is short-lived.
func (v *Verifier) accept(keyID string, said claims.Claims) error {
	sender, _ := said["sub"].(string)
	_, host, _ := strings.Cut(sender, ".")
	issued, isTime := said["iat"].(float64)
	expires, _ := said["exp"].(float64)
	switch {
	case host == "" || hostOf(keyID) != host:
		return errors.New("its key (kid) is not one of the host of the sender (sub)")
	case said["plane"] != v.plane:
		return errors.New("it is for another plane")
	case !isTime || expires-issued > maxLife.Seconds():
		return fmt.Errorf("it is valid for longer than %s (iat, exp)", maxLife)
	}
	return nil
}
