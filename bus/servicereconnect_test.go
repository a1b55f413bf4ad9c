package bus_test

import (
	"slices"
	"testing"

	"github.com/busline/busline/bus"
)

// TestService_IsShownAgain cuts the connection, and has it closed for good.
func TestService_IsShownAgain(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(conn *bus.Conn, way *fragile){
		"cut":    func(_ *bus.Conn, way *fragile) { way.cut(false) },
		"closed": func(conn *bus.Conn, _ *fragile) { conn.NATS().Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{Bus: newBus(t)}
			way := &fragile{InProcessConnProvider: w.Broker()}
			one, other := w.Connect(calculatorHost, bus.WithBroker(way)), w.Connect(calculatorHost, bus.WithBroker(way))
			serve(t, one, calculator{one.ID()})
			serve(t, other, calculator{other.ID()})
			here := tap(t, w, "here")
			lose(one, way)
			for len(here) == 0 { // until it is back, nothing is sent
				_ = one.NATS().Publish("here", nil)
			}
			asks := newOperator(t, w.Bus)
			want := slices.Sorted(slices.Values([]string{one.ID(), other.ID()}))
			for _, subject := range []string{"$SRV.PING", "$SRV.PING." + calculatorName} {
				if got := asks.ids(subject, one, other); !slices.Equal(got, want) {
					t.Errorf("%s is answered by %v, want %v", subject, got, want)
				}
			}
		})
	}
}

// TestService_OnGivenConnection shows what is served on a connection of the application, which stays open.
func TestService_OnGivenConnection(t *testing.T) {
	t.Parallel()
	w := &world{Bus: newBus(t)}
	given := newApplication(t, w)
	conn := w.Connect(calculatorHost, bus.WithNATS(given.Conn))
	serve(t, conn, calculator{conn.ID()})
	asks := newOperator(t, w.Bus)
	if got := asks.ids("$SRV.PING", conn); !slices.Equal(got, []string{conn.ID()}) {
		t.Errorf("answered by %v", got)
	}
	closeConn(t, conn)
	if !asks.isAbsent("$SRV.PING") || given.NumSubscriptions() != 0 {
		t.Errorf("%d subscriptions are left", given.NumSubscriptions())
	}
}
