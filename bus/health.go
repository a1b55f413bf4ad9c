package bus

import "time"

// overflowQuiet is how long nothing must have been thrown away before a connection counts as healthy again.
const overflowQuiet = 10 * time.Second

// healthWait is how long Healthy waits for the broker client, which can be held up by a write.
const healthWait = 100 * time.Millisecond

// Healthy reports whether the connection can do its work: the broker can be reached and accepts messages, it has denied none of
// the connection's subscriptions, and no message was thrown away in the last 10 s because this process did not take it in
// fast enough (see SlowConsumerDropped of [Stats]). It is meant for readiness probes; each cause is logged. It returns within 100 ms, and
// is safe for concurrent use.
func (c *Conn) Healthy() bool {
	healthy := make(chan bool, 1)
	go func() {
		overflowing := c.lookForOverflow()
		healthy <- !overflowing && !c.link.isStalled() && c.Connected() && !c.isDenied()
	}()
	select {
	case result := <-healthy:
		return result
	case <-time.After(healthWait):
		return false
	}
}

// isDenied says whether the broker has denied a subscription, which it can do when the connection is made again. Of one that was
// given all that is known is the last report.
func (c *Conn) isDenied() bool {
	last := c.link.givenReport()
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, isOurs := c.concerns(last); isOurs && last != c.examined { //nolint:errorlint // the very same report may still stand there
		return true
	}
	for _, each := range c.subscriptions {
		if !each.optional && c.link.denials.has(denial{subject: each.subject}) {
			return true
		}
	}
	return false
}

// lookForOverflow counts what the broker client has thrown away since the last time, and says whether that is still going
// on, or was a moment ago. The first of an episode is logged.
func (c *Conn) lookForOverflow() (overflowing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	before := !c.overflow.last.IsZero() && now.Sub(c.overflow.last) < overflowQuiet
	for _, each := range c.subscriptions {
		more := each.thrownAway()
		if more == 0 {
			continue
		}
		c.overflow.count += more
		c.overflow.last = now
		if !before {
			before = true
			c.log(c.logger.Error().Str("subject", each.subject).Int64("messages", more),
				"messages arrive faster than this process reads them, and are thrown away")
		}
	}
	return before
}

// overflow is what was thrown away.
type overflow struct {
	count int64
	last  time.Time // when it was last seen
}

// thrownAway returns how many messages were since the last time.
func (l *listening) thrownAway() int64 {
	dropped, err := l.made.Dropped()
	if err != nil { // it is closed, and tells nothing any more
		return 0
	}
	more := dropped - l.dropped
	l.dropped = dropped
	return int64(more)
}
