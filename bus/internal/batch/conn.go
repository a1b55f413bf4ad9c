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
	// highWater is the size in bytes at which the buffer is full. The write in progress may hold as many more. A larger
	// value did not make calls faster in any test.
	highWater = 64 << 10

	// minDirect is the size in bytes of the smallest write that bypasses an empty buffer, which saves a copy.
	minDirect = 16 << 10

	// chunkSize is the number of bytes of a direct write that are sent in one step.
	chunkSize = 256 << 10

	// directTimeout bounds a direct write. Bytes that the peer has not accepted by then are copied to the buffer.
	directTimeout = 5 * time.Millisecond

	// writeTimeout is the time without progress after which the peer is considered dead.
	writeTimeout = 10 * time.Second

	// closeTimeout is the time that Close gives the peer to accept the buffer.
	closeTimeout = time.Second

	// readGrace is the time for which Read still works after a write has failed: a broker sends the reason before it
	// closes a connection.
	readGrace = 100 * time.Millisecond
)

// Conn is a connection that collects writes. Its methods are safe for concurrent use.
type Conn struct {
	conn         net.Conn
	copies       bool         // no write bypasses the buffer
	send         func()       // sendAll as a value, so that a go statement allocates nothing
	full         atomic.Bool  // the buffer is full
	stalledSince atomic.Int64 // Unix nanoseconds: the peer has accepted nothing since then; 0: there is nothing to send

	mu      sync.Mutex    // protects the fields below
	changed chan struct{} // closed when the buffer has room, or all of it is sent; nil if no call waits for that

	buffer   []byte    // accepted, but not yet being sent
	next     []byte    // empty, the next buffer
	sending  bool      // a goroutine writes to conn, or is about to
	deadline time.Time // the current write deadline of conn
	err      error     // the error that ended writing to conn
	closing  bool      // Close was called
}

// New returns a connection that collects what is written to conn. Only the returned connection may write to conn or
// close it.
//
// Write accepts everything and does not wait for the peer: nats.go holds the lock of its connection during a Write, and
// its other methods, such as Status, need that lock. A writer that must not fill the memory calls AwaitRoom before a
// Write if IsFull reports true. Bytes are sent in the order in which they were accepted, and the bytes of one Write are
// not interleaved with others.
//
// If sending fails, or if the peer accepts nothing for 10 s, every later Write and Close returns the error. Read
// returns it, too, after the bytes that had arrived. Close returns within a second: nil if all accepted bytes were
// sent, or an error.
//
// A goroutine runs only while there is something to send.
func New(conn net.Conn) *Conn {
	c := &Conn{conn: conn}
	c.send = c.sendAll
	return c
}

// NewPipe is New for an in-memory connection, such as one of [net.Pipe], which accepts nothing until the peer reads. A
// peer that writes at the same time reads only once its own bytes are read, and the reader of nats.go needs the lock
// that a Write holds. So no Write waits for the peer at all, not even for a moment.
func NewPipe(conn net.Conn) *Conn {
	c := New(conn)
	c.copies = true
	return c
}

// IsFull reports whether 64 KiB or more wait to be sent.
func (c *Conn) IsFull() bool { return c.full.Load() }

// StalledFor returns the time since the peer last accepted bytes, or zero if there is nothing to send.
func (c *Conn) StalledFor() time.Duration {
	since := c.stalledSince.Load()
	if since == 0 {
		return 0
	}
	return time.Since(time.Unix(0, since))
}

// AwaitRoom waits until the connection is no longer full. It returns the cause of ctx if ctx ends first,
// [net.ErrClosed] after Close, and the error of sending after sending has failed.
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

// awaitChangeLocked waits for the next change, unlocked. If ctx ends first, it returns the cause of ctx.
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

// notifyLocked wakes all callers of awaitChangeLocked.
func (c *Conn) notifyLocked() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// Write accepts all of data, or returns an error and accepts none. It does not retain data.
func (c *Conn) Write(data []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closing:
		return 0, net.ErrClosed
	case c.err != nil:
		return 0, c.err
	}
	if !c.copies && !c.sending && len(data) >= minDirect {
		sent, err := c.writeDirectLocked(data)
		if err != nil {
			return sent, err
		}
		c.buffer = slices.Insert(c.buffer, 0, data[sent:]...) // before the bytes of writes that came in the meantime
	} else {
		c.buffer = append(c.buffer, data...)
	}
	if len(c.buffer) >= highWater {
		c.full.Store(true)
	}
	c.startLocked()
	return len(data), nil
}

// startLocked starts the goroutine that sends the buffer, unless it runs.
func (c *Conn) startLocked() {
	if !c.sending && len(c.buffer) > 0 && c.err == nil {
		c.sending = true
		go c.send()
	}
}

// writeDirectLocked sends what the peer accepts of data within directTimeout, without a copy.
func (c *Conn) writeDirectLocked(data []byte) (sent int, err error) {
	c.sending = true
	deadline := time.Now().Add(directTimeout)
	for sent < len(data) && err == nil {
		var n int
		n, err = c.writeOnceLocked(data[sent:min(len(data), sent+chunkSize)], deadline)
		sent += n
	}
	c.sending = false
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.failLocked(err)
		return sent, err
	}
	c.notifyLocked()
	return sent, nil
}

// sendAll sends the buffer, on a goroutine of its own. It yields first, so that goroutines that are about to write add
// to the buffer.
func (c *Conn) sendAll() {
	runtime.Gosched()
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.buffer) > 0 && c.err == nil {
		batch := c.buffer
		c.buffer, c.next = c.next, nil
		c.full.Store(false)
		c.notifyLocked()
		c.sendLocked(batch)
		if cap(batch) <= chunkSize {
			c.next = batch[:0]
		}
	}
	c.sending = false
	c.stalledSince.Store(0)
	c.notifyLocked()
}

// sendLocked writes to the connection. The timeout starts again whenever the peer accepts bytes.
func (c *Conn) sendLocked(batch []byte) {
	for sent := 0; sent < len(batch); {
		c.stalledSince.Store(time.Now().UnixNano())
		n, err := c.writeOnceLocked(batch[sent:min(len(batch), sent+highWater)], time.Time{})
		sent += n
		if err != nil && (n == 0 || !errors.Is(err, os.ErrDeadlineExceeded)) {
			c.failLocked(err)
			return
		}
	}
}

// writeOnceLocked makes one write to the connection, until a deadline; the zero time stands for writeTimeout from now.
// It unlocks during the write, so that other goroutines can add to the buffer.
func (c *Conn) writeOnceLocked(data []byte, deadline time.Time) (int, error) {
	if err := c.setDeadlineLocked(deadline); err != nil {
		return 0, err
	}
	c.mu.Unlock()
	defer c.mu.Lock()
	return c.conn.Write(data)
}

// setDeadlineLocked sets the write deadline of the connection. For the zero time it keeps a deadline that is nearly as
// late: setting one costs as much as a small message.
func (c *Conn) setDeadlineLocked(deadline time.Time) error {
	if deadline.IsZero() {
		deadline = time.Now().Add(writeTimeout)
		if c.deadline.After(deadline.Add(-writeTimeout / 4)) {
			return nil
		}
	}
	c.deadline = deadline
	return c.conn.SetWriteDeadline(deadline)
}

// failLocked records the error that ends writing. Read still works for readGrace, as the peer may have sent a reason.
func (c *Conn) failLocked(err error) {
	c.err = err
	c.buffer, c.next = nil, nil
	c.notifyLocked()
	// fails only if the connection is closed, and then Read fails, too
	_ = c.conn.SetReadDeadline(time.Now().Add(readGrace))
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

// Close sends the accepted bytes, for at most a second, and closes the connection. Afterwards all methods return
// [net.ErrClosed], and so do pending calls of AwaitRoom. An error means that some bytes may not have been sent.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return net.ErrClosed
	}
	c.closing = true
	c.notifyLocked()
	force := time.AfterFunc(closeTimeout, func() { _ = c.conn.Close() })
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
