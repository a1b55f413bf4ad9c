package bus

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/server"
)

// WithReadiness sets a check of what the service needs besides the broker, such as its database. While it returns an
// error the instance is not ready: it leaves its queues, so that other instances get what is balanced, and takes no
// stored events. Handlers that run go on, and multicasts and calls to this very instance still arrive. While no
// instance is ready calls fail with 503, and have not run. [Conn.Health], the probe /-/ready, `busline ls` and the
// portal show it.
//
// Connect calls check and waits for it; then check is called again a second after it has returned, until Close. Its
// context ends after a second; the instance is not ready while check does not return, or if it panics. The text of the
// error is for operators. Default: the instance is ready.
func WithReadiness(check func(ctx context.Context) error) ConnectOption {
	return func(c *connectConfig) {
		if check == nil {
			c.errs = append(c.errs, errors.New("bus.WithReadiness: the check is nil"))
		}
		c.readiness = check
	}
}

const (
	readinessPause   = time.Second // between two checks
	readinessTimeout = time.Second // of one
)

// readiness is the result of the check of [WithReadiness]. The zero value is ready.
type readiness struct {
	reason  atomic.Pointer[string] // why the instance is not ready; nil if it is
	running chan error             // the result of a check that has not returned yet; nil for none
}

// reasonText returns why the instance is not ready, "" if it is.
func (r *readiness) reasonText() string {
	if reason := r.reason.Load(); reason != nil {
		return *reason
	}
	return ""
}

// openReadiness checks once, and then until the connection closes.
func (c *Conn) openReadiness(ctx context.Context) {
	if c.config.readiness == nil {
		return
	}
	c.applyReadiness(c.checkReadiness(ctx))
	go func() {
		for {
			select {
			case <-c.life.begun:
				return
			case <-c.life.base.Done():
				return
			case <-time.After(readinessPause):
				c.applyReadiness(c.checkReadiness(c.life.base))
			}
		}
	}()
}

// checkReadiness returns why the instance is not ready, nil if it is. It starts no check while one runs.
func (c *Conn) checkReadiness(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readinessTimeout)
	defer cancel()
	if c.readiness.running == nil {
		ended := make(chan error, 1)
		c.readiness.running = ended
		go func() {
			defer func() {
				if reason := recover(); reason != nil {
					ended <- fmt.Errorf("the check panics: %v", reason)
				}
			}()
			ended <- c.config.readiness(ctx)
		}()
	}
	select {
	case err := <-c.readiness.running:
		c.readiness.running = nil
		return err
	case <-ctx.Done():
		return errors.New("the check has not returned within a second")
	}
}

// applyReadiness leaves the queues of the connection if there is a reason to, or joins them again.
func (c *Conn) applyReadiness(reason error) {
	isReady := c.readiness.reason.Load() == nil
	if c.isClosing() || reason == nil && isReady {
		return
	}
	ctx, cancel := context.WithTimeout(c.life.base, natsconn.DefaultTimeout)
	defer cancel()
	if reason == nil {
		if err := c.session.Resume(ctx); err != nil {
			reason = fmt.Errorf("it cannot join its queues again: %w", err)
		}
	}
	if reason == nil {
		c.readiness.reason.Store(nil)
	} else {
		c.readiness.reason.Store(new(reason.Error()))
	}
	if isReady == (reason == nil) {
		return
	}
	c.server.Paused.Store(reason != nil)
	if reason != nil {
		c.session.Pause(ctx)
	}
	for _, each := range c.extensions.All() {
		each.SetReady(reason == nil)
	}
	c.announce(ctx, server.HelloPath, nil)
	if reason == nil {
		c.log(c.logger.Info(), "the instance is ready again")
	} else {
		c.log(c.logger.Warn().Err(reason), "the instance is not ready: it has left its queues, until bus.WithReadiness is well")
	}
}

// healthWait is how long Health waits for the broker client, which can be held up by a write.
const healthWait = 100 * time.Millisecond

// Health returns nil if the connection can do its work, else why not: the broker is out of reach or accepts no
// messages, it has denied some of the connection's subscriptions that it needs (see [Conn.Restrictions]), messages were
// thrown away in the last 10 s because this process did not take them in fast enough (see SlowConsumerDropped of
// [Stats]), or the check of [WithReadiness] fails. It is meant for readiness probes; each cause is logged. It returns
// within 100 ms, and is safe for concurrent use.
func (c *Conn) Health() error {
	health := make(chan error, 1)
	go func() { health <- c.health() }()
	select {
	case err := <-health:
		return err
	case <-time.After(healthWait):
		return errStalled
	}
}

var errStalled = errors.New("the broker does not take messages")

func (c *Conn) health() error {
	_, dropping := c.session.Dropped()
	reason := c.readiness.reasonText()
	switch {
	case !c.Connected():
		return errors.New("the broker is out of reach")
	case c.broker.IsStalled():
		return errStalled
	case dropping:
		return errors.New("messages were lost; see the log")
	case c.session.Denied():
		return errors.New("subscriptions were denied; see the log")
	case reason != "":
		return errors.New("not ready: " + reason)
	default:
		return nil
	}
}
