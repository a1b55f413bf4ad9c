package batch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// limit is the size in bytes of the buffer from which on there is no room in it. As many may be in the write that is going on.
	// A larger limit did not make calls faster in any test.
	limit = 64 << 10

	// large is the size in bytes from which a write is not worth a copy.
	large = 16 << 10

	// piece is the number of bytes of a large write that are sent in one step.
	piece = 256 << 10

	// moment is how long a large write waits for the peer. What the peer has not accepted by then is copied to the buffer.
	moment = 5 * time.Millisecond

	// patience is how long a peer may accept nothing before it is considered dead.
	patience = 10 * time.Second

	// drain is how long Close waits for the peer to accept the rest.
	drain = time.Second

	// lastWords is how long reading remains possible after writing has failed: a broker says why it closes a
	// connection.
	lastWords = 100 * time.Millisecond
)

// Conn is a connection that collects writes. Its methods are safe for concurrent use.
type Conn struct {
	conn  net.Conn
	send  func()       // sendAll as a value, so that a go statement allocates nothing
	full  atomic.Bool  // there is no room
	since atomic.Int64 // Unix nanoseconds: the peer has accepted nothing since then; 0: there is nothing to send

	mu      sync.Mutex    // protects the fields below
	changed chan struct{} // closed when there is room, or nothing more to send; nil if no call waits for that

	waiting []byte    // accepted, but not yet being sent
	spare   []byte    // empty, the next buffer
	sending bool      // a goroutine writes to conn, or is about to
	armed   time.Time // the current write deadline of conn
	err     error     // of a write to conn
	closing bool
}

// New returns a connection that collects what is written to conn. conn must not be written to or closed in any other
// way.
//
// Write accepts everything and does not wait for the peer: nats.go holds the lock of its connection meanwhile, and everything
// else that it does, such as telling its status, needs that lock. Writers that must not fill the memory ask IsFull before they
// write, and call AwaitRoom then. Bytes are sent in the order in which they were accepted, and those of one Write are not
// interleaved with others.
//
// If sending fails, or if the peer accepts nothing for 10 s, every later Write and Close returns the error, and Read
// fails, too, once it has returned what had arrived. Close returns within a second; everything that was accepted is
// then sent, or it returns an error.
//
// A goroutine runs only while there is something to send.
func New(conn net.Conn) *Conn {
	c := &Conn{conn: conn}
	c.send = c.sendAll
	return c
}

// IsFull reports whether 64 KiB or more wait to be sent.
func (c *Conn) IsFull() bool { return c.full.Load() }

// StalledFor returns for how long the peer has accepted nothing of what there is to send, and zero if there is nothing.
func (c *Conn) StalledFor() time.Duration {
	since := c.since.Load()
	if since == 0 {
		return 0
	}
	return time.Since(time.Unix(0, since))
}

// AwaitRoom waits until the connection is no longer full. It returns the cause of ctx if that ends before, [net.ErrClosed] after
// Close, and the error that has ended sending.
func (c *Conn) AwaitRoom(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.closing:
			return net.ErrClosed
		case c.err != nil:
			return c.err
		case !c.IsFull():
			return nil
		}
		if err := c.awaitChangeLocked(ctx); err != nil {
			return err
		}
	}
}

// awaitChangeLocked unlocks while it waits for the next change, or for the end of ctx, whose cause it then returns.
func (c *Conn) awaitChangeLocked(ctx context.Context) error {
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	changed := c.changed
	c.mu.Unlock()
	defer c.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// changeLocked wakes all that wait for a change.
func (c *Conn) changeLocked() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// Write accepts all of data, or nothing and returns why. It does not retain data.
func (c *Conn) Write(data []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closing:
		return 0, net.ErrClosed
	case c.err != nil:
		return 0, c.err
	}
	if !c.sending && len(data) >= large {
		sent, err := c.writeThroughLocked(data)
		if err != nil {
			return sent, err
		}
		c.waiting = slices.Insert(c.waiting, 0, data[sent:]...) // before what has come meanwhile
	} else {
		c.waiting = append(c.waiting, data...)
	}
	if len(c.waiting) >= limit {
		c.full.Store(true)
	}
	c.startLocked()
	return len(data), nil
}

// startLocked has the buffer sent, unless that goes on already.
func (c *Conn) startLocked() {
	if !c.sending && len(c.waiting) > 0 && c.err == nil {
		c.sending = true
		go c.send()
	}
}

// writeThroughLocked sends as much of data as the peer accepts at once, without a copy.
func (c *Conn) writeThroughLocked(data []byte) (sent int, err error) {
	c.sending = true
	ends := time.Now().Add(moment)
	for sent < len(data) && err == nil {
		var n int
		n, err = c.stepLocked(data[sent:min(len(data), sent+piece)], ends)
		sent += n
	}
	c.sending = false
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.failLocked(err)
		return sent, err
	}
	c.changeLocked()
	return sent, nil
}

// sendAll is the goroutine that sends the buffer. It first lets goroutines run that are about to write.
func (c *Conn) sendAll() {
	runtime.Gosched()
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.waiting) > 0 && c.err == nil {
		batch := c.waiting
		c.waiting, c.spare = c.spare, nil
		c.full.Store(false)
		c.changeLocked()
		c.sendLocked(batch)
		if cap(batch) <= piece {
			c.spare = batch[:0]
		}
	}
	c.sending = false
	c.since.Store(0)
	c.changeLocked()
}

// sendLocked writes to the connection. A slow peer gets more time, as long as it accepts something.
func (c *Conn) sendLocked(batch []byte) {
	for sent := 0; sent < len(batch); {
		c.since.Store(time.Now().UnixNano())
		n, err := c.stepLocked(batch[sent:min(len(batch), sent+limit)], time.Time{})
		sent += n
		if err != nil && (n == 0 || !errors.Is(err, os.ErrDeadlineExceeded)) {
			c.failLocked(err)
			return
		}
	}
}

// stepLocked is one write to the connection, until a deadline; the zero time stands for the end of patience. It unlocks
// meanwhile, so that others may add to the buffer.
func (c *Conn) stepLocked(data []byte, ends time.Time) (int, error) {
	if err := c.armLocked(ends); err != nil {
		return 0, err
	}
	c.mu.Unlock()
	defer c.mu.Lock()
	return c.conn.Write(data)
}

// armLocked sets the write deadline of the connection. One that is nearly the end of patience is kept: setting it costs as much
// as a small message.
func (c *Conn) armLocked(ends time.Time) error {
	if ends.IsZero() {
		ends = time.Now().Add(patience)
		if c.armed.After(ends.Add(-patience / 4)) {
			return nil
		}
	}
	c.armed = ends
	return c.conn.SetWriteDeadline(ends)
}

// failLocked records the error that ends writing, and soon ends reading: what has arrived may say why.
func (c *Conn) failLocked(err error) {
	c.err = err
	c.waiting, c.spare = nil, nil
	c.changeLocked()
	_ = c.conn.SetReadDeadline(time.Now().Add(lastWords)) // fails if the connection is closed, and then reading fails, too
}

// Read reads from the connection.
func (c *Conn) Read(data []byte) (int, error) {
	n, err := c.conn.Read(data)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err != nil {
			err = c.err
		}
	}
	return n, err
}

// Close sends what was accepted, for at most a second, and closes the connection. Everything afterwards returns [net.ErrClosed],
// and so does AwaitRoom. An error says that something may not have been sent.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return net.ErrClosed
	}
	c.closing = true
	c.changeLocked()
	force := time.AfterFunc(drain, func() { _ = c.conn.Close() })
	defer force.Stop()
	for c.sending {
		_ = c.awaitChangeLocked(context.Background())
	}
	err := c.conn.Close()
	if c.err != nil {
		return fmt.Errorf("closed before everything was sent: %w", c.err)
	}
	return err
}

// SetWriteDeadline has no effect, as Write does not wait for the peer.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }

// SetReadDeadline sets the time until which Read waits; the zero time means no deadline.
func (c *Conn) SetReadDeadline(deadline time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	return c.conn.SetReadDeadline(deadline)
}

// SetDeadline is SetReadDeadline.
func (c *Conn) SetDeadline(deadline time.Time) error { return c.SetReadDeadline(deadline) }

// LocalAddr returns the local address.
func (c *Conn) LocalAddr() net.Addr { return c.conn.LocalAddr() }

// RemoteAddr returns the remote address.
func (c *Conn) RemoteAddr() net.Addr { return c.conn.RemoteAddr() }
