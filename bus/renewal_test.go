package bus_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// TestRenewedClientCertificate has the broker come back when the certificate of the service is no longer taken, and then
// renews it in place. The environment belongs to the process, so it does not run beside others.
func TestRenewedClientCertificate(t *testing.T) {
	here := net.IPv4(127, 0, 0, 1)
	authority := certify(t, nil)
	server, client := certify(t, authority, here), certify(t, authority)
	t.Setenv("BUS_NATS_CA", authority.file)
	t.Setenv("BUS_NATS_CERT", client.file)
	t.Setenv("BUS_NATS_KEY", client.keyIn)
	start := func(address string) *broker.Broker {
		started, err := broker.Start(broker.Listen(address), broker.Config(fmt.Sprintf(
			"tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }", server.file, server.keyIn, authority.file)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(started.Close)
		return started
	}
	before := start("127.0.0.1:0")
	log := new(journal)
	conn, err := bus.Connect(t.Context(), "one.example", bus.WithURL(before.URL()), bus.WithLogger(zerolog.New(log)))
	if err != nil {
		t.Fatal(err)
	}
	defer closeConn(t, conn)
	_, address, _ := strings.Cut(before.URL(), "://")
	before.Close()
	renew(t, client, certify(t, certify(t, nil)))
	start(address)
	log.await(t, "remote error: tls")
	renew(t, client, certify(t, authority))
	log.await(t, "broker is back")
}

// renew puts another certificate, and its key, where there was one.
func renew(t *testing.T, old, renewed *certified) {
	t.Helper()
	for from, to := range map[string]string{renewed.file: old.file, renewed.keyIn: old.keyIn} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
}
