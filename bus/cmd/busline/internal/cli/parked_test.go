package cli_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

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
	if err != nil {
		e.t.Fatal(err)
	}
	for i, number := range numbers {
		if err := bus.NewEvent[bus.Args](events, "/on-ordered").Publish(e.t.Context(), bus.Args{"number": number}); err != nil {
			e.t.Fatal(err)
		}
		for parked := 0; parked <= i; {
			parked = 0
			for _, err := range bus.DeadLetters(e.t.Context(), source, "orders.example") {
				if err != nil {
					e.t.Fatal(err)
				}
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
	if err != nil {
		t.Fatal(err)
	}
	e.says("no event of orders.example is parked\n", "parked", "orders.example", "mailer.example", "--retry")
	e.refuses(3, "ordrs.example has no stored events in plane "+e.bus.Plane()+"; did you mean orders.example?", "parked", "ordrs.example", "--remove")
	e.refuses(3, "mailer.example has no stored events in plane "+e.bus.Plane()+"\n", "parked", "mailer.example")
	e.fireParked(source, 1, 2, 3)
	listed := strings.Split(e.busline(0, "parked", "orders.example").stdout, "\n")
	if len(listed) != 5 || strings.Join(strings.Fields(listed[0]), " ") != "PARKED SERVICE EVENT ATTEMPTS REASON" ||
		!strings.Contains(listed[1], "Z  mailer.example  on-ordered  1         409 Conflict: order 1 has no address") {
		t.Errorf("listed: %q", listed)
	}
	for _, misspelt := range [][]string{{"mailr.example"}, {"--event", "OnOrdered"}, {"mailer.example", "--event", "on-orderd", "--retry"}, {"mailr.example", "--remove"}} {
		e.refuses(3, "no such event of orders.example is parked; there are on-ordered of mailer.example", append([]string{"parked", "orders.example"}, misspelt...)...)
	}
	if got := e.busline(3, "parked", "orders.example", "mailr.example", "--json"); got.stdout != "[]\n" || !strings.Contains(got.stderr, `"exit":3`) {
		t.Errorf("none of them as JSON: %+v", got)
	}
	var events []bus.DeadLetter
	if err := json.Unmarshal([]byte(e.busline(0, "parked", "orders.example", "--json").stdout), &events); err != nil || len(events) != 3 || events[2].Body != `{"number":3}` {
		t.Errorf("as JSON: %+v, %v", events, err)
	}
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
