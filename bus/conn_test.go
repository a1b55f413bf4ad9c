package bus_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

const noHandler = " returned nil in place of a handler: have it return one that calls next, or next itself"

// TestNoOption hands over options that are nil, as a function may return that has none to set.
func TestNoOption(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	conn := b.Connect("wrapper.example")
	var composed atomic.Int64
	passing := func(next bus.CallFunc) bus.CallFunc { return next }
	ending := func(bus.CallFunc) bus.CallFunc { return nil }
	serverOnly := func(next bus.CallFunc) bus.CallFunc { // composed once by Connect, and then for each endpoint
		if composed.Add(1) > 1 {
			return nil
		}
		return next
	}
	late := b.Connect("late.example", bus.WithInterceptors(serverOnly))
	for want, try := range map[string]func() error{
		"connect none.example: option 2 is nil: leave it out": func() error {
			_, err := bus.Connect(t.Context(), "none.example", bus.WithPlane("p"), nil)
			return err
		},
		"serve kit.Wrapper on wrapper.example: option 1 is nil: leave it out": func() error {
			return bus.Serve(conn, kit.Wrapper{}, nil, bus.AllowAnonymous())
		},
		`serve kit.Wrapper on wrapper.example: bus.Method("Wrapped"): option 2 is nil: leave it out`: func() error {
			return bus.Serve(conn, kit.Wrapper{}, bus.Method("Wrapped", bus.AllowAnonymous(), nil))
		},
		"subscribe kit.Wrapper of wrapper.example to the events of source.example: option 1 is nil: leave it out": func() error {
			return events.Subscribe(conn, "source.example", kit.Wrapper{}, nil)
		},
		"400 Bad Request: events of wrapper.example: option 2 is nil: leave it out": func() error {
			_, err := events.NewPublisher(conn, "wrapper.example", events.Durable(), nil)
			return err
		},
		"connect none.example: interceptor 2 is nil: leave it out of bus.WithInterceptors": func() error {
			_, err := bus.Connect(t.Context(), "none.example", bus.WithInterceptors(passing, nil))
			return err
		},
		"connect none.example: interceptor 1 is nil: leave it out of bus.WithObservers": func() error {
			_, err := bus.Connect(t.Context(), "none.example", bus.WithObservers(nil))
			return err
		},
		"serve kit.Wrapper on wrapper.example: Wrapper.Wrapped: interceptor 1 is nil: leave it out of bus.Intercept": func() error {
			return bus.Serve(conn, kit.Wrapper{}, bus.Intercept(nil))
		},
		"connect none.example: interceptor 2 of bus.WithInterceptors" + noHandler: func() error {
			_, err := bus.Connect(t.Context(), "none.example", append(b.Options(), bus.WithInterceptors(passing, ending))...)
			return err
		},
		"serve kit.Wrapper on wrapper.example: Wrapper.Wrapped: interceptor 2 of bus.Intercept" + noHandler: func() error {
			return bus.Serve(conn, kit.Wrapper{}, bus.Intercept(passing), bus.Method("Wrapped", bus.Intercept(ending)))
		},
		"subscribe *kit.Sink of wrapper.example to the events of source.example: Sink.OnCancelled: " +
			"interceptor 1 of bus.Intercept" + noHandler: func() error {
			return events.Subscribe(conn, "source.example", kit.NewSink(), bus.Intercept(ending))
		},
		"handle GET /x on late.example: GET /x: interceptor 1 of bus.WithInterceptors" + noHandler: func() error {
			return late.Handle("GET", "/x", http.NotFoundHandler())
		},
		"serve kit.Wrapper on wrapper.example: bus.SourceFS: the file system is nil; give it an embed.FS": func() error {
			return bus.Serve(conn, kit.Wrapper{}, bus.SourceFS(nil))
		},
		"option 1 is nil: leave it out": func() error { return bus.CheckNames(kit.Wrapper{}, nil) },
		"handle GET /x on wrapper.example: option 1 is nil: leave it out": func() error {
			return conn.Handle("GET", "/x", http.NotFoundHandler(), nil)
		},
	} {
		err := try()
		assert.EqualError(t, err, want)
	}
}

// TestWithJetStreamDomain stores events in the hub from a leaf node that has no JetStream.
func TestWithJetStreamDomain(t *testing.T) {
	t.Parallel()
	address := kit.FreeAddress(t)
	hub, err := broker.Start(broker.Config(
		fmt.Sprintf("jetstream { domain: hub, store_dir: %q }, leafnodes { listen: %q }", t.TempDir(), address)))
	require.NoError(t, err)
	defer hub.Close()
	b := kit.NewBus(t, broker.Config(fmt.Sprintf("leafnodes { remotes: [{ url: %q }] }", "nats://"+address)))
	option := bus.WithJetStreamDomain("hub")
	source := b.Connect(kit.OrdersHost, option)
	assert.Equal(t, "$JS.hub.API", source.JetStreamPrefix())
	var ordered events.Event[kit.Ordered]
	require.EventuallyWithT(t, func(c *assert.CollectT) { // until the leaf node is connected
		publisher, err := events.NewPublisher(source, kit.OrdersHost, events.Durable())
		if assert.NoError(c, err) {
			ordered = events.NewEvent[kit.Ordered](publisher, "/on-ordered")
		}
	}, 20*time.Second, 10*time.Millisecond)
	mailer := kit.Subscribe(t, b.Connect("mailer.example", option), kit.NewSink(), events.Durable())
	kit.Fire(t, ordered, 1, 2)
	kit.AwaitOrders(t, mailer, 2)
	assert.Equal(t, []int{1, 2}, kit.OrdersOf(mailer))
}

// TestOutage_LateResponseIsLost has a handler be done when the broker is away, and away for too long.
func TestOutage_LateResponseIsLost(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller := b.Connect("caller.example")
		callee, way := b.ConnectFragile("slow.example")
		kit.ServeSlow(t, callee)
		time.AfterFunc(100*time.Millisecond, func() { way.Cut(true) })
		begun := time.Now()
		err := caller.Call(t.Context(), kit.SlowURL+"200ms", nil, nil)
		kit.WantFailed(t, "the call", err, 504, bus.ErrInstanceLost)
		if took := time.Since(begun); took != 1400*time.Millisecond {
			t.Errorf("the call ended after %s", took)
		}
		time.Sleep(time.Second) // the grace is over
		if left := bus.RunningRequests(callee); left != 0 {
			t.Errorf("%d requests run", left)
		}
	})
}

// TestOutage_ClosedConnectionIsMadeAnew has a client publish what makes the broker close the connection, which nats.go
// does not open again.
func TestOutage_ClosedConnectionIsMadeAnew(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		other := b.Connect("other.example", bus.WithoutSharing())
		shared, callee := b.Connect("caller.example"), b.Connect("slow.example")
		kit.ServeSlow(t, callee)
		known := bus.KnownSubscriptions(shared)
		for round := range 3 {
			before := shared.NATS()
			calls := make(chan error, 2)
			for _, caller := range []*bus.Conn{shared, other} {
				go func() { calls <- caller.Call(t.Context(), kit.SlowURL+"5s", nil, nil) }()
			}
			time.Sleep(time.Second)
			require.NoError(t, before.Publish(strings.Repeat("x", 5000), nil))
			synctest.Wait()
			if !before.IsClosed() {
				t.Fatal("the broker has not closed the connection")
			}
			time.Sleep(time.Second)
			after := shared.NATS()
			assert.NotSame(t, before, after, "the broker connection was not made anew")
			assert.True(t, after.IsConnected(), "the broker connection was not made anew")
			assert.Same(t, after, callee.NATS(), "the broker connection was not made anew")
			assert.True(t, shared.Connected(), "the broker connection was not made anew")
			for range 2 {
				if err := <-calls; err != nil {
					t.Errorf("a call under way: %v", err)
				}
			}
			for _, caller := range []*bus.Conn{shared, other} {
				for _, host := range []string{"slow.example", callee.ID() + ".slow.example"} {
					if err := caller.Call(t.Context(), "GET https://"+host+"/slow?for=1s", nil, nil); err != nil {
						t.Errorf("%s is called: %v", host, err)
					}
					if ids := kit.MulticastIDs(t, caller, "https://"+host+"/all?for=1s"); len(ids) != 1 {
						t.Errorf("%s is answered by %v", host, ids)
					}
				}
			}
			if made := callee.Stats().Reconnects; made != int64(round+1) {
				t.Errorf("made anew %d times, want %d", made, round+1)
			}
			if now := bus.KnownSubscriptions(shared); now != known {
				t.Errorf("%d subscriptions are known, and %d before", now, known)
			}
			late := b.Connect("late.example")
			kit.ServeSlow(t, late)
			if late.NATS() != shared.NATS() {
				t.Error("who comes later has a link of its own")
			}
			known = bus.KnownSubscriptions(shared)
		}
	})
}

// TestHealth_CountsOverflow floods a connection that has no time: what is thrown away is counted, logged once, and
// turns it unhealthy until it has stopped.
func TestHealth_CountsOverflow(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		log := new(kit.Lines)
		conn := b.Connect("caller.example", bus.WithLogger(zerolog.New(log)))
		to := subject.Response(b.Plane(), conn.Host(), conn.ID())
		answer := wire.AppendResponse(nil, &wire.Response{Status: 202, OpCode: kit.Ack, FromHost: "evil.example",
			FromID: kit.ScriptedID, MsgID: "m1"})
		raw := kit.RawClient(t, b.World)
		require.NoError(t, conn.Health(), "not healthy at first")
		assert.Zero(t, conn.Stats().SlowConsumerDropped)
		for episode := range 2 {
			release := bus.HoldResponses(conn)
			for range bus.IntakeCapacity + 100 {
				require.NoError(t, raw.Publish(to, answer))
			}
			kit.Flush(t, raw)
			kit.Flush(t, conn.NATS())
			release()
			synctest.Wait()
			lost := conn.Stats().SlowConsumerDropped
			if rounds := int64(episode + 1); lost < 90*rounds || lost > 110*rounds { // greetings may be held, too
				t.Errorf("%d messages of %d were thrown away", lost, 100*rounds)
			}
			time.Sleep(9 * time.Second)
			if conn.Health() == nil {
				t.Error("healthy, so soon")
			}
			time.Sleep(2 * time.Second)
			if conn.Health() != nil {
				t.Error("not healthy again")
			}
			if told := log.Count("are thrown away"); told != episode+1 {
				t.Errorf("episode %d was logged %d times: %s", episode, told, log)
			}
		}
		b.Broker().Close() // so that no other connection is made in place of that one
		conn.NATS().Close()
		if conn.Health() == nil {
			t.Error("healthy without a broker connection")
		}
	})
}
