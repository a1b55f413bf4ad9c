package faulttest_test

import (
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxy is a network between a client and a broker, which can be broken.
type proxy struct {
	listener net.Listener
	to       string

	mu    sync.Mutex // protects all below
	open  map[net.Conn]struct{}
	up    gateway // towards the broker
	down  gateway // towards the client
	delay time.Duration
	shut  bool // whether it hangs up on the client that connects
}

// gateway is one direction. What is held is neither lost nor delivered, as on a network that has swallowed packets and
// may bring them yet.
type gateway struct {
	held   chan struct{} // closed when it is let go; nil: it is open
	unread chan struct{} // closed when the proxy reads again; nil: it reads
}

// startProxy listens on a port of its own and passes everything on.
func startProxy(t *testing.T, to string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: listener, to: to, open: make(map[net.Conn]struct{})}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			accepting.Go(func() { p.connect(client, &accepting) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		p.heal()
		p.sever(true)
		accepting.Wait()
	})
	return p
}

func (p *proxy) url() string { return "nats://" + p.listener.Addr().String() }

func (p *proxy) port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// connect passes on what both sides send, until one of them ends.
func (p *proxy) connect(client net.Conn, pumps *sync.WaitGroup) {
	broker, err := net.Dial("tcp", p.to)
	if err != nil {
		_ = client.Close()
		return
	}
	if !p.admit(client, broker) {
		_, _ = client.Close(), broker.Close()
		return
	}
	pumps.Go(func() { p.pump(client, broker, &p.up) })
	p.pump(broker, client, &p.down)
}

// admit keeps a pair of connections; false when none is welcome.
func (p *proxy) admit(client, broker net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shut {
		return false
	}
	p.open[client], p.open[broker] = struct{}{}, struct{}{}
	return true
}

// chunk is what was read at once, and when it is to arrive.
type chunk struct {
	bytes []byte
	due   time.Time
}

// pump reads from one side as fast as it comes, and writes to the other in time.
func (p *proxy) pump(from, to net.Conn, through *gateway) {
	defer p.forget(from, to)
	chunks := make(chan chunk, 1024)
	var writing sync.WaitGroup
	defer writing.Wait()
	defer close(chunks)
	writing.Go(func() {
		for each := range chunks {
			if wait := time.Until(each.due); wait > 0 {
				<-time.After(wait)
			}
			p.await(func() chan struct{} { return through.held })
			if _, err := to.Write(each.bytes); err != nil {
				_ = from.Close()
			}
		}
	})
	var last time.Time
	for {
		p.await(func() chan struct{} { return through.unread })
		buffer := make([]byte, 32<<10)
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if due := time.Now().Add(p.jittered()); due.After(last) { // bytes keep their order
			last = due
		}
		chunks <- chunk{buffer[:n], last}
	}
}

// jittered returns how long the next bytes take: up to a quarter more than the delay.
func (p *proxy) jittered() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.delay == 0 {
		return 0
	}
	return p.delay + rand.N(p.delay/4)
}

// await waits while a direction is held, or not read.
func (p *proxy) await(state func() chan struct{}) {
	p.mu.Lock()
	ended := state()
	p.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

func (p *proxy) forget(pair ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, each := range pair {
		_ = each.Close()
		delete(p.open, each)
	}
}

// slow has every byte take a while from now on.
func (p *proxy) slow(delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = delay
}

// hold has nothing arrive any more: towards the broker, towards the client, or both.
func (p *proxy) hold(up, down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for direction, held := range map[*gateway]bool{&p.up: up, &p.down: down} {
		if held && direction.held == nil {
			direction.held = make(chan struct{})
		}
	}
}

// stall reads nothing more that goes to the broker, so that the sockets on the way fill up.
func (p *proxy) stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.up.unread = make(chan struct{})
}

// heal lets go what was held, and reads again.
func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, state := range []*chan struct{}{&p.up.held, &p.up.unread, &p.down.held} {
		if *state != nil {
			close(*state)
			*state = nil
		}
	}
}

// cut ends all connections at once, and loses what was on its way. New ones are welcome.
func (p *proxy) cut() { p.sever(false) }

// sever is cut, and reports whether new connections are refused from now on.
func (p *proxy) sever(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = refuse
	for each := range p.open {
		if tcp, ok := each.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = each.Close()
		delete(p.open, each)
	}
}
