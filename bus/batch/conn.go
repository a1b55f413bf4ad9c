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
	// limit is how many bytes wait for the goroutine that writes, while it writes as many at most. Who writes more
	// waits. More did not make calls faster, in no test.
	limit = 64 << 10

	// large is from how many bytes on a write is not worth a copy.
	large = 16 << 10

	// piece is how much of a large write is sent in one step.
	piece = 256 << 10

	// patience is how long a peer may take nothing at all. After that it is taken for dead.
	patience = 10 * time.Second

	// drain is how long Close waits for a peer to take what is left.
	drain = time.Second

	// lastWords is how long one can still read when writing has failed: a broker tells why it hangs up.
	lastWords = 100 * time.Millisecond
)

// Conn is a connection whose writes are collected. Its methods may be called from any goroutine.
type Conn struct {
	conn net.Conn
	send func() // sendAll, as a value: a go statement then allocates nothing

	mu      sync.Mutex // protects what is below
	changed sync.Cond  // told when there is room, nothing left to send, or an end

	waiting  []byte    // accepted, and not yet being sent
	spare    []byte    // empty, to be filled next
	sending  bool      // somebody writes to conn, or is about to
	through  bool      // and that is a Write itself, for which deadline counts
	armed    time.Time // the write deadline of conn
	deadline time.Time // of Write
	fault    error     // of a write to conn
	closing  bool
}

// New collects what is written to a connection, which must not be written to, or closed, in another way.
//
// Write returns when its bytes are in a buffer of 64 KiB; while there is no room it waits, until its deadline. Large
// writes go past the buffer when it is empty, and return when they are sent. Bytes are sent in the order in which they
// were accepted, those of one Write in one piece. Of several writers, those with less can hold up one with more than
// 64 KiB for as long as they keep the buffer filled; nats.go is one writer.
//
// When sending fails, or when the peer takes nothing for 10 s, every later Write and Close return the error, and Read
// fails, too, once it has read what had arrived. Close returns after a second at most; by then what was accepted is sent
// or it returns an error.
//
// There is a goroutine only while there is something to send.
func New(conn net.Conn) *Conn {
	c := &Conn{conn: conn}
	c.changed.L = &c.mu
	c.send = c.sendAll
	return c
}

// Write accepts all of data or nothing. It keeps no reference to it.
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

// awaitRoom returns when that many bytes may be added, or else why they cannot. What does not fit into the buffer, or
// not yet, waits until it is empty.
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

// sendAll is the goroutine that sends what waits. It lets those go first who are about to write.
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

// rest ends sending, unless something waits.
func (c *Conn) rest() {
	if c.sending = len(c.waiting) > 0 && c.fault == nil; c.sending {
		go c.send()
	}
	c.changed.Broadcast()
}

// writeThrough sends data itself. A deadline that passes before anything is sent does no harm.
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

// pass writes to the connection. A peer that takes its time gets more of it, as long as it takes something.
func (c *Conn) pass(data []byte) (sent int, err error) {
	for {
		n, err := c.step(data[sent:])
		sent += n
		if n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) || c.through && c.expired() {
			return sent, err
		}
	}
}

// step is pass until the deadline of the connection, while others may add to the buffer.
func (c *Conn) step(data []byte) (int, error) {
	err := c.arm()
	if err != nil {
		return 0, err
	}
	c.mu.Unlock()
	defer c.mu.Lock()
	return c.conn.Write(data)
}

// arm sets the write deadline of the connection: when patience ends, or sooner for a Write that goes through. One that is
// nearly right is left alone: to set it costs as much as a small message.
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

// fail notes that writing has come to an end, and lets reading follow: what has arrived may say why.
func (c *Conn) fail(err error) {
	c.fault = err
	c.waiting, c.spare = nil, nil
	_ = c.conn.SetReadDeadline(time.Now().Add(lastWords)) // fails when it is closed, and reading with it
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

// Close sends what was accepted, for a second at most, and closes the connection. A Write that still waits for room
// returns [net.ErrClosed], as everything does from now on. An error says that something may not have been sent.
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

// SetWriteDeadline sets until when Write waits for room, and large writes for the peer; the zero time is no deadline.
// Bytes that were accepted are sent all the same.
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

// SetReadDeadline sets until when Read waits; the zero time is no deadline.
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

// LocalAddr returns the address on this side.
func (c *Conn) LocalAddr() net.Addr { return c.conn.LocalAddr() }

// RemoteAddr returns the address on the other side.
func (c *Conn) RemoteAddr() net.Addr { return c.conn.RemoteAddr() }
