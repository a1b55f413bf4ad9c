package bus

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/batch"
)

// dialling is one nats.Connect, which takes no context. While it goes on, the end of its context closes what was dialled. It
// remains the dialer of the connection that was made, for the times when that is made again by itself.
type dialling struct {
	provider nats.InProcessConnProvider // nil: it is dialled
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
	writer   *atomic.Pointer[batch.Conn] // is set to the latest connection that was dialled, if it is one

	mu     sync.Mutex      // protects all below
	ctx    context.Context // Background once nats.Connect has returned
	unhook func() bool     // has the end of ctx leave the latest connection alone
}

// connect is nats.Connect for as long as ctx allows. If that ends it, the error is that of ctx. It sets writer to what the connection
// writes to.
func (c linkConfig) connect(ctx context.Context, timeout time.Duration, options []nats.Option, writer *atomic.Pointer[batch.Conn]) (*nats.Conn, error) {
	d := &dialling{provider: c.provider, writer: writer, ctx: ctx, unhook: func() bool { return true }}
	made, err := nats.Connect(c.url, slices.Concat(options, d.options(timeout, c.unbatched))...)
	d.over()
	if ctx.Err() == nil {
		return made, err
	}
	if err == nil {
		made.Close()
	}
	return nil, ctx.Err()
}

func (d *dialling) options(timeout time.Duration, unbatched bool) []nats.Option {
	options := []nats.Option{nats.Timeout(timeout), nats.SetCustomDialer(d)}
	if d.provider != nil {
		options = append(options, nats.InProcessServer(d))
	}
	if unbatched {
		d.dial = (&net.Dialer{Timeout: timeout}).DialContext
		return options
	}
	d.dial = (&batch.Dialer{Timeout: timeout}).DialContext
	return append(options, nats.SkipHostLookup())
}

// Dial is for [nats.SetCustomDialer].
func (d *dialling) Dial(network, address string) (net.Conn, error) {
	d.mu.Lock()
	ctx := d.ctx
	d.mu.Unlock()
	return d.hook(d.dial(ctx, network, address))
}

// InProcessConn is for [nats.InProcessServer].
func (d *dialling) InProcessConn() (net.Conn, error) { return d.hook(d.provider.InProcessConn()) }

func (d *dialling) hook(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if writer, ok := conn.(*batch.Conn); ok {
		d.writer.Store(writer)
	}
	d.unhook()
	d.unhook = context.AfterFunc(d.ctx, func() { _ = conn.Close() })
	return conn, nil
}

// over says that nats.Connect has returned.
func (d *dialling) over() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unhook()
	d.ctx = context.Background()
}
