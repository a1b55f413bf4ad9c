package cli_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
)

// mailer refuses the events of orders until it is mended.
type mailer struct {
	mended  atomic.Bool
	handled chan int
}

func (m *mailer) OnOrdered(_ context.Context, number int) error {
	if !m.mended.Load() {
		return bus.Errorf(http.StatusConflict, "order %d has no address", number)
	}
	m.handled <- number
	return nil
}

// fireParked fires events, and returns when they are parked.
func (e *terminal) fireParked(source *bus.Conn, numbers ...int) {
	e.t.Helper()
	events, err := source.NewPublisher("orders.example", bus.Durable())
	require.NoError(e.t, err)
	for i, number := range numbers {
		require.NoError(e.t, bus.NewEvent[bus.Args](events, "/on-ordered").Publish(e.t.Context(), bus.Args{"number": number}))
		for parked := 0; parked <= i; {
			parked = 0
			for _, err := range bus.DeadLetters(e.t.Context(), source, "orders.example") {
				require.NoError(e.t, err)
				parked++
			}
		}
	}
}

func TestParked(t *testing.T) {
	t.Parallel()
	newTerminal(t).refuses(1, "the broker has no JetStream", "parked", "orders.example")
	e := &terminal{t, bustest.New(t, broker.JetStream(t.TempDir())), make(map[string]string)}
	e.refuses(3, "orders.example has no stored events in plane "+e.bus.Plane(), "parked", "orders.example")
	source, broken := e.bus.Connect("orders.example"), &mailer{handled: make(chan int, 3)}
	err := bus.Subscribe(e.bus.Connect("mailer.example", bus.WithLogger(zerolog.Nop())), "orders.example", broken, bus.Durable())
	require.NoError(t, err)
	e.says("no event of orders.example is parked\n", "parked", "orders.example", "mailer.example", "--retry")
	e.refuses(3, "ordrs.example has no stored events in plane "+e.bus.Plane()+"; did you mean orders.example?", "parked", "ordrs.example", "--remove")
	e.refuses(3, "mailer.example has no stored events in plane "+e.bus.Plane()+"\n", "parked", "mailer.example")
	e.fireParked(source, 1, 2, 3)
	listed := strings.Split(e.busline(0, "parked", "orders.example").stdout, "\n")
	require.Len(t, listed, 5)
	assert.Equal(t, "PARKED SERVICE EVENT ATTEMPTS REASON", strings.Join(strings.Fields(listed[0]), " "))
	assert.Contains(t, listed[1], "Z  mailer.example  on-ordered  1         409 Conflict: order 1 has no address")
	for _, misspelt := range [][]string{{"mailr.example"}, {"--event", "OnOrdered"}, {"mailer.example", "--event", "on-orderd", "--retry"}, {"mailr.example", "--remove"}} {
		e.refuses(3, "no such event of orders.example is parked; there are on-ordered of mailer.example", append([]string{"parked", "orders.example"}, misspelt...)...)
	}
	got := e.busline(3, "parked", "orders.example", "mailr.example", "--json")
	assert.Equal(t, "[]\n", got.stdout, "none of them as JSON")
	assert.Contains(t, got.stderr, `"exit":3`, "none of them as JSON")
	var events []bus.DeadLetter
	err = json.Unmarshal([]byte(e.busline(0, "parked", "orders.example", "--json").stdout), &events)
	require.NoError(t, err, "as JSON")
	require.Len(t, events, 3, "as JSON")
	assert.Equal(t, `{"number":3}`, events[2].Body, "as JSON")
	broken.mended.Store(true)
	again := e.busline(0, "parked", "orders.example", "mailer.example", "--event=on-ordered", "--retry").stdout
	if !strings.HasSuffix(again, "\n3 events stored again for mailer.example, delivered as soon as the service runs\n") {
		t.Errorf("retried: %s", again)
	}
	for range 3 {
		<-broken.handled
	}
	e.says("no event of orders.example is parked\n", "parked", "orders.example")
	broken.mended.Store(false)
	e.fireParked(source, 4)
	if gone := e.busline(0, "parked", "orders.example", "--remove").stdout; !strings.HasSuffix(gone, "\n1 event removed\n") {
		t.Errorf("removed: %s", gone)
	}
	e.says("no event of orders.example is parked\n", "parked", "orders.example")
}
