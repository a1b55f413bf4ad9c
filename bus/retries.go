package bus

import (
	"errors"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// retries logs why the broker cannot be reached again. The broker client tries several times a second, so what it says is logged
// when it is something new, and as a reminder. Several brokers may fail in turn, each for a reason of its own.
type retries struct {
	mu     sync.Mutex           // protects logged
	logged map[string]time.Time // when, by kindOf the reason; empty once the broker is back
}

// remindAfter is how long a reason of the same kind is not logged again.
const remindAfter = time.Minute

// failed takes the reason of a failed attempt, nil for none that is known.
func (r *retries) failed(logger zerolog.Logger, err error) {
	if err == nil || !r.isNews(err.Error()) {
		return
	}
	if isRefusedLogin(err) {
		logger.Error().Err(err).Msg("the broker refuses the login; trying again")
		return
	}
	logger.Warn().Err(err).Msg("the broker cannot be reached again yet; trying again")
}

func (r *retries) isNews(reason string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	kind := kindOf(reason)
	if before, known := r.logged[kind]; known && time.Since(before) < remindAfter {
		return false
	}
	if r.logged == nil {
		r.logged = make(map[string]time.Time)
	}
	r.logged[kind] = time.Now()
	return true
}

// kindOf leaves out of a reason what differs each time: addresses, our own port, the time at which a certificate was looked at,
// and capitals, as the broker client tells of a refused login twice, in its words and in those of the broker.
func kindOf(reason string) string {
	return strings.Map(func(char rune) rune {
		if unicode.IsDigit(char) {
			return -1
		}
		return unicode.ToLower(char)
	}, reason)
}

// over forgets the reasons: the broker is back.
func (r *retries) over() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.logged)
}

func isRefusedLogin(err error) bool {
	for _, refusal := range []error{
		nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired,
	} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}
