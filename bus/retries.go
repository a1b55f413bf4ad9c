package bus

import (
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// retries logs why the broker cannot be reached again. The broker client tries several times a second, so what it says is logged
// when it is something new, and as a reminder.
type retries struct {
	mu     sync.Mutex // protects all below
	reason string     // that was logged last; "" once the broker is back
	logged time.Time
}

// remindAfter is how long the same reason is not logged again.
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
	if reason == r.reason && time.Since(r.logged) < remindAfter {
		return false
	}
	r.reason, r.logged = reason, time.Now()
	return true
}

// over forgets the reason: the broker is back.
func (r *retries) over() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reason = ""
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
