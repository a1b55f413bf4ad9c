package interceptors_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/interceptors"
)

const ordersHost = "orders.example"

// orderEvents are those of ordersHost.
type orderEvents interface {
	OnOrdered(ctx context.Context, number int) error
}

type ordered struct {
	Number int `json:"number"`
}

// mailer handles events with a function.
type mailer func(ctx context.Context) error

func (m mailer) OnOrdered(ctx context.Context, _ int) error { return m(ctx) }

// counter counts the events that it handles.
type counter struct{ runs atomic.Int64 }

func (c *counter) handle(context.Context) error {
	c.runs.Add(1)
	return nil
}

func newOnce(t *testing.T, conn *bus.Conn) bus.Interceptor {
	t.Helper()
	once, err := interceptors.Once(t.Context(), conn, 0)
	require.NoError(t, err)
	return once
}

func subscribe(t *testing.T, conn *bus.Conn, handle mailer, wrapped ...bus.Interceptor) {
	t.Helper()
	options := []events.SubscribeOption{events.Durable(), events.Backoff(time.Millisecond, time.Millisecond),
		bus.Intercept(wrapped...), bus.ParamNames("OnOrdered", "number", "")}
	require.NoError(t, events.Subscribe[orderEvents](conn, ordersHost, handle, options...))
}

func newOrdered(t *testing.T, conn *bus.Conn, options ...events.PublishOption) events.Event[ordered] {
	t.Helper()
	publisher, err := events.NewPublisher(conn, ordersHost, options...)
	require.NoError(t, err)
	return events.NewEvent[ordered](publisher, "/on-ordered")
}

// manager returns the JetStream of a bus.
func manager(t *testing.T, conn *bus.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(conn.NATS())
	require.NoError(t, err)
	return js
}

// report returns an interceptor that reports the end of each delivery. A delivery fails with the next of these errors,
// unless that is nil.
func report(ends ...error) (bus.Interceptor, chan ending) {
	endings := make(chan ending, 10)
	return func(next bus.CallFunc) bus.CallFunc {
		return func(ctx context.Context, call *bus.Exchange) error {
			err := next(ctx, call)
			delivery, _ := events.DeliveryOf(ctx)
			endings <- ending{delivery.Attempt, call.Status(err)}
			if len(ends) > 0 {
				err = errors.Join(err, ends[0])
				ends = ends[1:]
			}
			return err
		}
	}, endings
}

// ending is how an attempt has ended.
type ending struct{ attempt, status int }

// TestOnce_Skips delivers an event again that was handled: each service handles it once.
func TestOnce_Skips(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.JetStream(t.TempDir()))
	event := newOrdered(t, b.Connect(ordersHost), events.Durable())
	for _, host := range []string{"mailer.example", "stock.example"} {
		handled, conn := new(counter), b.Connect(host, bus.WithLogger(zerolog.Nop()))
		again, endings := report(errors.New("the ack is lost"))
		subscribe(t, conn, handled.handle, again, newOnce(t, conn))
		require.NoError(t, event.Publish(events.WithID(t.Context(), host), ordered{7}))
		assert.Equal(t, ending{1, 200}, <-endings, host)
		assert.Equal(t, ending{2, 204}, <-endings, host)
		assert.Equal(t, int64(1), handled.runs.Load(), host)
	}
}

// TestOnce_Failures holds that a delivery that failed is not skipped when it comes again.
func TestOnce_Failures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		fail func() error
	}{
		{"error", func() error { return errors.New("not now") }},
		{"panic", func() error { panic("boom") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := bustest.New(t, broker.JetStream(t.TempDir()))
			conn := b.Connect("mailer.example", bus.WithLogger(zerolog.Nop()))
			runs := make(chan int, 3)
			subscribe(t, conn, func(ctx context.Context) error {
				delivery, _ := events.DeliveryOf(ctx)
				runs <- delivery.Attempt
				if delivery.Attempt == 1 {
					return test.fail()
				}
				return nil
			}, newOnce(t, conn))
			require.NoError(t, newOrdered(t, b.Connect(ordersHost), events.Durable()).Publish(t.Context(), ordered{7}))
			assert.Equal(t, 1, <-runs)
			assert.Equal(t, 2, <-runs)
		})
	}
}

// lockedBuffer holds what several goroutines write.
type lockedBuffer struct {
	mu   sync.Mutex // protects text
	text bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestOnce_BucketGone deletes the bucket under a service that runs: an event whose marks cannot be read comes again,
// and one that was handled is done although it cannot be marked.
func TestOnce_BucketGone(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.JetStream(t.TempDir()))
	source, log := b.Connect(ordersHost), new(lockedBuffer)
	event := newOrdered(t, source, events.Durable())
	conn := b.Connect("mailer.example", bus.WithLogger(zerolog.New(log)))
	lose := func() error {
		return manager(t, source).DeleteKeyValue(t.Context(), b.Plane()+"_HANDLED_mailer_example")
	}
	handled := new(counter)
	outer, endings := report()
	subscribe(t, conn, func(ctx context.Context) error {
		if err := handled.handle(ctx); err != nil || handled.runs.Load() == 1 {
			return err
		}
		return lose()
	}, outer, newOnce(t, conn))
	require.NoError(t, lose())
	require.NoError(t, event.Publish(t.Context(), ordered{1}))
	assert.Equal(t, ending{1, 503}, <-endings)
	assert.Equal(t, ending{2, 200}, <-endings)
	assert.Equal(t, int64(1), handled.runs.Load())
	require.NoError(t, event.Publish(t.Context(), ordered{2}))
	assert.Equal(t, ending{1, 200}, <-endings)
	require.NoError(t, conn.Close(t.Context())) // it would handle what comes again
	assert.Contains(t, log.String(), "cannot tell whether the event was handled before: ")
	assert.Contains(t, log.String(), "a handled event cannot be marked; if it comes again, it is handled again")
	stream, err := manager(t, source).Stream(t.Context(), b.Plane()+"_EVENTS_orders_example")
	require.NoError(t, err)
	consumer, err := stream.Consumer(t.Context(), "mailer_example__on-ordered")
	require.NoError(t, err)
	info, err := consumer.Info(t.Context())
	require.NoError(t, err)
	assert.Zero(t, info.NumAckPending)
	assert.Equal(t, uint64(2), info.AckFloor.Stream)
}

// paid counts how often it was called.
type paid struct{ times atomic.Int64 }

// Pay pays.
func (p *paid) Pay() { p.times.Add(1) }

// TestOnce_LeavesAlone has calls, calls in the handler of an event, and events that are not stored.
func TestOnce_LeavesAlone(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.JetStream(t.TempDir()))
	owner, till := b.Connect("mailer.example"), new(paid)
	once := newOnce(t, owner)
	require.NoError(t, bus.Serve(b.Connect("till.example"), till, bus.Intercept(once)))
	conn := b.Connect("mailer.example", bus.WithInterceptors(once))
	pay := func(ctx context.Context) error {
		return errors.Join(conn.Call(ctx, "POST https://till.example/pay", nil, nil),
			conn.Call(ctx, "POST https://till.example/pay", nil, nil))
	}
	source := b.Connect(ordersHost)
	ended := make(chan error, 2)
	require.NoError(t, events.Subscribe[orderEvents](conn, ordersHost, mailer(func(ctx context.Context) error {
		err := pay(ctx)
		ended <- err
		return err
	}), bus.ParamNames("OnOrdered", "number", "")))
	require.NoError(t, newOrdered(t, source).Publish(t.Context(), ordered{7}))
	require.NoError(t, <-ended)
	bucket, err := manager(t, owner).KeyValue(t.Context(), b.Plane()+"_HANDLED_mailer_example")
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	status, err := bucket.Status(t.Context())
	require.NoError(t, err)
	assert.Zero(t, status.Values(), "marks of events that are not stored")
	conn = b.Connect("mailer.example", bus.WithInterceptors(once))
	subscribe(t, conn, func(ctx context.Context) error {
		err := pay(ctx)
		ended <- err
		return err
	})
	require.NoError(t, newOrdered(t, source, events.Durable()).Publish(t.Context(), ordered{7}))
	require.NoError(t, <-ended)
	require.NoError(t, conn.Close(t.Context()))
	assert.Equal(t, int64(4), till.times.Load())
	keys, err := bucket.Keys(t.Context())
	require.NoError(t, err)
	require.Len(t, keys, 1)
	mark, err := bucket.Get(t.Context(), keys[0])
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(mark.Value()), "orders.example/on-ordered "), "%s", mark.Value())
}

// TestOnce_Refuses holds what is wrong from the start.
func TestOnce_Refuses(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.JetStream(t.TempDir()))
	conn := b.Connect("mailer.example")
	_, err := interceptors.Once(t.Context(), conn, time.Hour)
	require.NoError(t, err)
	for _, test := range []struct {
		name string
		conn *bus.Conn
		age  time.Duration
		want string
	}{
		{"no connection", nil, 0,
			"interceptors.Once: the connection is nil: connect first, and use bus.Intercept in events.Subscribe"},
		{"a negative age", conn, -time.Second,
			"interceptors.Once: an age of -1s remembers nothing: set one above zero, or 0 for 192h0m0s"},
		{"no JetStream", bustest.New(t).Connect("mailer.example"), 0, "the broker has no JetStream: turn it on: "},
		{"an older bucket", conn, 2 * time.Hour,
			"_HANDLED_mailer_example: its marks expire after 1h0m0s, not 2h0m0s: change its age (nats stream edit KV_" +
				b.Plane() + "_HANDLED_mailer_example --max-age), or ask for less"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			once, err := interceptors.Once(t.Context(), test.conn, test.age)
			require.ErrorContains(t, err, test.want)
			assert.Nil(t, once)
		})
	}
	_, err = interceptors.Once(t.Context(), conn, time.Minute) // less than what is kept
	require.NoError(t, err)
}

// The environment variables of the child process of TestOnce_Kill.
const (
	childURL   = "BUSLINE_ONCE_URL"
	childPlane = "BUSLINE_ONCE_PLANE"
	childStep  = "BUSLINE_ONCE_STEP"
)

// TestOnce_Kill kills the process of an instance that has handled an event and not acked it: another one gets the
// event, and handles it only if the first one had not marked it yet.
func TestOnce_Kill(t *testing.T) {
	t.Parallel()
	if step := os.Getenv(childStep); step != "" {
		stopAfter(t, step)
		return
	}
	for _, test := range []struct {
		step   string
		runs   int64
		status int
	}{
		{"marked", 0, 204},
		{"handled", 1, 200},
	} {
		t.Run(test.step, func(t *testing.T) {
			t.Parallel()
			b := bustest.New(t, broker.JetStream(t.TempDir()), broker.Listen("127.0.0.1:0"))
			source := b.Connect(ordersHost)
			event := newOrdered(t, source, events.Durable())
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOnce_Kill$", "-test.count=1")
			child.Env = append(os.Environ(), childURL+"="+b.Broker().URL(), childPlane+"="+b.Plane(), childStep+"="+test.step)
			output, err := child.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, child.Start())
			lines := bufio.NewScanner(output)
			require.True(t, lines.Scan())
			require.Equal(t, "subscribed", lines.Text())
			require.NoError(t, event.Publish(t.Context(), ordered{7}))
			require.True(t, lines.Scan())
			require.Equal(t, test.step, lines.Text())
			require.NoError(t, child.Process.Kill())
			require.Error(t, child.Wait(), "it was killed")
			conn, handled := b.Connect("mailer.example"), new(counter)
			outer, endings := report()
			subscribe(t, conn, handled.handle, outer, newOnce(t, conn))
			shortenAckWait(t, b, source)
			assert.Equal(t, ending{2, test.status}, <-endings)
			assert.Equal(t, test.runs, handled.runs.Load())
		})
	}
}

// shortenAckWait makes JetStream deliver again soon what is not acked.
func shortenAckWait(t *testing.T, b *bustest.Bus, conn *bus.Conn) {
	t.Helper()
	stream, err := manager(t, conn).Stream(t.Context(), b.Plane()+"_EVENTS_orders_example")
	require.NoError(t, err)
	consumer, err := stream.Consumer(t.Context(), "mailer_example__on-ordered")
	require.NoError(t, err)
	config := consumer.CachedInfo().Config
	config.AckWait = time.Second
	_, err = stream.UpdateConsumer(t.Context(), config)
	require.NoError(t, err)
}

// stopAfter handles an event up to a step, reports that on standard output, and waits to be killed.
func stopAfter(t *testing.T, step string) {
	t.Helper()
	conn, err := bus.Connect(t.Context(), "mailer.example", bus.WithURL(os.Getenv(childURL)),
		bus.WithPlane(os.Getenv(childPlane)))
	require.NoError(t, err)
	stop := func(next bus.CallFunc) bus.CallFunc {
		return func(ctx context.Context, call *bus.Exchange) error {
			if err := next(ctx, call); err != nil {
				return err
			}
			fmt.Fprintln(os.Stdout, step)
			select {}
		}
	}
	chain := []bus.Interceptor{newOnce(t, conn), stop}
	if step == "marked" {
		slices.Reverse(chain)
	}
	subscribe(t, conn, new(counter).handle, chain...)
	fmt.Fprintln(os.Stdout, "subscribed")
	select {}
}
