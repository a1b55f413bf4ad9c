package bus_test

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// TestWhyTheBrokerStaysAway loses the broker. At one address nobody listens any more, at the other somebody with a certificate
// of another authority. The environment belongs to the process, so it does not run beside others.
func TestWhyTheBrokerStaysAway(t *testing.T) {
	here := net.IPv4(127, 0, 0, 1)
	authority := certify(t, nil)
	t.Setenv("BUS_NATS_CA", authority.file)
	good, bad := tlsBroker(t, certify(t, authority, here)), tlsBroker(t, certify(t, certify(t, nil), here))
	log := new(journal)
	conn, err := bus.Connect(t.Context(), "one.example", bus.WithURL(good.URL()+","+bad.URL()), bus.WithLogger(zerolog.New(log)))
	if err != nil {
		t.Fatal(err)
	}
	defer closeConn(t, conn)
	good.Close()
	log.await(t, "certificate signed by unknown authority")
	log.await(t, "connection refused")
}

// TestFaultsOfAttempts are reported each time, as those of certificates are. They are reasons like others while the broker is away.
func TestFaultsOfAttempts(t *testing.T) {
	t.Parallel()
	gone, err := broker.Start(broker.Listen("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	log := new(journal)
	conn, err := bus.Connect(t.Context(), "one.example", bus.WithURL(gone.URL()), bus.WithLogger(zerolog.New(log)))
	if err != nil {
		t.Fatal(err)
	}
	defer closeConn(t, conn)
	changed := conn.NATS().StatusChanged(nats.RECONNECTING)
	defer conn.NATS().RemoveStatusListener(changed)
	gone.Close()
	await(t, "a connection that is away", changed)
	for range 10 {
		bus.Report(conn, errors.New("remote error: tls: expired certificate"))
	}
	bus.FlushLog(conn)
	if lines := log.lines("expired certificate"); len(lines) != 1 || !strings.Contains(lines[0], "cannot be reached again yet") {
		t.Errorf("the log has %q, want one line that says that the broker cannot be reached", lines)
	}
}
