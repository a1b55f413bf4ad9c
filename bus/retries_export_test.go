package bus

import "time"

// LogThrottle limits how many lines are written of each reason.
type LogThrottle = logThrottle

// Admit reports whether a line of a reason is written, and how many were left out before.
func (t *logThrottle) Admit(reason string) (leftOut int, ok bool) { return t.admit(reason) }

// Forget starts afresh.
func (t *logThrottle) Forget() { t.forget() }

// NewLogThrottle makes one.
func NewLogThrottle(atOnce int, pause time.Duration) *LogThrottle {
	return &logThrottle{atOnce: atOnce, pause: pause}
}

// Drop has a connection drop a message.
func Drop(c *Conn, why error) { c.drop("a.subject", why) }

// Report has the broker client report a fault of the connection.
func Report(conn *Conn, err error) { conn.link.report(conn.NATS(), nil, err) }
