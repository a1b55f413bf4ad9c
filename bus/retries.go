package bus

import (
	"errors"

	"github.com/nats-io/nats.go"
)

// retryFailed logs why the broker cannot be reached again; err is nil if that is not known. The broker client tries several times a
// second, so what it says is logged when it is something new, and as a reminder once a minute. Several brokers may fail in turn,
// each for a reason of its own.
func (l *link) retryFailed(err error) {
	if err == nil {
		return
	}
	if _, isNews := l.retries.admit(err.Error()); !isNews {
		return
	}
	if isRefusedLogin(err) {
		l.log(l.logger.Error().Err(err), "the broker refuses the login; trying again")
		return
	}
	l.log(l.logger.Warn().Err(err), "the broker cannot be reached again yet; trying again")
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
