package bus_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

const otherHost = "other.example"

// slow is an instance that is not ours, and takes its time before it acks and answers.
type slow struct {
	host, id string
	path     string // "who" if empty
	takes    time.Duration
}

// serve serves GET at the path.
func (s slow) serve(t *testing.T, raw *nats.Conn, plane string) {
	t.Helper()
	answers := &scripted{host: s.host, id: s.id, plane: plane, raw: raw, script: []wire.OpCode{ack, res}}
	receivers := map[string]nats.MsgHandler{
		subject.Subscription(plane, "443", s.host, "GET", cmp.Or(s.path, "who")): func(message *nats.Msg) {
			time.AfterFunc(s.takes, func() { answers.receive(message) })
		},
		subject.Response(plane, s.host, s.id): func(*nats.Msg) {}, // it is alive
	}
	for to, receive := range receivers {
		_, err := raw.Subscribe(to, receive)
		require.NoError(t, err)
	}
	flush(t, raw)
}

func (b *bubble) newSlow(s slow) {
	b.t.Helper()
	s.serve(b.t, rawClient(b.t, b.testBus), b.Plane())
}

// greet tells every instance that it has come.
func (b *bubble) greet(s slow) {
	b.t.Helper()
	raw := rawClient(b.t, b.testBus)
	b.announce(raw, s.host, s.id)
	flush(b.t, raw)
}

// announce publishes a hello in the name of an instance.
func (b *bubble) announce(raw *nats.Conn, host, id string) {
	b.t.Helper()
	hello := wire.AppendRequest(nil, &wire.Request{
		Method: "POST", Target: "/hello", Host: "all:888", FromHost: host, FromID: id, MsgID: "hello", TimeBudget: time.Second, CallDepth: 1,
	})
	require.NoError(b.t, raw.Publish(subject.Subscription(b.Plane(), "888", "all", "POST", "hello"), hello))
}

// announceInvented announces instances that are not there, each of a host of its own.
func (b *bubble) announceInvented(count int) {
	b.t.Helper()
	raw := rawClient(b.t, b.testBus)
	for at := range count {
		b.announce(raw, fmt.Sprintf("h%d.example", at), "s1aaaaaaaa")
		if at%100 == 0 {
			flush(b.t, raw)
			synctest.Wait()
		}
	}
	flush(b.t, raw)
}

// publishFor makes a multicast and tells how long it took on the clock of the bubble.
func publishFor(t *testing.T, caller *bus.Conn, address string) (ids []string, took time.Duration) {
	t.Helper()
	began := time.Now()
	ids = publish(t, caller, address)
	return ids, time.Since(began)
}

// TestMulticast_FirstEndsEarly holds that a caller that has just come waits for a quarter of a second once, a first
// call to another path ends early, and later ones wait for nothing.
func TestMulticast_FirstEndsEarly(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		all := b.newWithoutQueue(calculatorHost, 4)
		caller := b.connect("caller.example")
		b.listenTo(caller, calculatorHost)
		for _, most := range []time.Duration{20 * time.Millisecond, 0} {
			ids, took := publishFor(t, caller, calculatorURL+"/who")
			assert.Equal(t, all, ids)
			assert.LessOrEqual(t, took, most)
		}
	})
}

// newWithoutQueue opens instances that serve all paths without a queue.
func (b *bubble) newWithoutQueue(host string, count int) (ids []string) {
	b.t.Helper()
	for range count {
		conn := b.connect(host)
		serve(b.t, conn, calculator{conn.ID()}, bus.NoQueue())
		ids = append(ids, conn.ID())
	}
	slices.Sort(ids)
	return ids
}

// listenTo has a caller learn which instances a host has, from a first multicast.
func (b *bubble) listenTo(caller *bus.Conn, host string) {
	b.t.Helper()
	_, took := publishFor(b.t, caller, "https://"+host+"/add?x=1&y=2")
	assert.GreaterOrEqual(b.t, took, 250*time.Millisecond)
}

// TestMulticast_EarlyEndMissesNone has an instance that takes far longer than the others, while something speaks for
// it.
func TestMulticast_EarlyEndMissesNone(t *testing.T) {
	t.Parallel()
	const lateID = "s1aaaaaaaa"
	late := slow{host: calculatorHost, id: lateID, takes: 200 * time.Millisecond}
	for name, prepare := range map[string]func(b *bubble) (caller *bus.Conn){
		"nothing is known yet": func(b *bubble) *bus.Conn {
			b.newCalculators(2)
			b.newSlow(late)
			return b.connect("caller.example")
		},
		"it has come since": func(b *bubble) *bus.Conn {
			b.newWithoutQueue(calculatorHost, 1)
			caller := b.connect("caller.example")
			b.listenTo(caller, calculatorHost)
			b.newSlow(late)
			b.greet(late)
			synctest.Wait()
			return caller
		},
		"no instance of ours is there": func(b *bubble) *bus.Conn {
			b.newSlow(slow{host: calculatorHost, id: "s2aaaaaaaa"})
			b.newSlow(slow{host: calculatorHost, id: "s3aaaaaaaa"})
			b.newSlow(late)
			return b.connect("caller.example")
		},
		"another one is slow": func(b *bubble) *bus.Conn {
			b.newCalculators(1)
			b.newSlow(slow{host: calculatorHost, id: "s2aaaaaaaa", takes: 10 * time.Millisecond})
			b.newSlow(slow{host: calculatorHost, id: "s3aaaaaaaa", takes: 60 * time.Millisecond})
			b.newSlow(late)
			return b.connect("caller.example")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, b *bubble) {
				caller := prepare(b)
				if ids := publish(t, caller, calculatorURL+"/who"); !slices.Contains(ids, lateID) {
					t.Errorf("only %v answered", ids)
				}
			})
		})
	}
}

// TestMulticast_EarlyEndWrongOnce has instances come that announce nothing, after the caller has learnt of the others.
func TestMulticast_EarlyEndWrongOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		caller := b.connect("caller.example")
		for _, host := range []string{calculatorHost, otherHost} {
			b.newWithoutQueue(host, 1)
			b.listenTo(caller, host)
			b.newSlow(slow{host: host, id: "s1aaaaaaaa", takes: 100 * time.Millisecond})
		}
		if ids := publish(t, caller, calculatorURL+"/who"); len(ids) != 1 {
			t.Fatalf("%v answered: nothing is learnt from this test", ids)
		}
		time.Sleep(time.Second) // on the clock of the bubble
		for _, host := range []string{calculatorHost, otherHost} {
			if ids := publish(t, caller, "https://"+host+"/who"); len(ids) != 2 {
				t.Errorf("of %s, %v answered afterwards; want two", host, ids)
			}
		}
	})
}

// TestMulticast_InventedGreetings has 17 000 instances greet that are not there, more than a caller remembers. It costs
// a full wait for each host at most, and those who come afterwards are all expected.
func TestMulticast_InventedGreetings(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		b.newWithoutQueue(calculatorHost, 2)
		caller := b.connect("caller.example")
		b.announceInvented(17_000)
		synctest.Wait()
		b.newWithoutQueue(otherHost, 2)
		late := slow{host: otherHost, id: "s1aaaaaaaa", takes: 200 * time.Millisecond}
		b.newSlow(late)
		b.greet(late)
		synctest.Wait()
		for _, host := range []string{calculatorHost, otherHost} {
			ids, first := publishFor(t, caller, "https://"+host+"/who")
			sums, _ := publishFor(t, caller, "https://"+host+"/add?x=1&y=2")
			if host == otherHost && !slices.Contains(ids, late.id) {
				t.Errorf("of %s, only %v answered", host, ids)
			}
			require.Len(t, sums, 2, host)
			assert.LessOrEqual(t, first, 500*time.Millisecond, host)
			_, third := publishFor(t, caller, "https://"+host+"/divide?x=4&y=2")
			if third > 20*time.Millisecond {
				t.Errorf("%s: a first call to another path took %s, want 20 ms at most", host, third)
			}
		}
	})
}

// TestMulticast_FirstAck holds that a multicast waits for its first ack as long as a unicast call, and no longer.
func TestMulticast_FirstAck(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name           string
		ackWait, takes time.Duration // takes: until the only instance acks
		answers        int
		most           time.Duration
	}{
		{"it comes in time", time.Second, 900 * time.Millisecond, 1, 1150 * time.Millisecond},
		{"it comes too late", time.Second, 1100 * time.Millisecond, 0, time.Second},
		{"calls wait but a little", time.Millisecond, 200 * time.Millisecond, 1, 450 * time.Millisecond},
		{"it takes too long for all", time.Millisecond, 300 * time.Millisecond, 0, 250 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, b *bubble) {
				b.newSlow(slow{host: calculatorHost, id: "s1aaaaaaaa", takes: test.takes})
				caller := b.connect("caller.example", bus.WithAckWait(test.ackWait))
				ids, took := publishFor(t, caller, calculatorURL+"/who")
				require.Len(t, ids, test.answers)
				assert.LessOrEqual(t, took, test.most)
			})
		})
	}
}

// TestMulticast_DiscoveryWaits asks all instances of the plane.
func TestMulticast_DiscoveryWaits(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		b.newCalculators(2)
		caller := b.connect("caller.example")
		ids, took := publishFor(t, caller, "https://all:888/ping")
		require.Len(t, ids, 3)
		assert.GreaterOrEqual(t, took, 250*time.Millisecond)
	})
}

// TestMulticast_ClusterWaits has an instance that may be at another broker, far away.
func TestMulticast_ClusterWaits(t *testing.T) {
	t.Parallel()
	started, err := broker.Start(broker.Listen("127.0.0.1:0"), broker.Config(`cluster { name: far, listen: "127.0.0.1:-1" }`))
	require.NoError(t, err)
	t.Cleanup(started.Close)
	connect := func(host string) *bus.Conn {
		conn, err := bus.Connect(t.Context(), host, bus.WithURL(started.URL()), bus.WithPlane("far"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		return conn
	}
	near := connect(calculatorHost)
	serve(t, near, calculator{near.ID()}, bus.Method("Who", bus.NoQueue()))
	raw, err := nats.Connect(started.URL())
	require.NoError(t, err)
	t.Cleanup(raw.Close)
	slow{host: calculatorHost, id: "s1aaaaaaaa", takes: 60 * time.Millisecond}.serve(t, raw, "far")
	if ids := publish(t, connect("caller.example"), calculatorURL+"/who"); len(ids) != 2 {
		t.Errorf("%v answered, want two", ids)
	}
}

// TestMulticast_Streamed looks at the clock of the bubble when an answer is yielded.
func TestMulticast_Streamed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		want := []time.Duration{0, time.Second, 3 * time.Second}
		for i, takes := range want {
			b.newSlow(slow{host: calculatorHost, id: fmt.Sprintf("a%daaaaaaaa", i), takes: takes})
		}
		newScripted(t, b.testBus, calculatorHost, ack) // holds the call open
		caller := b.connect("caller.example")
		var got []time.Duration
		began := time.Now()
		for response, err := range caller.Multicast(mustRequest(t, calculatorURL+"/who")) {
			require.NoError(t, err)
			_ = response.Body.Close()
			if got = append(got, time.Since(began)); len(got) == len(want) {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("yielded after %v, want %v", got, want)
		}
	})
}
