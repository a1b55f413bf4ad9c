package events_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/reflectapi"
)

type accountEvents interface {
	//busline:key account
	OnBooked(ctx context.Context, account string, number int) error
}

var _ = reflectapi.Register[accountEvents](`
type accountEvents interface {
	//busline:key account
	OnBooked(ctx context.Context, account string, number int) error
}
`)

type bookedArguments struct {
	Account string `json:"account"`
	Number  int    `json:"number"`
}

func newBooked(t *testing.T, conn *bus.Conn) events.Event[bookedArguments] {
	t.Helper()
	publisher, err := events.NewPublisher(conn, "accounts.example", events.Durable())
	require.NoError(t, err)
	return events.NewEvent[bookedArguments](publisher, "/on-booked").KeyedBy("account")
}

// ledger handles what is booked, at several instances, and notes what breaks the order.
type ledger struct {
	mu      sync.Mutex // protects all below
	running map[string]bool
	booked  map[string][]int
	most    int // accounts at once
	wrong   []string
	news    chan struct{}
	handle  func(ctx context.Context, account string, number int) error
}

func newLedger() *ledger {
	return &ledger{running: make(map[string]bool), booked: make(map[string][]int), news: make(chan struct{}, 10_000)}
}

func (l *ledger) OnBooked(ctx context.Context, account string, number int) error {
	l.mu.Lock()
	if l.running[account] {
		l.wrong = append(l.wrong, account+" runs twice")
	}
	l.running[account] = true
	l.most = max(l.most, len(l.running))
	l.mu.Unlock()
	var err error
	if l.handle != nil {
		err = l.handle(ctx, account, number)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, account)
	if err == nil {
		l.booked[account] = append(l.booked[account], number)
		l.news <- struct{}{}
	}
	return err
}

func (l *ledger) await(t *testing.T, count int) {
	t.Helper()
	for range count {
		kit.Await(t, "an event", l.news)
	}
}

func subscribeLedger(t *testing.T, b *bustest.Bus, to *ledger, options ...events.SubscribeOption) *bus.Conn {
	t.Helper()
	conn := b.Connect("ledger.example", kit.Quiet())
	require.NoError(t, events.Subscribe[accountEvents](conn, "accounts.example", to, append(options, events.Durable())...))
	return conn
}

// TestDurable_KeysInOrder has three instances share the events of ten accounts, some of which fail at first, and one
// instance leave: those of each account are handled in order, one at a time, and those of different accounts at the
// same time.
func TestDurable_KeysInOrder(t *testing.T) {
	t.Parallel()
	b, all := newStored(t), newLedger()
	var failed sync.Map
	together := make(chan struct{})
	all.handle = func(_ context.Context, account string, number int) error {
		if number == 0 { // the first two accounts wait for each other
			select {
			case together <- struct{}{}:
			case <-together:
			case <-t.Context().Done():
			}
		}
		if _, again := failed.LoadOrStore([2]any{account, number}, true); !again && number%7 == 3 {
			return errors.New("not now")
		}
		return nil
	}
	var instances []*bus.Conn
	for range 3 {
		instances = append(instances, subscribeLedger(t, b, all, fastBackoff()))
	}
	booked := newBooked(t, b.Connect("accounts.example"))
	const accounts, bookings = 10, 40
	for number := range bookings {
		for account := range accounts {
			require.NoError(t, booked.Publish(t.Context(), bookedArguments{string(rune('a' + account)), number}))
		}
		if number == bookings/2 {
			require.NoError(t, instances[0].Close(t.Context()))
		}
	}
	all.await(t, accounts*bookings)
	all.mu.Lock()
	defer all.mu.Unlock()
	assert.Empty(t, all.wrong)
	assert.Greater(t, all.most, 1, "accounts at once")
	for account, numbers := range all.booked {
		assert.Equal(t, sequence(0, bookings-1), numbers, account)
	}
}

// TestDurable_DeadLetterInOrder has an event be refused: those behind it wait for it, and come then.
func TestDurable_DeadLetterInOrder(t *testing.T) {
	t.Parallel()
	b, all := newStored(t), newLedger()
	var mu sync.Mutex
	var order []int
	all.handle = func(_ context.Context, _ string, number int) error {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, number)
		if number == 1 {
			return errors.New("not now")
		}
		return nil
	}
	subscribeLedger(t, b, all, events.MaxDeliver(3), fastBackoff())
	booked := newBooked(t, b.Connect("accounts.example"))
	for number := 1; number <= 3; number++ {
		require.NoError(t, booked.Publish(t.Context(), bookedArguments{"a", number}))
	}
	all.await(t, 2)
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(t, []int{1, 1, 1, 2, 3}, order)
}

// unorderedEvents is accountEvents of a version without the key.
type unorderedEvents interface {
	OnBooked(ctx context.Context, account string, number int) error
}

// TestDurable_KeyComesAndGoes has a service subscribe without the key, with it, and without it again, while events
// wait: none is lost, and the consumers that were replaced are gone.
func TestDurable_KeyComesAndGoes(t *testing.T) {
	t.Parallel()
	b, all := newStored(t), newLedger()
	booked := newBooked(t, b.Connect("accounts.example"))
	handled := func(rounds int) {
		t.Helper()
		kit.Eventually(t, func() bool {
			all.mu.Lock()
			defer all.mu.Unlock()
			for account := range 5 {
				numbers := all.booked[string(rune('a'+account))]
				for round := range rounds {
					if !slices.Contains(numbers, round) {
						return false
					}
				}
			}
			return true
		})
	}
	for round, subscribe := range []func(conn *bus.Conn) error{
		func(conn *bus.Conn) error {
			return events.Subscribe[unorderedEvents](conn, "accounts.example", all, events.Durable())
		},
		func(conn *bus.Conn) error {
			return events.Subscribe[accountEvents](conn, "accounts.example", all, events.Durable())
		},
		func(conn *bus.Conn) error {
			return events.Subscribe[unorderedEvents](conn, "accounts.example", all, events.Durable())
		},
	} {
		conn := b.Connect("ledger.example")
		require.NoError(t, subscribe(conn))
		handled(round)
		require.NoError(t, conn.Close(t.Context()))
		for account := range 5 {
			require.NoError(t, booked.Publish(t.Context(), bookedArguments{string(rune('a' + account)), round}))
		}
	}
	last := b.Connect("ledger.example")
	require.NoError(t, events.Subscribe[accountEvents](last, "accounts.example", all, events.Durable()))
	handled(3)
	stream, err := manager(t, last).Stream(t.Context(), b.Plane()+"_EVENTS_accounts_example")
	require.NoError(t, err)
	listed := stream.ListConsumers(t.Context())
	consumers := 0
	for info := range listed.Info() {
		consumers++
		assert.True(t, strings.HasPrefix(info.Name, "ledger_example__on-booked__"), info.Name)
	}
	require.NoError(t, listed.Err())
	assert.Equal(t, 32, consumers)
}
