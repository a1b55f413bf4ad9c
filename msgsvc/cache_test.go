package msgsvc_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

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

func TestStoredThroughAnyFoundThroughAny(t *testing.T) {
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

// TestLastStoreCounts holds that whoever stores last is heard everywhere at once, whoever stored before.
func TestLastStoreCounts(t *testing.T) {
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

func TestConcurrentStoresConverge(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, b *bustest.Bus, options ...msgsvc.Option) {
		replicas := newInstances(t, b, 4, options...)
		for round := range 20 {
			var stores sync.WaitGroup
			for i, replica := range replicas {
				stores.Go(func() {
					if err := replica.Store(t.Context(), "key", fmt.Sprintf("%d of %d", i, round)); err != nil {
						t.Error(err)
					}
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
			if bus.StatusOf(test.err) != test.status || !strings.Contains(fmt.Sprint(test.err), test.want) {
				t.Errorf("%v\nwant %d %s", test.err, test.status, test.want)
			}
		}
	})
}

// TestLargeValues holds that what is taken travels: to whoever loads it, and to whoever it is handed over to.
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

// TestAbsentIsNoError is the first thing that is asked of a cache, before anything was stored.
func TestAbsentIsNoError(t *testing.T) {
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
