package multicast_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// TestAnnouncements_AreNotAnswered counts what instances cost that come and go: a few messages each, whatever the
// number of the others.
func TestAnnouncements_AreNotAnswered(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		announced := b.Listen(subject.Subscription(b.Plane(), "888", "all", "POST", ">"))
		answers := b.Listen(b.Plane() + ".r.>")
		const instances = 20
		conns := make([]*bus.Conn, instances)
		for i := range conns {
			conns[i] = b.Connect(fmt.Sprintf("h%d.example", i))
			kit.Serve(t, conns[i], kit.Calculator{})
		}
		time.Sleep(2 * time.Second) // for the announcement of the documents
		for _, conn := range conns {
			require.NoError(t, conn.Close(t.Context()))
		}
		synctest.Wait()
		assert.Len(t, announced, 4*instances, "hello, something new, the document, bye")
		assert.Empty(t, answers)
		for _, conn := range conns {
			assert.Zero(t, conn.Stats().UnmatchedResponses)
		}
	})
}

// TestAnnouncements_Forged has 100 000 instances announced, all made up, more than one takes: that is logged once a
// second, and the next multicast misses none.
func TestAnnouncements_Forged(t *testing.T) {
	t.Parallel()
	// the short circuit would do the same: announcements come over the broker
	bustest.Virtual(t, func(t *testing.T, virtual *bustest.Bus) {
		b := &kit.Bubble{T: t, World: kit.Transports()["broker"](virtual)}
		log := new(kit.Lines)
		caller := b.Connect("caller.example", bus.WithLogger(zerolog.New(log)))
		newWithoutQueue(b, kit.CalculatorHost, 2)
		listenTo(b, caller, kit.CalculatorHost)
		announceInvented(b, 100_000)
		late := slow{host: kit.CalculatorHost, id: "s1aaaaaaaa", takes: 200 * time.Millisecond}
		newSlow(b, late)
		greet(b, late)
		synctest.Wait()
		assert.Equal(t, 1, log.Count("too many announcements of other instances"), log)
		assert.Contains(t, kit.MulticastIDs(t, caller, kit.CalculatorURL+"/who"), late.id)
	})
}

// TestAnnouncements_OldGreeting has an instance that is not ours, and still acks and answers announcements: that
// disturbs none, and it is called like any other.
func TestAnnouncements_OldGreeting(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		old := slow{host: kit.CalculatorHost, id: "s1aaaaaaaa", takes: 200 * time.Millisecond}
		raw := kit.RawClient(t, b.World)
		answers := &kit.Scripted{Host: old.host, ID: old.id, Plane: b.Plane(), Raw: raw,
			Script: []wire.OpCode{kit.Ack, kit.Res}}
		for _, announcement := range []string{"hello", "bye"} {
			_, err := raw.Subscribe(subject.Subscription(b.Plane(), "888", "all", "POST", announcement), answers.Receive)
			require.NoError(t, err)
		}
		kit.Flush(t, raw)
		log := new(kit.Lines)
		caller := b.Connect("caller.example", bus.WithLogger(zerolog.New(log).Level(zerolog.WarnLevel)))
		ids := newWithoutQueue(b, kit.CalculatorHost, 2)
		listenTo(b, caller, kit.CalculatorHost)
		old.serve(t, raw, b.Plane())
		greet(b, old)
		synctest.Wait()
		ids = append(ids, old.id)
		for range 3 {
			assert.ElementsMatch(t, ids, kit.MulticastIDs(t, caller, kit.CalculatorURL+"/who"))
		}
		synctest.Wait()
		assert.Empty(t, log.String())
	})
}

// TestAnnouncements_Denied has an instance that the broker lets announce nothing: one multicast may miss it, the next
// one does not.
func TestAnnouncements_Denied(t *testing.T) {
	t.Parallel()
	e := kit.NewEnforcing(t, map[string]string{"first": "", "caller.example": "",
		kit.CalculatorHost: `permissions { publish { deny: ["*.888.all.>"] } }`})
	newInstance := func(options ...bus.ConnectOption) (id string) {
		conn := e.Connect(kit.CalculatorHost, options...)
		kit.Serve(t, conn, kit.Calculator{ID: conn.ID()}, bus.NoQueue())
		return conn.ID()
	}
	caller, ids := e.Connect("caller.example"), []string{newInstance(bus.WithURL(e.As("first")))}
	assert.Equal(t, ids, kit.MulticastIDs(t, caller, kit.CalculatorURL+"/who"))
	ids = append(ids, newInstance())
	kit.MulticastIDs(t, caller, kit.CalculatorURL+"/who")
	assert.ElementsMatch(t, ids, kit.MulticastIDs(t, caller, kit.CalculatorURL+"/who"))
}

// TestWatchAnnouncements_Hears holds that a watcher hears who comes and goes until it stops, and that some were missed.
func TestWatchAnnouncements_Hears(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		watching := b.Connect("watching.example")
		var heard []bus.Announcement
		stop := watching.WatchAnnouncements(func(each bus.Announcement) { heard = append(heard, each) })
		other := watching.WatchAnnouncements(func(bus.Announcement) {})
		synctest.Wait()
		heard = nil
		conn := b.Connect("coming.example")
		kit.Serve(t, conn, kit.Calculator{})
		require.NoError(t, conn.Close(t.Context()))
		synctest.Wait()
		of := bus.Announcement{Host: "coming.example", ID: conn.ID()}
		leaves := of
		leaves.Leaves = true
		assert.Equal(t, []bus.Announcement{of, of, leaves}, heard)
		heard = nil
		announceInvented(b, 6000)
		synctest.Wait()
		taken := len(heard)
		require.LessOrEqual(t, taken, 5001, "no more are taken in a second")
		assert.Equal(t, bus.Announcement{Missed: true}, heard[taken-1])
		stop()
		stop()
		time.Sleep(2 * time.Second)
		b.Connect("late.example")
		synctest.Wait()
		assert.Len(t, heard, taken)
		other()
	})
}

// TestWatchAnnouncements_Outage holds that a watcher is told when the broker is back.
func TestWatchAnnouncements_Outage(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	conn := b.Connect("watching.example")
	missed := make(chan struct{}, 1)
	conn.WatchAnnouncements(func(each bus.Announcement) {
		if each.Missed {
			select {
			case missed <- struct{}{}:
			default:
			}
		}
	})
	require.NoError(t, conn.NATS().ForceReconnect())
	kit.Await(t, "that some were missed", missed)
}

// TestAnnouncements_OfDocuments holds that an instance that announces its document, and nothing else, makes no caller
// wait for others.
func TestAnnouncements_OfDocuments(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller := b.Connect("caller.example")
		ids := newWithoutQueue(b, kit.CalculatorHost, 2)
		synctest.Wait()
		assert.Equal(t, ids, kit.MulticastIDs(t, caller, kit.CalculatorURL+"/who"))
		documents := b.Listen(subject.Subscription(b.Plane(), "888", "all", "POST", "hello"))
		time.Sleep(2 * time.Second)
		require.Len(t, documents, 2)
		found, took := publishFor(t, caller, kit.CalculatorURL+"/who")
		assert.Equal(t, ids, found)
		assert.Zero(t, took)
	})
}
