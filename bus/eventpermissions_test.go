package bus_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// TestEventPermissions has a source and a subscriber live with what is printed for them, stored events included.
func TestEventPermissions(t *testing.T) {
	t.Parallel()
	for name, profile := range profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blocks := make(map[string]string)
			for _, run := range []string{"rehearsal", "held"} {
				users := map[string]string{ordersHost: "", "mailer.example": "", "stock.example": ""}
				for host := range blocks {
					users[host] = blocks[host]
				}
				e := newEnforcing(t, users, broker.JetStream(t.TempDir()))
				source, mailer, stock := e.connect(ordersHost, profile...), e.connect("mailer.example", profile...), e.connect("stock.example", profile...)
				ordered := newOrdered(t, source, bus.Durable(), bus.Keep(0, 1<<20))
				stored := newSink()
				stored.handle = func(_ context.Context, number int) error {
					if number == 1 {
						return bus.Errorf(http.StatusConflict, "no")
					}
					return nil
				}
				subscribe(t, mailer, stored, bus.Durable())
				plain := subscribe(t, stock, newSink())
				fire(t, ordered, 1, 2)
				stored.await(t, 1)
				plain.await(t, 2)
				for response, err := range ordered.Outcomes(t.Context(), orderedArguments{3}) {
					if err != nil || response.Host != "stock.example" {
						t.Errorf("%s: %+v, %v", run, response, err)
					}
				}
				stored.await(t, 1)
				e.log.await(t, "and was parked")
				for host, conn := range map[string]*bus.Conn{ordersHost: source, "mailer.example": mailer, "stock.example": stock} {
					granted, err := conn.Permissions()
					if err != nil {
						t.Fatal(err)
					}
					blocks[host] = granted.String()
				}
				if denied := e.log.lines("does not let"); len(denied) > 0 {
					t.Errorf("%s: %s", run, denied)
				}
			}
			if want := `"bus.417.example.orders.|.POST.on-ordered stock.example"`; !strings.Contains(blocks["stock.example"], want) {
				t.Errorf("no line %s in\n%s", want, blocks["stock.example"])
			}
		})
	}
}

// TestForbiddenEvents are an error of who fires them.
func TestForbiddenEvents(t *testing.T) {
	t.Parallel()
	e := newEnforcing(t, map[string]string{ordersHost: `permissions { publish { deny: ["bus.417.>"] } }`, "mailer.example": `permissions { subscribe { deny: ["bus.417.>"] } }`})
	ordered := newOrdered(t, e.connect(ordersHost))
	for range 2 {
		err := ordered.Fire(t.Context(), orderedArguments{1})
		failed, _ := errors.AsType[*bus.Error](err)
		if failed == nil || failed.Status != http.StatusForbidden || failed.Executed != bus.NotExecuted {
			t.Errorf("%v", err)
		}
	}
	err := bus.Subscribe[orderEvents](e.connect("mailer.example"), ordersHost, newSink())
	if err == nil || !strings.Contains(err.Error(), "does not let user \"mailer.example\" subscribe to bus.417.example.orders") {
		t.Errorf("subscribed: %v", err)
	}
}
