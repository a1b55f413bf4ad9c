package broker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// TestServe_WhileTheConnectionBreaks loses the broker at the moment at which it is asked whether it has the
// subscriptions.
func TestServe_WhileTheConnectionBreaks(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t)}
	way := &kit.Fragile{InProcessConnProvider: w.Broker()}
	watch := &kit.WatchedBroker{InProcessConnProvider: way}
	conn := w.Bus.Connect("slow.example", bus.WithBroker(watch))
	look := func(written []byte) {
		if bytes.Contains(written, []byte("PING")) {
			watch.Look.Store(nil)
			way.Cut(false)
		}
	}
	watch.Look.Store(&look)
	if err := conn.Handle("GET", "/", http.NotFoundHandler()); !errors.Is(err, bus.ErrDisconnected) {
		t.Errorf("served while the connection breaks: %v, want ErrDisconnected", err)
	}
}

// TestOutage_EndsCalls has the caller lose the broker: what is under way ends after a grace, what is new at once.
func TestOutage_EndsCalls(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, way := b.ConnectFragile("caller.example")
		kit.ServeSlow(t, b.Connect("slow.example"))
		local := b.Bus.Connect("local.example", bus.WithBroker(way))
		kit.ServeSlow(t, local)
		time.AfterFunc(500*time.Millisecond, func() { way.Cut(true) })
		begun := time.Now()
		var calls sync.WaitGroup
		calls.Go(func() {
			kit.WantFailed(t, "the call", caller.Call(t.Context(), kit.SlowURL+"10s", nil, nil), 503, bus.ErrDisconnected)
		})
		calls.Go(func() {
			failed := 0
			for _, err := range caller.Multicast(kit.MustRequest(t, "https://slow.example/all?for=10s")) {
				failed++
				kit.WantFailed(t, "the multicast", err, 503, bus.ErrDisconnected)
			}
			if failed != 1 {
				t.Errorf("%d errors, want one", failed)
			}
		})
		stays := make(chan error, 1)
		go func() { stays <- local.Call(t.Context(), "GET https://local.example/slow?for=8s", nil, nil) }()
		calls.Wait()
		if took := time.Since(begun); took != 2500*time.Millisecond {
			t.Errorf("the calls ended after %s", took)
		}
		err := caller.Call(t.Context(), kit.SlowURL+"1s", nil, nil)
		failed, _ := errors.AsType[*bus.Error](err)
		require.NotNil(t, failed, "a new call")
		assert.Equal(t, bus.ExecutedNo, failed.Executed, "a new call")
		assert.Equal(t, 2500*time.Millisecond, time.Since(begun), "a new call")
		if err := <-stays; err != nil {
			t.Errorf("a call that stays in the process: %v", err)
		}
		time.Sleep(10 * time.Second) // for what was cut off
	})
}

// TestResponse_WaitsForItsCaller has the broker drop an instance and its caller at once, just before there is an
// answer, and the caller come back later than the instance.
func TestResponse_WaitsForItsCaller(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, callersWay := b.ConnectFragile("caller.example")
		callee, _ := b.ConnectFragile("slow.example")
		kit.ServeSlow(t, callee)
		called, begun := make(chan error, 1), time.Now()
		go func() { called <- caller.Call(t.Context(), kit.SlowURL+"1s", nil, nil) }()
		time.Sleep(999 * time.Millisecond)
		callersWay.Leave()
		for _, each := range []*bus.Conn{caller, callee} {
			if err := each.NATS().Publish(strings.Repeat("x", 5000), nil); err != nil { // which ends its connection
				t.Fatal(err)
			}
		}
		time.AfterFunc(50*time.Millisecond, callersWay.Come)
		assert.NoError(t, kit.Await(t, "the answer", called))
		took := time.Since(begun)
		assert.GreaterOrEqual(t, took, 1200*time.Millisecond)
		assert.LessOrEqual(t, took, 1500*time.Millisecond)
		begun = time.Now()
		err := caller.Call(t.Context(), kit.SlowURL+"1s", nil, nil)
		require.NoError(t, err, "a call from after it")
		assert.LessOrEqual(t, time.Since(begun), 1100*time.Millisecond, "a call from after it")
	})
}

// TestOutage_CallsSurviveACut cuts the caller off, then the instance, each before there is an answer; and the instance
// when there would be one. A broker client that reconnects cannot do so in a bubble, so that the clock is a real one.
func TestOutage_CallsSurviveACut(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	connect := func(host string) (*bus.Conn, *kit.Fragile) {
		way := &kit.Fragile{InProcessConnProvider: w.Broker()}
		return w.Connect(host, bus.WithBroker(onlyBroker{way})), way
	}
	caller, callersWay := connect("caller.example")
	callee, calleesWay := connect("slow.example")
	begun, finish := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		begun <- struct{}{}
		<-finish
		w.WriteHeader(http.StatusNoContent)
	})
	require.NoError(t, callee.Handle("GET", "/slow", slow))
	for _, test := range []struct {
		name   string
		way    *kit.Fragile
		conn   *bus.Conn
		before bool // the handler is done before the connection is back
	}{
		{"the caller", callersWay, caller, false},
		{"the instance", calleesWay, callee, false},
		{"the instance, when it answers", calleesWay, callee, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			called := make(chan error, 1)
			go func() { called <- caller.Call(t.Context(), "GET https://slow.example/slow", nil, nil) }()
			kit.Await(t, "the handler", begun)
			away, back := test.conn.NATS().StatusChanged(nats.RECONNECTING), test.conn.NATS().StatusChanged(nats.CONNECTED)
			cut := time.Now()
			test.way.Cut(test.before)
			kit.Await(t, "the cut", away)
			if test.before {
				finish <- struct{}{}
				test.way.Come()
			}
			kit.Await(t, "the connection", back)
			if err := test.conn.NATS().Flush(); err != nil { // its subscriptions are back, too
				t.Fatal(err)
			}
			t.Logf("%s is back after %s", test.name, time.Since(cut))
			if !test.before {
				finish <- struct{}{}
			}
			if err := kit.Await(t, "the answer", called); err != nil {
				t.Errorf("%s was cut off: %v", test.name, err)
			}
		})
	}
}

// onlyBroker hides that a broker may be quiet.
type onlyBroker struct{ nats.InProcessConnProvider }

// TestOutage_ClosedGivenConnection is for the application to make anew.
func TestOutage_ClosedGivenConnection(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t)}
	app := newApplication(t, w)
	callee := w.Bus.Connect("slow.example")
	kit.ServeSlow(t, callee)
	conn := w.Bus.Connect("caller.example", bus.WithNATS(app.Conn))
	called := make(chan error, 1)
	go func() { called <- conn.Call(t.Context(), kit.SlowURL+"1s", nil, nil) }()
	for callee.Stats().InFlight == 0 {
		continue // until it is under way
	}
	app.Close()
	kit.WantFailed(t, "a call under way", kit.Await(t, "the end of the call", called), 503, bus.ErrDisconnected)
	err := conn.Call(t.Context(), kit.SlowURL+"1s", nil, nil)
	kit.CheckError(t, err, 503, bus.ExecutedNo)
	if conn.Connected() {
		t.Errorf("a new call: %v", err)
	}
	kit.CloseConn(t, conn)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = callee.Close(ctx) // its handler goes on
}

// TestResponse_OfClosedGivenConnection is not held back: its connection does not come back by itself.
func TestResponse_OfClosedGivenConnection(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		app, err := nats.Connect("", nats.InProcessServer(b.Broker()))
		require.NoError(t, err)
		callee := b.Connect("slow.example", bus.WithNATS(app))
		kit.ServeSlow(t, callee)
		caller := b.Connect("caller.example")
		called := make(chan error, 1)
		go func() { called <- caller.Call(t.Context(), kit.SlowURL+"1s", nil, nil) }()
		synctest.Wait()
		begun := time.Now()
		app.Close()
		err = callee.Close(t.Context())
		took := time.Since(begun)
		assert.Equal(t, time.Second, took)
		assert.ErrorContains(t, err, "the last responses may not have been sent")
		kit.WantFailed(t, "the call", <-called, 504, bus.ErrInstanceLost)
	})
}

// TestOutage_ReasonIsLogged loses the broker. At one address nothing listens any more, at the other a server with a
// certificate of another authority. The environment belongs to the process, so it does not run beside others.
func TestOutage_ReasonIsLogged(t *testing.T) {
	here := net.IPv4(127, 0, 0, 1)
	authority := certify(t, nil)
	t.Setenv("BUS_NATS_CA", authority.file)
	good, bad := tlsBroker(t, certify(t, authority, here)), tlsBroker(t, certify(t, certify(t, nil), here))
	log := new(kit.Lines)
	conn, err := bus.Connect(t.Context(), "one.example", bus.WithURL(good.URL()+","+bad.URL()),
		bus.WithLogger(zerolog.New(log)))
	require.NoError(t, err)
	defer kit.CloseConn(t, conn)
	good.Close()
	log.Await(t, "certificate signed by unknown authority")
	log.Await(t, "connection refused")
}

// throttle has a limit for each caller, and passes on what others say who have one.
type throttle struct{ conn *bus.Conn }

func (throttle) Refuse(milliseconds int) error {
	return &bus.Error{Status: http.StatusTooManyRequests, Detail: "too many calls",
		RetryAfter: time.Duration(milliseconds) * time.Millisecond}
}

func (s throttle) Relay(ctx context.Context, milliseconds int) error {
	err := s.conn.Call(ctx, "https://throttle.example/refuse", bus.Args{"milliseconds": milliseconds}, nil)
	return fmt.Errorf("relayed: %w", err)
}

func (throttle) Busy() error {
	return &bus.Error{Status: http.StatusServiceUnavailable, Host: "other.example", Executed: bus.ExecutedNo,
		RetryAfter: time.Second}
}

// TestBusyCallee holds that a handler which has run does not ask to be called again because another instance had no
// time.
func TestBusyCallee(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("throttle.example")
		kit.Serve(t, conn, throttle{conn})
		require.NoError(t, conn.Handle("GET", "/passed", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			bus.WriteError(w, r, throttle{}.Busy())
		})))
		for _, path := range []string{"/busy", "/passed"} {
			failed := kit.AsBusError(t, conn.Call(t.Context(), "GET https://throttle.example"+path, nil, nil))
			assert.Equal(t, 503, failed.Status, path)
			assert.Zero(t, failed.RetryAfter, path)
			assert.Equal(t, bus.ExecutedYes, failed.Executed, path)
		}
	})
}

// TestRetryAfter holds that a service can say when to come again, and that it is heard at the far end of a chain of
// calls, in whole seconds.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("throttle.example")
		kit.Serve(t, conn, throttle{conn})
		require.NoError(t, conn.Handle("GET", "/handled/{said}",
			http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After", r.PathValue("said"))
				w.WriteHeader(http.StatusTooManyRequests)
			})))
		require.NoError(t, conn.Handle("GET", "/passed/{said}",
			http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				bus.WriteError(w, r, conn.Call(r.Context(), "GET https://throttle.example/handled/"+r.PathValue("said"), nil, nil))
			})))
		caller := w.Connect("caller.example")
		for target, want := range map[string]time.Duration{
			"/refuse?milliseconds=120000": 2 * time.Minute,
			"/refuse?milliseconds=1001":   2 * time.Second,
			"/refuse?milliseconds=1":      time.Second,
			"/refuse?milliseconds=0":      0,
			"/refuse?milliseconds=-1000":  0,
			"/relay?milliseconds=120000":  2 * time.Minute,
			"/relay?milliseconds=1500":    2 * time.Second,
			"/handled/120":                2 * time.Minute,
			"/passed/120":                 2 * time.Minute,
			"/passed/0":                   0,
			"/passed/-1":                  0,
			"/passed/1.5":                 0,
			"/passed/99999999999":         0,
			"/passed/Wed,%2021%20Oct%202099%2007:28:00%20GMT": 0,
		} {
			failed := kit.AsBusError(t, caller.Call(t.Context(), "GET https://throttle.example"+target, nil, nil))
			assert.Equal(t, http.StatusTooManyRequests, failed.Status, target)
			assert.Equal(t, want, failed.RetryAfter, target)
			said, written := "", httptest.NewRecorder()
			if want > 0 {
				said = fmt.Sprint(int(want / time.Second))
			}
			bus.WriteError(written, httptest.NewRequest(http.MethodGet, "/", nil), failed)
			if got := written.Header().Get("Retry-After"); got != said {
				t.Errorf("%s: passed on as %q, want %q", target, got, said)
			}
		}
	})
}
