package serving_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/test/kit"
)

// sleeper takes its time.
type sleeper struct{}

// Sleep returns after a while, or when its context ends.
func (sleeper) Sleep(ctx context.Context, seconds int) error {
	select {
	case <-time.After(time.Duration(seconds) * time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func serveSleeper(_ context.Context, conn *bus.Conn) error { return bus.Serve(conn, sleeper{}) }

// running is a program in a test.
type running struct {
	log  *kit.Lines
	stop context.CancelFunc
	err  chan error
}

func startProgram(t *testing.T, b *bustest.Bus, start func(context.Context, *bus.Conn) error,
	options ...bus.RunOption) *running {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	p := &running{log: new(kit.Lines), stop: stop, err: make(chan error, 1)}
	options = append([]bus.RunOption{bus.WithOptions(b.Options()...), bus.WithLogger(zerolog.New(p.log))}, options...)
	go func() { p.err <- bus.Run(ctx, "sleeper.example", start, options...) }()
	return p
}

// TestRun_FinishesCalls holds that a program that is told to stop answers the calls that it has accepted, as long as
// the time lasts.
func TestRun_FinishesCalls(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		seconds int
		options []bus.RunOption
		err     string
	}{
		{"within the default", 19, nil, ""},
		{"beyond the limit", 19, []bus.RunOption{bus.WithCloseTimeout(5 * time.Second)},
			"close sleeper.example: it cut off 1 handler and 0 calls: context deadline exceeded: bus.WithCloseTimeout gives 5s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
				p := startProgram(t, b, serveSleeper, test.options...)
				caller := b.Connect("caller.example")
				synctest.Wait()
				called := make(chan error, 1)
				go func() {
					called <- caller.Call(t.Context(), "https://sleeper.example/sleep", bus.Args{"seconds": test.seconds}, nil)
				}()
				synctest.Wait()
				p.stop()
				if test.err != "" {
					assert.EqualError(t, <-p.err, test.err)
					require.Error(t, <-called)
					return
				}
				require.NoError(t, <-p.err)
				require.NoError(t, <-called)
				assert.Equal(t, 1, p.log.Count(`"ready"`))
				assert.Equal(t, "context canceled", p.log.Line(t, "stopping")["reason"])
			})
		})
	}
}

// TestRun_StartFails returns what went wrong in start and in Close, and logs none of it.
func TestRun_StartFails(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		failed := errors.New("the disk is full")
		hold := make(chan struct{})
		p := startProgram(t, b, func(ctx context.Context, conn *bus.Conn) error {
			if err := serveSleeper(ctx, conn); err != nil {
				return err
			}
			go func() {
				_ = conn.Call(context.Background(), "https://sleeper.example/sleep", bus.Args{"seconds": 19}, nil)
			}()
			<-hold
			return failed
		}, bus.WithCloseTimeout(time.Second))
		synctest.Wait()
		close(hold)
		err := <-p.err
		require.ErrorIs(t, err, failed)
		assert.ErrorContains(t, err, "it cut off 1 handler")
		assert.Zero(t, p.log.Count("disk"))
		assert.Zero(t, p.log.Count(`"ready"`))
	})
}

// TestRun_StopsInStart holds that the end of the context while start waits is no error, unless start reports another
// one.
func TestRun_StopsInStart(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		report func(ctx context.Context) error
		err    string
	}{
		{"nothing", func(context.Context) error { return nil }, ""},
		{"its context", func(ctx context.Context) error { return errors.Join(ctx.Err(), io.EOF) }, ""},
		{"another error", func(context.Context) error { return io.ErrUnexpectedEOF }, "unexpected EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
				p := startProgram(t, b, func(ctx context.Context, _ *bus.Conn) error {
					<-ctx.Done()
					return test.report(ctx)
				})
				synctest.Wait()
				p.stop()
				if err := <-p.err; test.err != "" {
					require.EqualError(t, err, test.err)
				} else {
					require.NoError(t, err)
				}
				assert.Zero(t, p.log.Count(`"ready"`))
			})
		})
	}
}

// TestRun_BadOptions holds what is refused before anything is opened.
func TestRun_BadOptions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		start  func(context.Context, *bus.Conn) error
		option bus.RunOption
		err    string
	}{
		{"no start", nil, bus.WithVersion("1"), "run sleeper.example: start of sleeper.example is nil: pass a function that calls bus.Serve"},
		{"a nil option", serveSleeper, nil, "run sleeper.example: option 1 is nil: leave it out"},
		{"a nil option of Connect", serveSleeper, bus.ConnectOption(nil),
			"run sleeper.example: option 1 is nil: leave it out"},
		{"a nil option of several", serveSleeper, bus.WithOptions(bus.WithVersion("1"), nil),
			"connect sleeper.example: bus.WithOptions: option 2 is nil: leave it out"},
		{"no time to close", serveSleeper, bus.WithCloseTimeout(0),
			"run sleeper.example: close timeout 0s is too short: set a time above zero with bus.WithCloseTimeout"},
		{"a bad address", serveSleeper, bus.WithProbes("8081"),
			"run sleeper.example: bus.WithProbes: listen tcp: address 8081: missing port in address"},
		{"a bad plane", serveSleeper, bus.WithPlane("a.b"),
			`connect sleeper.example: plane "a.b" (BUS_PLANE or bus.WithPlane)`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.ErrorContains(t, bus.Run(t.Context(), "sleeper.example", test.start, test.option), test.err)
		})
	}
}

// logged is closed when a line with a part is written.
type logged struct {
	part string
	seen chan struct{}
	once sync.Once
	kit.Lines
}

func newLogged(part string) *logged { return &logged{part: part, seen: make(chan struct{})} }

func (l *logged) Write(line []byte) (int, error) {
	defer func() {
		if l.Count(l.part) > 0 {
			l.once.Do(func() { close(l.seen) })
		}
	}()
	return l.Lines.Write(line)
}

func probe(t *testing.T, address, path string) (status int, body string) {
	t.Helper()
	response, err := http.Get("http://" + address + path)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

func checkProbe(t *testing.T, address, path string, status int, body string) {
	t.Helper()
	gotStatus, gotBody := probe(t, address, path)
	assert.Equal(t, status, gotStatus, path)
	assert.Equal(t, body, gotBody, path)
}

// TestRun_WaitsForBroker has a program that is started before its broker, and answers probes all the time.
func TestRun_WaitsForBroker(t *testing.T) {
	t.Parallel()
	url, probes := kit.FreeAddress(t), kit.FreeAddress(t)
	waits, ready := newLogged("waiting for the broker"), newLogged(`"ready"`)
	starting, release := make(chan struct{}), make(chan struct{})
	var isWarm atomic.Bool
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- bus.Run(ctx, "sleeper.example", func(ctx context.Context, conn *bus.Conn) error {
			close(starting)
			<-release
			return serveSleeper(ctx, conn)
		}, bus.WithURL("nats://"+url), bus.WithProbes(probes), bus.WithLogger(zerolog.New(io.MultiWriter(waits, ready))),
			bus.WithReadiness(func(context.Context) error {
				if isWarm.Load() {
					return nil
				}
				return errors.New("the cache is cold")
			}))
	}()
	<-waits.seen
	assert.Contains(t, waits.Line(t, "waiting for the broker")["error"], "no broker at nats://"+url)
	checkProbe(t, probes, "/-/healthy", 200, "healthy\n")
	checkProbe(t, probes, "/-/ready", 503, "waiting for the broker\n")
	checkProbe(t, probes, "/metrics", 503, "waiting for the broker\n")
	checkProbe(t, probes, "/", 404, "404 page not found\n")
	started, err := broker.Start(broker.Listen(url))
	require.NoError(t, err)
	defer started.Close()
	<-starting
	checkProbe(t, probes, "/-/ready", 503, "starting, or stopping\n")
	close(release)
	<-ready.seen
	checkProbe(t, probes, "/-/ready", 503, "not ready: the cache is cold\n")
	isWarm.Store(true)
	kit.Eventually(t, func() bool {
		status, _ := probe(t, probes, "/-/ready")
		return status == http.StatusOK
	})
	checkProbe(t, probes, "/-/ready", 200, "ready\n")
	_, metrics := probe(t, probes, "/metrics")
	assert.Contains(t, metrics, `host="sleeper.example"`)
	stop()
	require.NoError(t, <-ended)
	_, err = net.Dial("tcp", probes)
	assert.Error(t, err, "the probes are still there")
}

// TestRun_StopsWhileWaiting has a program that is told to stop before there is a broker, and one that has a limit of
// its own.
func TestRun_StopsWhileWaiting(t *testing.T) {
	t.Parallel()
	never := func(context.Context, *bus.Conn) error {
		t.Error("start was called")
		return nil
	}
	waits := newLogged("waiting for the broker")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- bus.Run(ctx, "sleeper.example", never, bus.WithURL("nats://"+kit.FreeAddress(t)),
			bus.WithLogger(zerolog.New(waits)))
	}()
	<-waits.seen
	stop()
	require.NoError(t, <-ended)
	err := bus.Run(t.Context(), "sleeper.example", never, bus.WithURL("nats://"+kit.FreeAddress(t)),
		bus.WithConnectTimeout(0))
	assert.ErrorContains(t, err, "connect sleeper.example: no broker at")
}

// TestRun_LosesConnection has the application close its connection, without which the program is of no use.
func TestRun_LosesConnection(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t)
	given, err := nats.Connect("", nats.InProcessServer(b.Broker()))
	require.NoError(t, err)
	p := startProgram(t, b, func(context.Context, *bus.Conn) error {
		given.Close()
		return nil
	}, bus.WithNATS(given))
	assert.ErrorContains(t, <-p.err,
		"run sleeper.example: the broker connection given with bus.WithNATS is closed, and does not come back")
}

// TestRunAll_Order holds that services start one after another, are ready when all are, and close in the opposite
// order.
func TestRunAll_Order(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		var order []string
		lines := new(kit.Lines)
		service := func(host string) bus.Service {
			return bus.Service{Host: host, Start: func(ctx context.Context, conn *bus.Conn) error {
				order = append(order, host)
				assert.Zero(t, lines.Count(`"ready"`))
				return serveSleeper(ctx, conn)
			}, Connect: []bus.ConnectOption{bus.WithVersion(host)}}
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- bus.RunAll(ctx, []bus.Service{service("first.example"), service("second.example")},
				bus.WithOptions(b.Options()...), bus.WithLogger(zerolog.New(lines)))
		}()
		synctest.Wait()
		assert.Equal(t, []string{"first.example", "second.example"}, order)
		assert.Equal(t, 2, lines.Count(`"ready"`))
		caller := b.Connect("caller.example")
		called := make(chan error, 1)
		go func() {
			called <- caller.Call(t.Context(), "https://second.example/sleep", bus.Args{"seconds": 9}, nil)
		}()
		synctest.Wait()
		stop()
		synctest.Wait()
		require.NoError(t, caller.Call(t.Context(), "https://first.example/sleep", nil, nil)) // while the second drains
		require.NoError(t, <-called)
		require.NoError(t, <-ended)
		assert.ErrorIs(t, caller.Call(t.Context(), "https://first.example/sleep", nil, nil), bus.ErrNoResponder)
	})
}

// TestRunAll_Fails holds that the failure of one service closes those before it, and that no later one starts.
func TestRunAll_Fails(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		failed := errors.New("the disk is full")
		never := func(context.Context, *bus.Conn) error {
			t.Error("start was called")
			return nil
		}
		err := bus.RunAll(t.Context(), []bus.Service{
			{Host: "first.example", Start: serveSleeper},
			{Host: "second.example", Start: func(context.Context, *bus.Conn) error { return failed }},
			{Host: "third.example", Start: never},
		}, bus.WithOptions(b.Options()...))
		require.ErrorIs(t, err, failed)
		err = b.Connect("caller.example").Call(t.Context(), "https://first.example/sleep", nil, nil)
		require.ErrorIs(t, err, bus.ErrNoResponder)
		require.EqualError(t, bus.RunAll(t.Context(), nil), "run : there are no services: pass at least one")
		without := []bus.Service{{Host: "a.example", Start: never}, {Host: "b.example"}}
		require.ErrorContains(t, bus.RunAll(t.Context(), without),
			"run a.example, b.example: start of b.example is nil")
		require.ErrorContains(t, bus.RunAll(t.Context(), []bus.Service{{Host: "a b", Start: never}},
			bus.WithOptions(b.Options()...)), `"a b"`)
	})
}

// TestRunAll_Probes holds that probes tell of all services.
func TestRunAll_Probes(t *testing.T) {
	t.Parallel()
	b, probes := kit.NewBus(t), kit.FreeAddress(t)
	starting, release, ready := make(chan struct{}), make(chan struct{}), newLogged(`"ready"`)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- bus.RunAll(ctx, []bus.Service{
			{Host: "first.example", Start: serveSleeper},
			{Host: "second.example", Start: func(ctx context.Context, conn *bus.Conn) error {
				close(starting)
				<-release
				return serveSleeper(ctx, conn)
			}},
		}, bus.WithOptions(b.Options()...), bus.WithProbes(probes), bus.WithLogger(zerolog.New(ready)))
	}()
	<-starting
	checkProbe(t, probes, "/-/ready", 503, "starting, or stopping\n")
	close(release)
	<-ready.seen
	checkProbe(t, probes, "/-/ready", 200, "ready\n")
	_, metrics := probe(t, probes, "/metrics")
	assert.Contains(t, metrics, `host="first.example"`)
	assert.Contains(t, metrics, `host="second.example"`)
	stop()
	require.NoError(t, <-ended)
}

// TestRun_Notifies holds what a supervisor is sent (sd_notify(3)).
func TestRun_Notifies(t *testing.T) {
	b, path := kit.NewBus(t), filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	defer func() { _ = socket.Close() }()
	read := func() string {
		state := make([]byte, 64)
		n, err := socket.Read(state)
		require.NoError(t, err)
		return string(state[:n])
	}
	t.Setenv("NOTIFY_SOCKET", path)
	p := startProgram(t, b, serveSleeper)
	assert.Equal(t, "READY=1", read())
	p.stop()
	assert.Equal(t, "STOPPING=1", read())
	require.NoError(t, <-p.err)
	t.Setenv("NOTIFY_SOCKET", path+".none")
	p = startProgram(t, b, func(context.Context, *bus.Conn) error { return nil }, bus.WithLogger(zerolog.New(io.Discard)))
	p.stop()
	require.NoError(t, <-p.err)
}
