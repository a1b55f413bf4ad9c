package multicast_test

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
	"github.com/busline/busline/bus/test/kit"
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
	answers := &kit.Scripted{Host: s.host, ID: s.id, Plane: plane, Raw: raw, Script: []wire.OpCode{kit.Ack, kit.Res}}
	receivers := map[string]nats.MsgHandler{
		subject.Subscription(plane, "443", s.host, "GET", cmp.Or(s.path, "who")): func(message *nats.Msg) {
			time.AfterFunc(s.takes, func() { answers.Receive(message) })
		},
		subject.Response(plane, s.host, s.id): func(*nats.Msg) {}, // it is alive
	}
	for to, receive := range receivers {
		_, err := raw.Subscribe(to, receive)
		require.NoError(t, err)
	}
	kit.Flush(t, raw)
}

func newSlow(b *kit.Bubble, s slow) {
	b.T.Helper()
	s.serve(b.T, kit.RawClient(b.T, b.World), b.Plane())
}

// greet tells every instance that it has come.
func greet(b *kit.Bubble, s slow) {
	b.T.Helper()
	raw := kit.RawClient(b.T, b.World)
	announce(b, raw, s.host, s.id)
	kit.Flush(b.T, raw)
}

// announce publishes a hello in the name of an instance.
func announce(b *kit.Bubble, raw *nats.Conn, host, id string) {
	b.T.Helper()
	hello := wire.AppendRequest(nil, &wire.Request{
		Method: "POST", Target: "/hello", Host: "all:888", FromHost: host, FromID: id, MsgID: "hello",
		TimeBudget: time.Second, CallDepth: 1,
	})
	require.NoError(b.T, raw.Publish(subject.Subscription(b.Plane(), "888", "all", "POST", "hello"), hello))
}

// announceInvented announces instances that are not there, each of a host of its own.
func announceInvented(b *kit.Bubble, count int) {
	b.T.Helper()
	raw := kit.RawClient(b.T, b.World)
	for at := range count {
		announce(b, raw, fmt.Sprintf("h%d.example", at), "s1aaaaaaaa")
		if at%100 == 0 {
			kit.Flush(b.T, raw)
			synctest.Wait()
		}
	}
	kit.Flush(b.T, raw)
}

// publishFor makes a multicast and tells how long it took on the clock of the bubble.
func publishFor(t *testing.T, caller *bus.Conn, address string) (ids []string, took time.Duration) {
	t.Helper()
	began := time.Now()
	ids = kit.MulticastIDs(t, caller, address)
	return ids, time.Since(began)
}

// TestMulticast_FirstEndsEarly holds that a caller that has just come waits for a quarter of a second once, a first
// call to another path ends early, and later ones wait for nothing.
func TestMulticast_FirstEndsEarly(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		all := newWithoutQueue(b, kit.CalculatorHost, 4)
		caller := b.Connect("caller.example")
		listenTo(b, caller, kit.CalculatorHost)
		for _, most := range []time.Duration{20 * time.Millisecond, 0} {
			ids, took := publishFor(t, caller, kit.CalculatorURL+"/who")
			assert.Equal(t, all, ids)
			assert.LessOrEqual(t, took, most)
		}
	})
}

// newWithoutQueue opens instances that serve all paths without a queue.
func newWithoutQueue(b *kit.Bubble, host string, count int) (ids []string) {
	b.T.Helper()
	for range count {
		conn := b.Connect(host)
		kit.Serve(b.T, conn, kit.Calculator{ID: conn.ID()}, bus.NoQueue())
		ids = append(ids, conn.ID())
	}
	slices.Sort(ids)
	return ids
}

// listenTo has a caller learn which instances a host has, from a first multicast.
func listenTo(b *kit.Bubble, caller *bus.Conn, host string) {
	b.T.Helper()
	_, took := publishFor(b.T, caller, "https://"+host+"/add?x=1&y=2")
	assert.GreaterOrEqual(b.T, took, 250*time.Millisecond)
}

// TestMulticast_EarlyEndMissesNone has an instance that takes far longer than the others, while something speaks for
// it.
func TestMulticast_EarlyEndMissesNone(t *testing.T) {
	t.Parallel()
	const lateID = "s1aaaaaaaa"
	late := slow{host: kit.CalculatorHost, id: lateID, takes: 200 * time.Millisecond}
	for name, prepare := range map[string]func(b *kit.Bubble) (caller *bus.Conn){
		"nothing is known yet": func(b *kit.Bubble) *bus.Conn {
			b.NewCalculators(2)
			newSlow(b, late)
			return b.Connect("caller.example")
		},
		"it has come since": func(b *kit.Bubble) *bus.Conn {
			newWithoutQueue(b, kit.CalculatorHost, 1)
			caller := b.Connect("caller.example")
			listenTo(b, caller, kit.CalculatorHost)
			newSlow(b, late)
			greet(b, late)
			synctest.Wait()
			return caller
		},
		"no instance of ours is there": func(b *kit.Bubble) *bus.Conn {
			newSlow(b, slow{host: kit.CalculatorHost, id: "s2aaaaaaaa"})
			newSlow(b, slow{host: kit.CalculatorHost, id: "s3aaaaaaaa"})
			newSlow(b, late)
			return b.Connect("caller.example")
		},
		"another one is slow": func(b *kit.Bubble) *bus.Conn {
			b.NewCalculators(1)
			newSlow(b, slow{host: kit.CalculatorHost, id: "s2aaaaaaaa", takes: 10 * time.Millisecond})
			newSlow(b, slow{host: kit.CalculatorHost, id: "s3aaaaaaaa", takes: 60 * time.Millisecond})
			newSlow(b, late)
			return b.Connect("caller.example")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
				caller := prepare(b)
				if ids := kit.MulticastIDs(t, caller, kit.CalculatorURL+"/who"); !slices.Contains(ids, lateID) {
					t.Errorf("only %v answered", ids)
				}
			})
		})
	}
}

// TestMulticast_EarlyEndWrongOnce has instances come that announce nothing, after the caller has learnt of the others.
func TestMulticast_EarlyEndWrongOnce(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller := b.Connect("caller.example")
		for _, host := range []string{kit.CalculatorHost, otherHost} {
			newWithoutQueue(b, host, 1)
			listenTo(b, caller, host)
			newSlow(b, slow{host: host, id: "s1aaaaaaaa", takes: 100 * time.Millisecond})
		}
		if ids := kit.MulticastIDs(t, caller, kit.CalculatorURL+"/who"); len(ids) != 1 {
			t.Fatalf("%v answered: nothing is learnt from this test", ids)
		}
		time.Sleep(time.Second) // on the clock of the bubble
		for _, host := range []string{kit.CalculatorHost, otherHost} {
			if ids := kit.MulticastIDs(t, caller, "https://"+host+"/who"); len(ids) != 2 {
				t.Errorf("of %s, %v answered afterwards; want two", host, ids)
			}
		}
	})
}

// TestMulticast_InventedGreetings has 17 000 instances greet that are not there, more than a caller remembers. It costs
// a full wait for each host at most, and those who come afterwards are all expected.
func TestMulticast_InventedGreetings(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		newWithoutQueue(b, kit.CalculatorHost, 2)
		caller := b.Connect("caller.example")
		announceInvented(b, 17_000)
		synctest.Wait()
		newWithoutQueue(b, otherHost, 2)
		late := slow{host: otherHost, id: "s1aaaaaaaa", takes: 200 * time.Millisecond}
		newSlow(b, late)
		greet(b, late)
		synctest.Wait()
		for _, host := range []string{kit.CalculatorHost, otherHost} {
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
			kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
				newSlow(b, slow{host: kit.CalculatorHost, id: "s1aaaaaaaa", takes: test.takes})
				caller := b.Connect("caller.example", bus.WithAckWait(test.ackWait))
				ids, took := publishFor(t, caller, kit.CalculatorURL+"/who")
				require.Len(t, ids, test.answers)
				assert.LessOrEqual(t, took, test.most)
			})
		})
	}
}

// TestMulticast_DiscoveryWaits asks all instances of the plane.
func TestMulticast_DiscoveryWaits(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		b.NewCalculators(2)
		caller := b.Connect("caller.example")
		ids, took := publishFor(t, caller, "https://all:888/ping")
		require.Len(t, ids, 3)
		assert.GreaterOrEqual(t, took, 250*time.Millisecond)
	})
}

// TestMulticast_ClusterWaits has an instance that may be at another broker, far away.
func TestMulticast_ClusterWaits(t *testing.T) {
	t.Parallel()
	started, err := broker.Start(broker.Listen("127.0.0.1:0"),
		broker.Config(`cluster { name: far, listen: "127.0.0.1:-1" }`))
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
	near := connect(kit.CalculatorHost)
	kit.Serve(t, near, kit.Calculator{ID: near.ID()}, bus.Method("Who", bus.NoQueue()))
	raw, err := nats.Connect(started.URL())
	require.NoError(t, err)
	t.Cleanup(raw.Close)
	slow{host: kit.CalculatorHost, id: "s1aaaaaaaa", takes: 60 * time.Millisecond}.serve(t, raw, "far")
	if ids := kit.MulticastIDs(t, connect("caller.example"), kit.CalculatorURL+"/who"); len(ids) != 2 {
		t.Errorf("%v answered, want two", ids)
	}
}

// TestMulticast_Streamed looks at the clock of the bubble when an answer is yielded.
func TestMulticast_Streamed(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		want := []time.Duration{0, time.Second, 3 * time.Second}
		for i, takes := range want {
			newSlow(b, slow{host: kit.CalculatorHost, id: fmt.Sprintf("a%daaaaaaaa", i), takes: takes})
		}
		kit.NewScripted(t, b.World, kit.CalculatorHost, kit.Ack) // holds the call open
		caller := b.Connect("caller.example")
		var got []time.Duration
		began := time.Now()
		for response, err := range caller.Multicast(kit.MustRequest(t, kit.CalculatorURL+"/who")) {
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
