package portal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/internal/portaltest"
)

// plane counts how often a portal asks instances whether they run, and announces what the test likes. It needs a
// bubble. A client of the broker that listened to the questions would hide that no instance gets them.
type plane struct {
	t          *testing.T
	name       string
	raw        *nats.Conn
	all, alone atomic.Int64 // pings to all instances, and to one
}

func newPlane(t *testing.T, b *bustest.Bus) *plane {
	t.Helper()
	raw, err := nats.Connect("", nats.InProcessServer(b.Broker()))
	require.NoError(t, err)
	t.Cleanup(raw.Close)
	return &plane{t: t, name: b.Plane(), raw: raw}
}

// watch serves a portal whose pings are counted.
func (p *plane) watch(b *bustest.Bus) *watched {
	p.t.Helper()
	return watch(p.t, b, bus.WithoutShortCircuit(), bus.WithObservers(func(next bus.CallFunc) bus.CallFunc {
		return func(ctx context.Context, call *bus.Exchange) error {
			switch {
			case call.Side != bus.ClientSide || call.Path != "/ping":
			case call.Multicast:
				p.all.Add(1)
			default:
				p.alone.Add(1)
			}
			return next(ctx, call)
		}
	}))
}

// announce announces in the name of an instance that it has come, "hello", or leaves, "bye".
func (p *plane) announce(what, host, id string) {
	p.t.Helper()
	require.NoError(p.t, p.raw.Publish(subject.Subscription(p.name, "888", "all", "POST", what),
		wire.AppendRequest(nil, &wire.Request{
			Method: "POST", Target: "/" + what, Host: "all:888", FromHost: host, FromID: id, MsgID: what,
			TimeBudget: time.Second, CallDepth: 1,
		})))
}

// announceInvented announces instances that are not there, as many as are taken in a second.
func (p *plane) announceInvented(from, count int) {
	p.t.Helper()
	for at := range count {
		p.announce("hello", fmt.Sprintf("h%d.example", from+at), "i1aaaaaaaa")
		if at%100 == 99 {
			synctest.Wait()
		}
	}
}

// hosts returns the hosts with instances, when what the portal has looked up is too old.
func (w *watched) hosts() string {
	w.t.Helper()
	time.Sleep(3 * time.Second)
	var listed struct{ Hosts map[string]json.RawMessage }
	w.fetch("/instances.json", &listed)
	return strings.Join(slices.Sorted(maps.Keys(listed.Hosts)), " ")
}

// TestDiscovery_Announcements holds that the portal notices who comes and goes, and asks the whole plane only at first,
// if it may have missed something, and once a minute.
func TestDiscovery_Announcements(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		p := newPlane(t, b)
		serveCounter(t, b.Connect("counter.example"))
		w := p.watch(b)
		require.Equal(t, "counter.example", w.hosts())
		late := b.Connect("late.example")
		serveCounter(t, late)
		assert.Equal(t, "counter.example late.example", w.hosts(), "it has come")
		assert.LessOrEqual(t, p.alone.Load(), int64(2))
		require.NoError(t, late.Close(t.Context()))
		assert.Equal(t, "counter.example", w.hosts(), "it has left")
		var isAway atomic.Bool
		shaky := b.Connect("late.example", bus.WithReadiness(func(context.Context) error {
			if isAway.Load() {
				return errors.New("away")
			}
			return nil
		}))
		serveCounter(t, shaky)
		for _, away := range []bool{true, false} {
			isAway.Store(away)
			time.Sleep(2 * time.Second)
			w.hosts()
			var listed struct {
				Hosts map[string][]struct{ NotReady bool }
			}
			w.fetch("/instances.json", &listed)
			assert.Equal(t, away, listed.Hosts["late.example"][0].NotReady)
		}
		require.NoError(t, shaky.Close(t.Context()))
		assert.Equal(t, int64(1), p.all.Load())
		p.announce("bye", "counter.example", "i1aaaaaaaa")
		asked := p.alone.Load()
		for range 5 {
			assert.Equal(t, "counter.example", w.hosts())
		}
		assert.LessOrEqual(t, p.alone.Load(), asked+20, "only one that is not there is asked")
		assert.Equal(t, int64(1), p.all.Load())
		p.announceInvented(0, 6000)
		assert.Equal(t, "counter.example", w.hosts(), "some were missed")
		assert.Equal(t, int64(2), p.all.Load(), "some were missed")
		time.Sleep(time.Hour)
		assert.Equal(t, int64(2), p.all.Load(), "without a reader nothing is asked")
		for range 40 {
			w.hosts()
		}
		assert.Equal(t, int64(4), p.all.Load(), "in two minutes")
	})
}

// TestDiscovery_ForgedBye holds that an instance that another one says leaves stays listed.
func TestDiscovery_ForgedBye(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		p := newPlane(t, b)
		counter := b.Connect("counter.example")
		serveCounter(t, counter)
		w := p.watch(b)
		require.Equal(t, "counter.example", w.hosts())
		p.announce("bye", "counter.example", counter.ID())
		assert.Equal(t, "counter.example", w.hosts())
		assert.Equal(t, int64(1), p.alone.Load())
		assert.Equal(t, int64(1), p.all.Load())
	})
}

// TestDiscovery_Died holds that an instance that says nothing is gone after a minute, or as soon as the map asks.
func TestDiscovery_Died(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		looks  func(w *watched)
		within time.Duration
	}{
		{"documents", func(*watched) {}, 70 * time.Second},
		{"map", func(w *watched) { w.look("") }, 8 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
				serveCounter(t, b.Connect("counter.example"))
				foreign := portaltest.NewForeignInstance(t, b, "foreign.example")
				w := watch(t, b, bus.WithoutShortCircuit())
				require.Equal(t, "counter.example foreign.example", w.hosts())
				test.looks(w)
				foreign.Raw.Close()
				died := time.Now()
				for w.hosts() != "counter.example" {
					require.Less(t, time.Since(died), test.within)
					test.looks(w)
				}
			})
		})
	}
}

// shorter returns how often a test does something: less often with -short.
func shorter(times int) int {
	if testing.Short() {
		return times / 2
	}
	return times
}

// TestDiscovery_Storm has 100 000 instances announced that are not there. Those that are stay listed, and few of the
// others are asked.
func TestDiscovery_Storm(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		p := newPlane(t, b)
		serveCounter(t, b.Connect("counter.example"))
		w := p.watch(b)
		require.Equal(t, "counter.example", w.hosts())
		rounds := shorter(25)
		for at := range rounds {
			p.announceInvented(4000*at, 4000)
			assert.Equal(t, "counter.example", w.hosts())
		}
		assert.LessOrEqual(t, p.all.Load(), int64(rounds+rounds/5))
		assert.LessOrEqual(t, p.alone.Load(), int64(120*rounds))
	})
	assert.Equal(t, 128, portal.Marked(100_000))
}

// TestDiscovery_Flood holds that the whole plane is asked every 5 s at most while so much is announced that some is
// missed.
func TestDiscovery_Flood(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		p := newPlane(t, b)
		serveCounter(t, b.Connect("counter.example"))
		w := p.watch(b)
		require.Equal(t, "counter.example", w.hosts())
		begun := time.Now()
		for range shorter(10) {
			p.announceInvented(0, 6000)
			assert.Equal(t, "counter.example", w.hosts())
		}
		assert.InDelta(t, time.Since(begun)/(5*time.Second), p.all.Load(), 2)
	})
}

// TestDocumentCache_Hello counts how often documents are fetched: at first, when the host announces something, and
// about once a minute.
func TestDocumentCache_Hello(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		p := newPlane(t, b)
		foreign := portaltest.NewForeignInstance(t, b, "foreign.example")
		w := p.watch(b)
		fetched := func(want int, why string) {
			t.Helper()
			w.hosts()
			assert.Equal(t, want, foreign.Asked("/openapi.json"), why)
		}
		for range 5 {
			fetched(1, "nothing has changed")
		}
		p.announce("hello", "other.example", "i1aaaaaaaa")
		fetched(1, "of another host")
		p.announce("hello", foreign.Host, foreign.ID)
		fetched(2, "it has something new")
		fetched(2, "which is known now")
		foreign.Tells("/ping", `{"host":"foreign.example","id":"s1aaaaaaaa","version":"2","ports":[443],"digest":"abc"}`)
		time.Sleep(20 * time.Second)
		before := foreign.Asked("/openapi.json")
		for range 60 {
			w.hosts()
		}
		assert.InDelta(t, before+4, foreign.Asked("/openapi.json"), 2.5, "in three minutes")
	})
}

// TestDocumentCache_NewDigest holds that a document is fetched as soon as an instance announces another one.
func TestDocumentCache_NewDigest(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		conn := b.Connect("counter.example")
		serveCounter(t, conn)
		w := watch(t, b, bus.WithoutShortCircuit())
		described := func() string {
			time.Sleep(3 * time.Second)
			var document struct{ Paths map[string]json.RawMessage }
			w.fetch("/openapi.json", &document)
			return strings.Join(slices.Sorted(maps.Keys(document.Paths)), " ")
		}
		require.NotContains(t, described(), "/distance")
		require.NoError(t, bus.Serve(conn, calculator{}))
		assert.Contains(t, described(), "/counter.example:443/distance")
	})
}
