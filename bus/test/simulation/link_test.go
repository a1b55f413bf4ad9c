package simulation_test

import (
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"time"
)

// link is the connection of a client to the broker, as the client has it: a [net.Conn]. What is sent in either
// direction comes in order, each after a time of its own, and is lost when the link breaks. The world's lock protects
// its fields.
type link struct {
	broker *broker
	node   *node
	draw   *rand.Rand // of its own, so that links do not take numbers from each other

	unparsed []byte    // what the client has sent of the next operation
	ready    bool      // the handshake is over
	arrival  time.Time // of the latest operation at the broker
	delivery time.Time // of the latest message at the client
	still    time.Time // until then nothing moves, in either direction
	inbox    []byte
	news     chan struct{} // buffer of one: there is something in the inbox
	closed   chan struct{} // the client's side is
	broken   bool          // nothing arrives any more, whether the client knows of it or not
}

// newLink connects a node.
func (b *broker) newLink(of *node) *link {
	b.links++
	l := &link{broker: b, node: of, draw: rand.New(rand.NewPCG(b.world.seed, uint64(b.links))),
		news: make(chan struct{}, 1), closed: make(chan struct{})}
	l.push(b.info())
	return l
}

// Read returns what has arrived, and waits if there is nothing.
func (l *link) Read(to []byte) (int, error) {
	w := l.broker.world
	for {
		w.mu.Lock()
		n := copy(to, l.inbox)
		l.inbox = l.inbox[n:]
		w.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		select {
		case <-l.news:
		case <-l.closed:
			return 0, io.EOF
		}
	}
}

// Write sends. It waits while the link stands still.
func (l *link) Write(text []byte) (int, error) {
	w := l.broker.world
	w.mu.Lock()
	still := time.Until(l.still)
	w.mu.Unlock()
	if still > 0 {
		select {
		case <-time.After(still):
		case <-l.closed:
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-l.closed:
		return 0, net.ErrClosed
	default:
	}
	l.unparsed = append(l.unparsed, text...)
	for {
		op, rest, ok := parse(l.unparsed)
		if l.unparsed = rest; !ok {
			l.unparsed = slices.Clone(rest)
			return len(text), nil
		}
		l.send(op)
	}
}

// send sends an operation to the broker. nats.go holds a lock during the handshake, which therefore takes no time: the
// clock of a bubble stops for whoever waits for a lock.
func (l *link) send(op operation) {
	w := l.broker.world
	switch {
	case l.broken:
		w.history.lost(l, "to the broker", &op)
		return
	case !l.ready:
		if op.verb == "PING" {
			l.ready = true
			l.push([]byte("PONG\r\n"))
		}
		return
	}
	w.history.sent(l, &op)
	delay := fixedDelay // nats.go subscribes again in any order
	if op.verb == "PUB" || op.verb == "HPUB" {
		delay = w.plan.weather.delay(l.draw)
	}
	l.arrival = after(l.arrival, l.still, delay)
	w.at(l.arrival, func() {
		if l.broken {
			w.history.lost(l, "to the broker", &op)
			return
		}
		l.broker.receive(l, op)
	})
}

// fixedDelay is how long operations without a message are under way.
const fixedDelay = 200 * time.Microsecond

// deliver sends bytes from the broker, which are a message unless op is nil.
func (l *link) deliver(text []byte, op *operation) {
	w := l.broker.world
	l.delivery = after(l.delivery, l.still, w.plan.weather.delay(l.draw))
	w.at(l.delivery, func() {
		if l.broken {
			w.history.lost(l, "from the broker", op)
			return
		}
		w.history.delivered(l, op)
		l.push(text)
	})
}

// after returns the time of what comes behind the latest, at the end of a standstill, and not before it was under way
// for so long.
func after(latest, still time.Time, delay time.Duration) time.Time {
	at := time.Now()
	if at.Before(still) {
		at = still
	}
	if at = at.Add(delay); !at.After(latest) {
		at = latest.Add(time.Nanosecond)
	}
	return at
}

func (l *link) push(text []byte) {
	l.inbox = append(l.inbox, text...)
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// sever breaks the link. The broker notices it after a while, the client at once or, if it does not, with its pings.
func (l *link) sever(unnoticed time.Duration, client bool) {
	w := l.broker.world
	if l.broken {
		return
	}
	l.broken = true
	w.at(time.Now().Add(unnoticed), func() { l.broker.forget(l) })
	if client {
		l.closeLocked()
	}
}

func (l *link) closeLocked() {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
}

// Close is the client's end of the link. What it has sent arrives.
func (l *link) Close() error {
	w := l.broker.world
	w.mu.Lock()
	defer w.mu.Unlock()
	l.closeLocked()
	if !l.broken {
		w.at(after(l.arrival, l.still, 0), func() {
			l.broken = true
			l.broker.forget(l)
		})
	}
	return nil
}

// The rest of [net.Conn] is not used: nats.go sets deadlines for the handshake alone, which takes no time.

func (*link) LocalAddr() net.Addr              { return &net.UnixAddr{} }
func (*link) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (*link) SetDeadline(time.Time) error      { return nil }
func (*link) SetReadDeadline(time.Time) error  { return nil }
func (*link) SetWriteDeadline(time.Time) error { return nil }
