package msgsvc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/msgsvc"
)

// overBoth runs a test over both implementations of the cache.
func overBoth(t *testing.T, test func(t *testing.T, b *bustest.Bus, options ...msgsvc.Option)) {
	t.Helper()
	t.Run("shared", func(t *testing.T) {
		t.Parallel()
		test(t, bustest.New(t))
	})
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		test(t, bustest.New(t, broker.JetStream(t.TempDir())), msgsvc.WithJetStream())
	})
}

func TestCache_StoredAndLoadedThroughAny(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, b *bustest.Bus, options ...msgsvc.Option) {
		const keys = 200
		replicas := newInstances(t, b, 5, options...)
		for i := range keys {
			store(t, replicas[i%len(replicas)], fmt.Sprintf("key %d", i), fmt.Sprintf("value %d", i))
		}
		for _, replica := range replicas {
			for i := range keys {
				expect(t, replica, fmt.Sprintf("key %d", i), fmt.Sprintf("value %d", i))
			}
			expectNone(t, replica, "never stored")
		}
	})
}

// TestCache_LastStoreCounts holds that the last store is seen everywhere at once, whatever was stored before.
func TestCache_LastStoreCounts(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, b *bustest.Bus, options ...msgsvc.Option) {
		replicas := newInstances(t, b, 3, options...)
		for i := range 30 {
			store(t, replicas[i%2], "key", fmt.Sprint(i))
			for _, replica := range replicas {
				expect(t, replica, "key", fmt.Sprint(i))
			}
		}
	})
}

func TestCache_ConcurrentStoresConverge(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, b *bustest.Bus, options ...msgsvc.Option) {
		replicas := newInstances(t, b, 4, options...)
		for round := range 20 {
			var stores sync.WaitGroup
			for i, replica := range replicas {
				stores.Go(func() {
					assert.NoError(t, replica.Store(t.Context(), "key", fmt.Sprintf("%d of %d", i, round)))
				})
			}
			stores.Wait()
			value, _ := load(t, replicas[0], "key")
			if !strings.HasSuffix(value, fmt.Sprintf("of %d", round)) {
				t.Fatalf("round %d: found %q", round, value)
			}
			for _, replica := range replicas {
				expect(t, replica, "key", value)
			}
		}
	})
}

func TestAnyBytes(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, b *bustest.Bus, options ...msgsvc.Option) {
		replicas := newInstances(t, b, 2, options...)
		var all strings.Builder
		for i := range 256 {
			all.WriteByte(byte(i))
		}
		texts := []string{
			all.String(), " ", ".", "*", ">", "a.b", "a/b", "$KV.x", "\r\nBus-Op-Code: Req", "\x00", "\xff", "ключ",
			strings.Repeat("ä", msgsvc.MaxKeyLength/2),
		}
		for _, text := range texts {
			store(t, replicas[0], text, "value of "+text)
		}
		for _, text := range texts {
			expect(t, replicas[1], text, "value of "+text)
		}
		expectNone(t, replicas[1], "a")
	})
}

func TestRefusedEntries(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, b *bustest.Bus, options ...msgsvc.Option) {
		replica := newInstance(t, b, options...)
		longKey := strings.Repeat("k", msgsvc.MaxKeyLength+1)
		_, _, loadEmpty := replica.Load(t.Context(), "")
		_, _, loadLong := replica.Load(t.Context(), longKey)
		for _, test := range []struct {
			err    error
			status int
			want   string
		}{
			{replica.Store(t.Context(), "", "v"), 400, "the key is empty"},
			{replica.Store(t.Context(), longKey, "v"), 400, "a key of 1025 bytes exceeds the limit of 1024"},
			{loadEmpty, 400, "the key is empty"},
			{loadLong, 400, "a key of 1025 bytes exceeds the limit of 1024"},
			{
				replica.Store(t.Context(), "k", strings.Repeat("v", 1<<20)), 413,
				"an entry of 1048833 bytes (key, value and 256 of book-keeping) exceeds the limit of ",
			},
		} {
			assert.Equal(t, test.status, bus.StatusOf(test.err))
			assert.Contains(t, fmt.Sprint(test.err), test.want)
		}
	})
}

// TestLargeValues holds that what is taken travels: to the instance that loads it, and to the instance that it is
// handed over to.
func TestLargeValues(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, b *bustest.Bus, options ...msgsvc.Option) {
		replicas := newInstances(t, b, 2, options...)
		value := strings.Repeat("\xff", 780_000)
		for i := range 5 {
			store(t, replicas[0], fmt.Sprint(i), value)
		}
		expect(t, replicas[1], "0", value)
		replicas[0].close(t)
		for i := range 5 {
			expect(t, replicas[1], fmt.Sprint(i), value)
		}
	})
}

// TestCache_AbsentIsNoError is the first thing that is asked of a cache, before anything was stored.
func TestCache_AbsentIsNoError(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, b *bustest.Bus, options ...msgsvc.Option) {
		expectNone(t, newInstance(t, b, options...), "key")
	})
}

func TestBroker_Away(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, b *bustest.Bus, options ...msgsvc.Option) {
		replica := serve(t, b.Connect(host, bus.WithLogger(zerolog.Nop())), options...)
		store(t, replica, "key", "value")
		away := replica.conn.NATS().StatusChanged(nats.RECONNECTING)
		b.Broker().Close()
		<-away
		if err := replica.Store(t.Context(), "key", "value"); bus.StatusOf(err) != http.StatusServiceUnavailable {
			t.Errorf("store: %v, want 503", err)
		}
		if _, _, err := replica.Load(t.Context(), "other"); bus.StatusOf(err) != http.StatusServiceUnavailable {
			t.Errorf("load: %v, want 503", err)
		}
	})
}

// handClock is a clock that a test moves.
type handClock struct{ nanoseconds atomic.Int64 }

func newHandClock() *handClock {
	c := new(handClock)
	c.nanoseconds.Store(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *handClock) now() time.Time           { return time.Unix(0, c.nanoseconds.Load()) }
func (c *handClock) forward(by time.Duration) { c.nanoseconds.Add(by.Nanoseconds()) }

// TestCache_EvictionBySize holds that the entry used least recently goes, and that looking for one is using it,
// through whichever replica.
func TestCache_EvictionBySize(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	replica := newInstance(t, b, msgsvc.WithCacheSize(3*(msgsvc.EntryOverhead+2)))
	other := newInstance(t, b)
	for _, key := range []string{"a", "b", "c"} {
		store(t, replica, key, "1")
	}
	expect(t, other, "a", "1")
	store(t, replica, "d", "1") // pushes b out
	expectNone(t, other, "b")
	for _, key := range []string{"a", "c", "d"} {
		expect(t, other, key, "1")
	}
	store(t, replica, "c", "22") // one byte too many: pushes a out, which was used least recently
	expectNone(t, other, "a")
	expect(t, other, "c", "22")
	expect(t, other, "d", "1")
}

// TestCache_ManySmallEntries holds that what an entry costs beside its key and value is counted.
func TestCache_ManySmallEntries(t *testing.T) {
	t.Parallel()
	replica := newInstance(t, bustest.New(t), msgsvc.WithCacheSize(10*msgsvc.EntryOverhead))
	fill(t, 20, replica)
	found := 0
	for i := range 20 {
		if _, ok := load(t, replica, fmt.Sprint(i)); ok {
			found++
		}
	}
	if found != 9 {
		t.Errorf("found %d entries of some 265 bytes in 2560, want 9", found)
	}
}

func TestCache_EvictionByAge(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	clock := newHandClock()
	replicas := newInstances(t, b, 2, msgsvc.WithClock(clock.now))
	store(t, replicas[0], "old", "value")
	clock.forward(30 * time.Minute)
	store(t, replicas[0], "young", "value")
	clock.forward(30*time.Minute - time.Nanosecond)
	expect(t, replicas[1], "old", "value")
	clock.forward(time.Nanosecond)
	expectNone(t, replicas[1], "old") // however often it was used
	expect(t, replicas[1], "young", "value")

	replicas[0].close(t)
	clock.forward(30*time.Minute - time.Nanosecond)
	expect(t, replicas[1], "young", "value")
	clock.forward(time.Nanosecond)
	expectNone(t, replicas[1], "young") // being handed over does not make it younger
}

func TestAgeOption(t *testing.T) {
	t.Parallel()
	clock := newHandClock()
	replica := newInstance(t, bustest.New(t), msgsvc.WithClock(clock.now), msgsvc.WithCacheAge(time.Minute))
	store(t, replica, "key", "value")
	clock.forward(time.Minute)
	expectNone(t, replica, "key")
}

// TestClocksDisagree holds that the last store counts even when it is made where it is still yesterday.
func TestClocksDisagree(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	ahead, behind := newHandClock(), newHandClock()
	ahead.forward(10 * time.Minute)
	first := newInstance(t, b, msgsvc.WithClock(ahead.now))
	second := newInstance(t, b, msgsvc.WithClock(behind.now))
	for i := range 5 {
		store(t, first, "key", fmt.Sprintf("first %d", i))
		expect(t, second, "key", fmt.Sprintf("first %d", i))
		store(t, second, "key", fmt.Sprintf("second %d", i))
		expect(t, first, "key", fmt.Sprintf("second %d", i))
	}
}

// TestCache_AgeWhereClocksDisagree holds that the age of an entry is counted where it is: neither a version that had to
// be after that of another machine, nor the clock of the one that hands it over, makes it older or younger.
func TestCache_AgeWhereClocksDisagree(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	ahead, right, behind := newHandClock(), newHandClock(), newHandClock()
	ahead.forward(24 * time.Hour)
	behind.forward(-24 * time.Hour)
	fast := newInstance(t, b, msgsvc.WithClock(ahead.now))
	slow := newInstance(t, b, msgsvc.WithClock(behind.now))
	replica := newInstance(t, b, msgsvc.WithClock(right.now))
	store(t, fast, "replaced", "value")
	store(t, replica, "replaced", "value")
	store(t, replica, "next", "value")
	store(t, fast, "from the fast", "value")
	store(t, slow, "from the slow", "value")
	ahead.forward(30 * time.Minute)
	behind.forward(30 * time.Minute)
	right.forward(30 * time.Minute)
	fast.close(t)
	slow.close(t)

	keys := []string{"replaced", "next", "from the fast", "from the slow"}
	right.forward(30*time.Minute - time.Nanosecond)
	for _, key := range keys {
		expect(t, replica, key, "value")
	}
	right.forward(time.Nanosecond)
	for _, key := range keys {
		expectNone(t, replica, key)
	}
}

// TestJoiner holds that a new replica finds at once what was stored before it came, and is found.
func TestJoiner(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	replicas := newInstances(t, b, 2)
	fill(t, 50, replicas...)
	expectFilled(t, 50, replicas[0])
	joiner := newInstance(t, b)
	expectFilled(t, 50, joiner)
	store(t, joiner, "new", "value")
	for _, replica := range replicas {
		expect(t, replica, "new", "value")
	}
}

// TestCache_JoinAndLeaveUnderLoad holds that replicas may come and go while others load: nothing is ever missing.
func TestCache_JoinAndLeaveUnderLoad(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	stable := newInstances(t, b, 2)
	fill(t, 40, stable...)
	var loads sync.WaitGroup
	var done atomic.Bool
	for _, replica := range stable {
		loads.Go(func() {
			for !done.Load() {
				expectFilled(t, 40, replica)
			}
		})
	}
	for i := range 3 {
		joiner := newInstance(t, b)
		key := fmt.Sprintf("brought by %d", i)
		store(t, joiner, key, "value")
		expect(t, stable[0], key, "value")
		joiner.close(t)
		expect(t, stable[1], key, "value")
	}
	done.Store(true)
	loads.Wait()
}

// TestKilled holds that a replica which dies without a word takes along what it held, and nothing else.
func TestKilled(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	survivor := newInstance(t, b)
	life, err := nats.Connect("", nats.InProcessServer(b.Broker())) // bus would replace a connection of its own
	require.NoError(t, err)
	conn, err := bus.Connect(t.Context(), host, bus.WithNATS(life), bus.WithPlane(b.Plane()))
	require.NoError(t, err)
	killed := serve(t, conn)
	fill(t, 10, survivor)
	store(t, killed, "gone", "value")
	expect(t, survivor, "gone", "value")
	life.Close()
	expectNone(t, survivor, "gone")
	expectFilled(t, 10, survivor)
	store(t, survivor, "gone", "again")
	expect(t, survivor, "gone", "again")
}

// TestLeftover holds that what a replica missed while it was cut off is made up for by the next load: the newest
// value counts, and the old one does not come back when the newest goes.
func TestLeftover(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	clock := newHandClock()
	newest := newInstance(t, b, msgsvc.WithClock(clock.now))
	cutOff := newInstance(t, b, msgsvc.WithClock(clock.now))
	take(t, cutOff, "key", "old", clock.now().Add(-time.Minute))
	store(t, newest, "other", "value") // so that the others know newest
	take(t, newest, "key", "new", clock.now())

	expect(t, cutOff, "key", "new")
	if found := holds(t, cutOff, "key"); found {
		t.Error("the outdated entry is still there")
	}
	if found := holds(t, newest, "key"); !found {
		t.Error("the newest entry is gone")
	}
}

// TestLeftoverAlone holds that what was replaced does not come back when what replaced it is gone, neither from a
// replica that was cut off nor in a message that comes late.
func TestLeftoverAlone(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	clock := newHandClock()
	first := newInstance(t, b, msgsvc.WithClock(clock.now))
	cutOff := newInstance(t, b, msgsvc.WithClock(clock.now))
	newest := newInstance(t, b, msgsvc.WithClock(clock.now), msgsvc.WithCacheSize(2*msgsvc.EntryOverhead))
	store(t, first, "key", "old")
	clock.forward(time.Second)
	store(t, newest, "key", "new")
	store(t, newest, "other", "value") // pushes it out
	for _, replica := range []instance{first, cutOff} {
		take(t, replica, "key", "old", clock.now().Add(-time.Second))
		expectNone(t, cutOff, "key")
		if found := holds(t, replica, "key"); found {
			t.Error("the outdated entry is still there")
		}
	}
	store(t, cutOff, "key", "again")
	expect(t, first, "key", "again")
}

// TestCache_ReplacedWhileAsked uses a replica that is asked before it has an entry, while the one that held the last is
// asked after.
func TestCache_ReplacedWhileAsked(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	replica := newInstance(t, b)
	store(t, replica, "key", "old")
	version := bus.Args{"time": time.Now().Add(time.Second).UnixNano(), "by": "another"}
	ask(t, replica, "/invalidate", bus.Args{"key": []byte("key"), "by": version}, nil)
	var asked atomic.Int32
	another := b.Connect(host)
	err := another.Handle(http.MethodPost, "/find", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		entry := bus.Args{"key": []byte("key"), "value": []byte("new"), "version": version}
		answer := bus.Args{"found": true, "entry": entry}
		if asked.Add(1) == 1 {
			answer = bus.Args{"found": false}
		}
		_ = json.NewEncoder(w).Encode(answer) // to memory
	}), bus.Port(444), bus.NoQueue())
	require.NoError(t, err)
	expect(t, replica, "key", "new")
}

// TestCache_OlderIsNotTaken holds that a late message does not bring back what was replaced.
func TestCache_OlderIsNotTaken(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	clock := newHandClock()
	replica := newInstance(t, b, msgsvc.WithClock(clock.now))
	store(t, replica, "key", "new")
	take(t, replica, "key", "old", clock.now().Add(-time.Second))
	expect(t, replica, "key", "new")
}

// TestCache_TooLargeToTake holds that a small replica stays within its bounds whatever a larger one hands over.
func TestCache_TooLargeToTake(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	small := newInstance(t, b, msgsvc.WithCacheSize(1000))
	store(t, small, "mine", "value")
	take(t, small, "large", strings.Repeat("v", 1000), time.Now())
	expect(t, small, "mine", "value")
	expectNone(t, small, "large")
}

// take hands an entry to a replica, as another one does when it closes.
func take(t *testing.T, by instance, key, value string, stored time.Time) {
	t.Helper()
	entry := bus.Args{
		"key": []byte(key), "value": []byte(value),
		"version": bus.Args{"time": stored.UnixNano(), "by": "another"},
	}
	var answer struct {
		Taken bool `json:"taken"`
	}
	ask(t, by, "/take", bus.Args{"entries": []any{entry}}, &answer)
	if !answer.Taken {
		t.Fatal("not taken")
	}
}

// holds asks one replica alone.
func holds(t *testing.T, replica instance, key string) bool {
	t.Helper()
	var answer struct {
		Found bool `json:"found"`
	}
	ask(t, replica, "/find", bus.Args{"key": []byte(key)}, &answer)
	return answer.Found
}

func ask(t *testing.T, replica instance, endpoint string, arguments bus.Args, answer any) {
	t.Helper()
	address := "https://" + replica.conn.ID() + "." + host + ":444" + endpoint
	if err := replica.conn.Call(t.Context(), address, arguments, answer); err != nil {
		t.Error(err) // not Fatal: handlers ask, too
	}
}

// TestCache_LeaveSendsNoEntryTwice holds that replicas which have left fail one call each at most, while the broker
// cannot report that they have, because a client listens to everything.
func TestCache_LeaveSendsNoEntryTwice(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		wiretap := b.Connect("wiretap.example").NATS()
		_, err := wiretap.Subscribe(">", func(*nats.Msg) {})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, wiretap.FlushWithContext(ctx))
		connect := func() instance { return serve(t, b.Connect(host, bus.WithAckWait(time.Second))) }
		stays, leaves := connect(), connect()
		store(t, leaves, "key", "value")
		leaves.close(t)
		if _, _, err := stays.Load(t.Context(), "absent"); !errors.Is(err, bus.ErrNoAck) {
			t.Errorf("the first call: %v, want no ack", err)
		}
		expectNone(t, stays, "absent")
		store(t, stays, "key", "again")
		expect(t, stays, "key", "again")
	})
}

func TestRefusedOptions(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect(host)
	_, err := msgsvc.New(t.Context(), conn, msgsvc.WithCacheSize(msgsvc.EntryOverhead), msgsvc.WithCacheAge(-1), nil)
	want := `messaging on messaging.example: option 3 is nil: leave it out
WithCacheSize: 256 bytes hold nothing; leave it out for 33554432
WithCacheAge: nothing is found within -1ns; leave it out for 1h0m0s`
	if fmt.Sprint(err) != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

func TestNoConnection(t *testing.T) {
	t.Parallel()
	if _, err := msgsvc.New(t.Context(), nil); fmt.Sprint(err) != "messaging cannot be served without a connection" {
		t.Errorf("got %v", err)
	}
}
