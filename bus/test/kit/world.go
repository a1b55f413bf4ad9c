package kit

import (
	"bytes"
	"context"
	"regexp"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/internal/worker"
)

// InBubble runs a test over each transport with bustest.Virtual: a wait takes no time, and a goroutine that is left
// behind fails the test. Raw clients must not Flush.
func InBubble(t *testing.T, test func(t *testing.T, b *Bubble)) {
	t.Helper()
	for name, transport := range Transports() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
				test(t, &Bubble{T: t, World: transport(b)})
			})
		})
	}
}

// Bubble is a world with a clock of its own.
type Bubble struct {
	*World
	T *testing.T
}

// NewCalculators serves as many instances of the calculator, and returns their ids.
func (b *Bubble) NewCalculators(count int) (ids []string) {
	b.T.Helper()
	for range count {
		conn := b.Connect(CalculatorHost)
		Serve(b.T, conn, Calculator{conn.ID()}, bus.Method("Who", bus.NoQueue()))
		ids = append(ids, conn.ID())
	}
	return ids
}

// Listen is Tap for a bubble. What has arrived is there after synctest.Wait.
func (b *Bubble) Listen(subject string) <-chan *nats.Msg {
	b.T.Helper()
	messages := make(chan *nats.Msg, 1024)
	raw := RawClient(b.T, b.World)
	_, err := raw.ChanSubscribe(subject, messages)
	require.NoError(b.T, err)
	Flush(b.T, raw)
	return messages
}

// Flush is nats.Conn.Flush with a timer of its own.
func Flush(t *testing.T, raw *nats.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, raw.FlushWithContext(ctx))
}

// Goroutines returns how many there are in this bubble once all of them are idle, and those that wait for work have
// ended.
func (b *Bubble) Goroutines() int {
	b.T.Helper()
	time.Sleep(2*worker.IdleTime + time.Second)
	synctest.Wait()
	inBubble := regexp.MustCompile(`synctest bubble \d+`)
	own := inBubble.Find(Stacks(false))
	if own == nil {
		b.T.Fatal("the stack of a goroutine does not tell its bubble")
	}
	count := 0
	for _, other := range inBubble.FindAll(Stacks(true), -1) {
		if bytes.Equal(other, own) {
			count++
		}
	}
	return count
}

// Stacks returns the stack of this goroutine, or of all.
func Stacks(all bool) []byte {
	for size := 1 << 20; ; size *= 2 {
		buffer := make([]byte, size)
		if used := runtime.Stack(buffer, all); used < size {
			return buffer[:used]
		}
	}
}

// World is a bus whose connections all use one transport.
type World struct {
	*bustest.Bus
	Transport bus.ConnectOption
}

// Connect connects over the transport.
func (w *World) Connect(host string, options ...bus.ConnectOption) *bus.Conn {
	return w.Bus.Connect(host, append([]bus.ConnectOption{w.Transport}, options...)...)
}

// Transports are the ways to make a world out of a bus. In the last one what stays in the process also goes through the
// bytes, and has to come out the same; with -short it is left out.
func Transports() map[string]func(*bustest.Bus) *World {
	transports := map[string]func(*bustest.Bus) *World{
		"broker":        func(b *bustest.Bus) *World { return &World{b, bus.WithoutShortCircuit()} },
		"short circuit": func(b *bustest.Bus) *World { return &World{b, WithShortCircuit(true)} },
		"short circuit, checked": func(b *bustest.Bus) *World {
			b.CheckShortCircuit()
			return &World{b, WithShortCircuit(true)}
		},
	}
	if testing.Short() {
		delete(transports, "short circuit, checked")
	}
	return transports
}

// OverBoth runs a test over each transport: what holds for one has to hold for the other.
func OverBoth(t *testing.T, test func(t *testing.T, w *World)) {
	t.Helper()
	for name, transport := range Transports() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, transport(bustest.New(t)))
		})
	}
}

// Serve serves on a connection.
func Serve[T any](t *testing.T, conn *bus.Conn, impl T, options ...bus.ServeOption) {
	t.Helper()
	require.NoError(t, bus.Serve(conn, impl, options...))
}

// NewBus starts a bus of the test's own.
func NewBus(t *testing.T, options ...broker.Option) *bustest.Bus {
	t.Helper()
	return bustest.New(t, options...)
}

// WithShortCircuit returns an option that leaves the short circuit on, or turns it off.
func WithShortCircuit(on bool) bus.ConnectOption {
	if on {
		return bus.WithInterceptors() // none
	}
	return bus.WithoutShortCircuit()
}

// Add calls the calculator on a host.
func Add(t *testing.T, caller *bus.Conn, host string) {
	t.Helper()
	var out struct{ Sum int }
	err := caller.Call(t.Context(), "GET https://"+host+"/add", bus.Args{"x": 1, "y": 2}, &out)
	require.NoError(t, err, "%s calls %s", caller.Host(), host)
	assert.Equal(t, 3, out.Sum, "%s calls %s", caller.Host(), host)
}

// CloseConn closes a connection, which writes what is to be logged.
func CloseConn(t *testing.T, conn *bus.Conn) {
	t.Helper()
	if err := conn.Close(context.Background()); err != nil {
		t.Errorf("close %s: %v", conn.Host(), err)
	}
}
