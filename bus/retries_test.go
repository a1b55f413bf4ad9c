package bus_test

import (
	"net"
	"testing"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
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
