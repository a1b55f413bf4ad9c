package bus

import (
	"time"

	"github.com/busline/busline/bus/internal/logqueue"
)

// LogThrottle limits how many lines are written of each reason.
type LogThrottle = logqueue.Throttle

// Admit reports whether a line of a reason is written, and how many were left out before.
func (t *logqueue.Throttle) Admit(reason string) (leftOut int, ok bool) { return t.Admit(reason) }

// Forget starts afresh.
func (t *logqueue.Throttle) Forget() { t.Forget() }

// NewLogThrottle makes one.
func NewLogThrottle(atOnce int, pause time.Duration) *LogThrottle {
	return &logqueue.Throttle{AtOnce: atOnce, Pause: pause}
}

// Drop has a connection drop a message.
func Drop(c *Conn, why error) { c.drop("a.subject", why) }

// Report has the broker client report a fault of the connection.
func Report(conn *Conn, err error) { conn.link.report(conn.NATS(), nil, err) }
