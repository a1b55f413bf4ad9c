package bus_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// TestNoURLOfABroker fails at once, and not when the time is up; a login is not shown.
func TestNoURLOfABroker(t *testing.T) {
	t.Parallel()
	const none = " is none (BUS_NATS_URL or bus.WithURL): write nats://host:4222"
	for url, want := range map[string]string{
		":::":                               `the URL of the broker, ":::",` + none,
		"::1:4222":                          `the URL of the broker, "::1:4222",` + none,
		"two words":                         `"two words",` + none,
		"nats://h:port":                     `"nats://h:port",` + none,
		"h:99999":                           `"h:99999",` + none,
		"nats://127.0.0.1:1, %zz":           `"%zz",` + none,
		"nats://one:sec/ret@h:4222":         "the URL of the broker" + none,
		"nats://one:sec,ret@h:4222":         "the URL of the broker" + none,
		"http://127.0.0.1:1":                "connect to http://127.0.0.1:1: nats: no servers available for connection; a broker's URL has the scheme nats, tls, ws or wss, not http: change BUS_NATS_URL or bus.WithURL",
		"nats://127.0.0.1:1,tcp://[::1]:1/": "a broker's URL has the scheme nats, tls, ws or wss, not tcp",
	} {
		_, err := bus.Connect(t.Context(), "one.example", bus.WithURL(url), bus.WithLogger(zerolog.Nop()), bus.WithConnectTimeout(time.Hour))
		if err == nil || !strings.HasPrefix(err.Error(), "connect one.example: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "sec") {
			t.Errorf("the password is told: %v", err)
		}
	}
}

// TestCommaInAPassword holds that a password is not told of where a comma in it looks like the end of an address.
func TestCommaInAPassword(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"nats://one:77,sec@127.0.0.1:1":                   "nats://…, 127.0.0.1:1",
		"one:77,sec@w,7,d@127.0.0.1:1":                    "…, …, …, 127.0.0.1:1",
		"nats://a:1,nats://o:sec@127.0.0.1:1,127.0.0.1:1": "nats://a:1, nats://127.0.0.1:1, 127.0.0.1:1",
	} {
		_, err := bus.Connect(t.Context(), "one.example", bus.WithURL(url), bus.WithLogger(zerolog.Nop()), bus.WithConnectTimeout(0))
		if err == nil || !strings.HasPrefix(err.Error(), "connect one.example: no broker at "+want+": ") || strings.Contains(err.Error(), "sec") || strings.Contains(err.Error(), "lookup 7") {
			t.Errorf("%q: %v, want %s", url, err, want)
		}
	}
}

// TestURLsOfABroker connects with all that nats.go takes for the same broker.
func TestURLsOfABroker(t *testing.T) { //nolint:paralleltest // the environment is that of the process
	started, err := broker.Start(broker.Listen("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(started.Close)
	address := strings.TrimPrefix(started.URL(), "nats://")
	t.Setenv("BUS_NATS_URL", address)
	for _, url := range []string{"", address, "nats://" + address, "NATS://" + address + "/", " nats://" + address + " ,, ", "http://" + address, "tcp://" + address, "::," + address} {
		conn, err := bus.Connect(t.Context(), "one.example", bus.WithURL(url), bus.WithLogger(zerolog.Nop()))
		if err != nil {
			t.Errorf("%q: %v", url, err)
			continue
		}
		closeConn(t, conn)
	}
}
