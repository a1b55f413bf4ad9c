package bustest_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
)

// Slow is a slow service.
type Slow struct{}

// Wait returns after some seconds.
func (Slow) Wait(ctx context.Context, seconds int) error {
	select {
	case <-time.After(time.Duration(seconds) * time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestVirtual_Timeout holds that a time-out takes exactly 20 s of virtual time.
func TestVirtual_Timeout(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		slow, caller := b.Connect("slow.example"), b.Connect("caller.example")
		require.NoError(t, bus.Serve(slow, Slow{}))
		begun := time.Now()
		err := caller.Call(t.Context(), "https://slow.example/wait", bus.Args{"seconds": 30}, nil)
		assert.ErrorIs(t, err, bus.ErrTimeout)
		assert.Equal(t, 20*time.Second, time.Since(begun))
	})
}

// TestVirtual_BesideOthers runs buses in and outside of bubbles in parallel. The code under test closes each during
// calls. Outside, nats.go uses the timers that the whole process shares.
func TestVirtual_BesideOthers(t *testing.T) {
	t.Parallel()
	for range 3 {
		t.Run("virtual", func(t *testing.T) {
			t.Parallel()
			for range 3 {
				bustest.Virtual(t, useAndClose)
			}
		})
		t.Run("ordinary", func(t *testing.T) {
			t.Parallel()
			for range 3 {
				b := bustest.New(t)
				useAndClose(t, b)
				raw, err := nats.Connect("", nats.InProcessServer(b.Broker()))
				require.NoError(t, err)
				assert.NoError(t, raw.Flush())
				raw.Close()
			}
		})
	}
}

// useAndClose is code under test that closes its connections.
func useAndClose(t *testing.T, b *bustest.Bus) {
	server, err := bus.Connect(t.Context(), "calculator.example", b.Options()...)
	require.NoError(t, err)
	assert.NoError(t, bus.Serve(server, Calculator{}))
	caller := b.Connect("caller.example", bus.WithoutShortCircuit())
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			assert.NoError(t, caller.Call(t.Context(), "https://calculator.example/add", bus.Args{"x": 1}, nil))
		})
	}
	calls.Wait()
	for range 2 { // the second time there is nothing to do
		assert.NoError(t, server.Close(t.Context()))
	}
	if err := caller.Call(t.Context(), "https://calculator.example/add", nil, nil); !errors.Is(err, bus.ErrNoResponder) {
		t.Errorf("a call to the closed service: %v", err)
	}
}

// TestVirtual_DrainLosesNothing stops one of two instances repeatedly during calls.
func TestVirtual_DrainLosesNothing(t *testing.T) {
	t.Parallel()
	for name, sharing := range map[string][]bus.ConnectOption{
		"short circuit":       nil,
		"one broker client":   {bus.WithoutShortCircuit()},
		"many broker clients": {bus.WithoutSharing(), bus.WithoutShortCircuit()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) { drainUnderLoad(t, b, sharing) })
		})
	}
}

func drainUnderLoad(t *testing.T, b *bustest.Bus, options []bus.ConnectOption) {
	t.Helper()
	start := func() *bus.Conn {
		conn := b.Connect("slow.example", options...)
		err := conn.Handle("GET", "/pause", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			time.Sleep(3 * time.Millisecond)
		}))
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	caller := b.Connect("caller.example", options...)
	start()
	leaves := start()
	var (
		load  sync.WaitGroup
		calls atomic.Int64
		stop  atomic.Bool
	)
	for i := range 20 {
		load.Go(func() {
			for ; !stop.Load(); time.Sleep(time.Duration(i%3) * time.Millisecond) { // not to sleep is to hold Close up
				if err := caller.Call(t.Context(), "GET https://slow.example/pause", nil, nil); err != nil {
					t.Errorf("lost: %v", err)
				}
				calls.Add(1)
			}
		})
	}
	for range 15 {
		next := start()
		time.Sleep(10 * time.Millisecond)
		assert.NoError(t, leaves.Close(t.Context()))
		leaves = next
	}
	stop.Store(true)
	load.Wait()
	if calls.Load() < 100 {
		t.Errorf("only %d calls were made", calls.Load())
	}
}

// TestVirtual_CloseWithoutTime closes a connection with an ended context, so that Close cannot wait for a quiet moment.
func TestVirtual_CloseWithoutTime(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		conn := b.Connect("calculator.example")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := conn.Close(ctx); err != nil {
			t.Errorf("nothing was cut off, yet Close returns %v", err)
		}
		if conn.Connected() {
			t.Error("still connected")
		}
	})
}

// TestVirtual_RawClient uses the permitted methods of a raw client, and an option of the broker.
func TestVirtual_RawClient(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		raw, err := nats.Connect("", nats.InProcessServer(b.Broker()))
		require.NoError(t, err)
		defer raw.Close()
		_, err = raw.Subscribe("question", func(message *nats.Msg) { _ = message.Respond([]byte("answer")) })
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		answer, err := raw.RequestWithContext(ctx, "question", nil)
		require.NoError(t, err)
		assert.Equal(t, "answer", string(answer.Data))
		assert.Equal(t, int64(4096), raw.MaxPayload())
		own := b.Connect("own.example", bus.WithNATS(raw)) // it is not drained, though it is not ours
		err = own.Close(t.Context())
		require.NoError(t, err, "close")
		assert.True(t, raw.IsConnected(), "close")
		synctest.Wait()
	}, broker.MaxPayload(4096))
}

// TestVirtual_RefusesJetStream holds that a broker with JetStream, which would stop the clock, fails the test.
func TestVirtual_RefusesJetStream(t *testing.T) {
	t.Parallel()
	failsInChild(t, func(t *testing.T) {
		bustest.Virtual(t, func(*testing.T, *bustest.Bus) { t.Error("the test runs") }, broker.JetStream(t.TempDir()))
	}, "bustest: JetStream does not work in virtual time, as it uses the clock of the whole process; "+
		"test stored events with bustest.New")
}

// TestNew_RefusesBubble holds that a bus in a foreign bubble, which could crash another test, fails the test.
func TestNew_RefusesBubble(t *testing.T) {
	t.Parallel()
	const refusal = "bustest: this is a synctest bubble, where a bus of bustest.New would crash other tests: " +
		"use bustest.Virtual instead of bustest.New and synctest.Test"
	for name, test := range map[string]func(t *testing.T){
		"new": func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { bustest.New(t) })
		},
		"connect": func(t *testing.T) {
			b := bustest.New(t)
			synctest.Test(t, func(*testing.T) { b.Connect("caller.example") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failsInChild(t, test, "virtual_test.go:", refusal)
		})
	}
}

// TestVirtual_ExplainsHangs runs failing tests in child processes, and checks their output.
func TestVirtual_ExplainsHangs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		run   func(t *testing.T, b *bustest.Bus)
		texts []string
	}{
		{"goroutine left",
			func(_ *testing.T, _ *bustest.Bus) { go waitForEver() },
			[]string{"--- FAIL: TestVirtual_ExplainsHangs/goroutine_left", "virtual_test.go:",
				"ended with goroutines still running, 1 of them; stop each before the test ends, and wait for it",
				"bustest_test.waitForEver"},
		},
		{"open connections",
			func(t *testing.T, b *bustest.Bus) {
				b.Connect("closed.example")
				for _, host := range []string{"zoo.example", "left.example", "left.example"} {
					connect(t, host, b.Options()...)
				}
				connect(t, "alone.example", append(b.Options(), bus.WithoutSharing())...)
			},
			[]string{"bustest: the test ended with connections still open: alone.example, left.example (2 of them), zoo.example;" +
				" close each before the test ends, or open it with b.Connect, which does that (deadlock: " +
				"main bubble goroutine has exited but blocked goroutines remain)\n"},
		},
		{"open connection, goroutine",
			func(t *testing.T, b *bustest.Bus) {
				connect(t, "left.example", b.Options()...)
				go waitForEver()
			},
			[]string{"connections still open: left.example; close each before the test ends, or open it with b.Connect, " +
				"which does that; and with goroutines still running, 1 of them (deadlock", "bustest_test.waitForEver"},
		},
		{"raw client",
			func(t *testing.T, b *bustest.Bus) {
				_, err := nats.Connect("", nats.InProcessServer(b.Broker()))
				require.NoError(t, err)
			},
			[]string{"bustest: the test ended with a NATS connection still open; close it before the test ends (deadlock"},
		},
		{"raw handler",
			func(t *testing.T, b *bustest.Bus) {
				raw, err := nats.Connect("", nats.InProcessServer(b.Broker()))
				require.NoError(t, err)
				_, err = raw.Subscribe("question", func(*nats.Msg) { waitForEver() })
				require.NoError(t, err)
				require.NoError(t, raw.Publish("question", nil))
				synctest.Wait()
				raw.Close()
			},
			[]string{"ended with goroutines still running, 1 of them", "bustest_test.waitForEver"},
		},
		{"test hangs",
			func(_ *testing.T, _ *bustest.Bus) { waitForEver() },
			[]string{"panic: bustest: the clock of TestVirtual_ExplainsHangs/test_hangs has advanced by 168h0m0s",
				"it waits here", "bustest_test.waitForEver"},
		},
		{"test panics",
			func(_ *testing.T, _ *bustest.Bus) { panic("boom") },
			[]string{"panic: boom"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			failsInChild(t, func(t *testing.T) { bustest.Virtual(t, test.run) }, test.texts...)
		})
	}
}

// connect opens a connection that is not closed with the test.
func connect(t *testing.T, host string, options ...bus.ConnectOption) {
	t.Helper()
	_, err := bus.Connect(t.Context(), host, options...)
	require.NoError(t, err)
}

func waitForEver() { <-make(chan struct{}) }
