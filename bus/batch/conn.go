package batch

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"time"
)

const (
	// limit is the size in bytes of the buffer. As many may be in the write that is going on; further writers wait. A
	// larger limit did not make calls faster in any test.
	limit = 64 << 10

	// large is the size in bytes from which a write is not worth a copy.
	large = 16 << 10

	// piece is the number of bytes of a large write that are sent in one step.
	piece = 256 << 10

	// patience is how long a peer may accept nothing before it is considered dead.
	patience = 10 * time.Second

	// drain is how long Close waits for the peer to accept the rest.
	drain = time.Second

	// lastWords is how long reading remains possible after writing has failed: a broker says why it closes a
	// connection.
	lastWords = 100 * time.Millisecond
)

// Conn is a connection that collects writes. Its methods may be used by many goroutines at once.
type Conn struct {
	conn net.Conn
	send func() // sendAll as a value, so that a go statement allocates nothing

	mu      sync.Mutex // protects the fields below
	changed sync.Cond  // signalled when there is room, when everything is sent, or when the connection fails or closes

	waiting  []byte    // accepted, but not yet being sent
	spare    []byte    // empty, the next buffer
	sending  bool      // somebody writes to conn, or is about to
	through  bool      // the writer is a Write itself, and deadline applies
	armed    time.Time // the current write deadline of conn
	deadline time.Time // of Write
	fault    error     // of a write to conn
	closing  bool
}

// New returns a connection that collects what is written to conn. conn must not be written to or closed in any other
// way.
//
// Write returns when its bytes are in a buffer of 64 KiB; if there is no room it waits, until its deadline. Large
// writes bypass an empty buffer, and return when they are sent. Bytes are sent in the order in which they were
// accepted, and those of one Write are not interleaved with others. If there are several writers, those with small
// writes can delay one with more than 64 KiB for as long as they keep the buffer filled; nats.go is a single writer.
//
// If sending fails, or if the peer accepts nothing for 10 s, every later Write and Close returns the error, and Read
// fails, too, once it has returned what had arrived. Close returns within a second; everything that was accepted is
// then sent, or it returns an error.
//
// A goroutine runs only while there is something to send.
func New(conn net.Conn) *Conn {
	c := &Conn{conn: conn}
	c.changed.L = &c.mu
	c.send = c.sendAll
	return c
}

// Write accepts all of data or nothing. It does not retain it.
func (c *Conn) Write(data []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.awaitRoom(len(data)); err != nil {
		return 0, err
	}
	if !c.sending && len(data) >= large {
		return c.writeThrough(data)
	}
	c.waiting = append(c.waiting, data...)
	if !c.sending && len(data) > 0 {
		c.sending = true
		go c.send()
	}
	return len(data), nil
}

// awaitRoom returns nil once that many bytes may be added, or the error that prevents it. What does not fit into the
// buffer waits until it is empty.
func (c *Conn) awaitRoom(size int) error {
	for {
		switch {
		case c.closing:
			return net.ErrClosed
		case c.fault != nil:
			return c.fault
		case c.expired():
			return os.ErrDeadlineExceeded
		case !c.sending || len(c.waiting)+size <= limit:
			return nil
		}
		c.awaitChange()
	}
}

func (c *Conn) expired() bool { return !c.deadline.IsZero() && !time.Now().Before(c.deadline) }

// awaitChange returns when something has changed, or when the deadline has passed.
func (c *Conn) awaitChange() {
	if !c.deadline.IsZero() {
		alarm := time.AfterFunc(time.Until(c.deadline), func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.changed.Broadcast()
		})
		defer alarm.Stop()
	}
	c.changed.Wait()
}

// sendAll is the goroutine that sends the buffer. It first lets goroutines run that are about to write.
func (c *Conn) sendAll() {
	runtime.Gosched()
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.waiting) > 0 && c.fault == nil {
		batch := c.waiting
		c.waiting, c.spare = c.spare, nil
		c.changed.Broadcast()
		_, err := c.pass(batch)
		c.spare = batch[:0]
		if err != nil {
			c.fail(err)
		}
	}
	c.rest()
}

// rest ends sending, unless there is more in the buffer.
func (c *Conn) rest() {
	if c.sending = len(c.waiting) > 0 && c.fault == nil; c.sending {
		go c.send()
	}
	c.changed.Broadcast()
}

// writeThrough sends data directly. If the deadline passes before anything is sent, the connection stays usable.
func (c *Conn) writeThrough(data []byte) (sent int, err error) {
	c.sending, c.through = true, true
	for sent < len(data) && err == nil {
		var n int
		n, err = c.pass(data[sent:min(len(data), sent+piece)])
		sent += n
	}
	c.through = false
	if err != nil && (sent > 0 || !c.expired()) {
		c.fail(err)
	}
	c.rest()
	return sent, err
}

// pass writes to the connection. A slow peer gets more time, as long as it accepts something.
func (c *Conn) pass(data []byte) (sent int, err error) {
	for {
		n, err := c.step(data[sent:])
		sent += n
		if n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) || c.through && c.expired() {
			return sent, err
		}
	}
}

// step is pass until the write deadline of the connection; it releases the lock, so that others may add to the buffer.
func (c *Conn) step(data []byte) (int, error) {
	err := c.arm()
	if err != nil {
		return 0, err
	}
	c.mu.Unlock()
	defer c.mu.Lock()
	return c.conn.Write(data)
}

// arm sets the write deadline of the connection: the end of patience, or that of a Write that bypasses the buffer if it
// is earlier. A deadline that is nearly right is kept: setting it costs as much as a small message.
func (c *Conn) arm() error {
	latest := time.Now().Add(patience)
	earliest := latest.Add(-patience / 4)
	if c.through && !c.deadline.IsZero() && c.deadline.Before(latest) {
		earliest, latest = c.deadline, c.deadline
	}
	if !c.armed.Before(earliest) && !c.armed.After(latest) {
		return nil
	}
	c.armed = latest
	return c.conn.SetWriteDeadline(latest)
}

// fail records the error that ends writing, and soon ends reading: what has arrived may say why.
func (c *Conn) fail(err error) {
	c.fault = err
	c.waiting, c.spare = nil, nil
	_ = c.conn.SetReadDeadline(time.Now().Add(lastWords)) // fails if the connection is closed, and then reading fails, too
}

// Read reads from the connection.
func (c *Conn) Read(data []byte) (int, error) {
	n, err := c.conn.Read(data)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.fault != nil {
			err = c.fault
		}
	}
	return n, err
}

// Close sends what was accepted, for at most a second, and closes the connection. A Write that still waits for room
// returns [net.ErrClosed], and so does everything afterwards. An error says that something may not have been sent.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return net.ErrClosed
	}
	c.closing = true
	c.changed.Broadcast()
	force := time.AfterFunc(drain, func() { _ = c.conn.Close() })
	defer force.Stop()
	for c.sending {
		c.changed.Wait()
	}
	err := c.conn.Close()
	if c.fault != nil {
		return fmt.Errorf("closed before everything was sent: %w", c.fault)
	}
	return err
}

// SetWriteDeadline sets the time until which Write waits for room, and large writes for the peer; the zero time means
// no deadline. Accepted bytes are sent in any case.
func (c *Conn) SetWriteDeadline(deadline time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return net.ErrClosed
	}
	c.deadline = deadline
	c.changed.Broadcast()
	if c.through {
		return c.arm()
	}
	return nil
}

// SetReadDeadline sets the time until which Read waits; the zero time means no deadline.
func (c *Conn) SetReadDeadline(deadline time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault != nil {
		return c.fault
	}
	return c.conn.SetReadDeadline(deadline)
}

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(deadline time.Time) error {
	return errors.Join(c.SetReadDeadline(deadline), c.SetWriteDeadline(deadline))
}

// LocalAddr returns the local address.
func (c *Conn) LocalAddr() net.Addr { return c.conn.LocalAddr() }

// RemoteAddr returns the remote address.
func (c *Conn) RemoteAddr() net.Addr { return c.conn.RemoteAddr() }
