package natsconn_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/natsconn"
)

// provider is a broker in the process that is not there.
type provider struct{}

func (provider) InProcessConn() (net.Conn, error) { return nil, net.ErrClosed }

// checkError expects an error with a text, "" for none, that does not show a password.
func checkError(t *testing.T, name string, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: %v, want %s", name, err, want)
	}
	if err != nil && strings.Contains(err.Error(), "sec") {
		t.Errorf("%s: the password is shown: %v", name, err)
	}
}

// TestConfig_Check_URL holds which URLs can be connected to, and that no error shows a login.
func TestConfig_Check_URL(t *testing.T) {
	t.Parallel()
	const remedy = "is none (BUS_NATS_URL or bus.WithURL): write nats://host:4222, or several with commas between them; " +
		"in a password, / is %2F, @ is %40, : is %3A and a comma is %2C"
	malformed := func(address string) string { return fmt.Sprintf("the URL of the broker, %q, %s", address, remedy) }
	for url, want := range map[string]string{
		"":                              "",
		" , ,":                          "",
		"nats://h:4222":                 "",
		"h":                             "",
		"h:":                            "",
		"[::1]":                         "",
		"[::1]:4222":                    "",
		"http://h":                      "", // nats.go takes it for nats
		"nats://one:secret@h:4222":      "",
		"nats://secret@h":               "",
		"nats://one:s%2Cec@h:4222,h:1":  "",
		"::1, h:4222":                   "", // one of them can be reached
		":::":                           malformed(":::"),
		"::1:4222":                      malformed("::1:4222"),
		"h:65536":                       malformed("h:65536"),
		"two words":                     malformed("two words"),
		"nats://h:1, %zz":               malformed("%zz"),
		"nats://one:sec/ret@h:4222":     "the URL of the broker " + remedy,
		"nats://one:sec,ret@h:4222":     "the URL of the broker " + remedy,
		"nats://one:%zz,sec@h,nats://h": "the URL of the broker " + remedy,
	} {
		checkError(t, url, natsconn.Config{URL: url}.Check(), want)
	}
}

// TestConfig_Check_Variables holds which variables go together, and that none count beside a connection of the
// application.
func TestConfig_Check_Variables(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		config natsconn.Config
		want   string
	}{
		{"nothing", natsconn.Config{}, ""},
		{"a certificate and its key", natsconn.Config{Cert: "c", Key: "k"}, ""},
		{"no key", natsconn.Config{Cert: "c"}, "BUS_NATS_CERT and BUS_NATS_KEY go together: one of them is missing"},
		{"no certificate", natsconn.Config{Key: "k"}, "BUS_NATS_CERT and BUS_NATS_KEY go together: one of them is missing"},
		{"a user and a password", natsconn.Config{User: "one", Password: "secret"}, ""},
		{"no password", natsconn.Config{User: "one"}, ""},
		{"no user", natsconn.Config{Password: "secret"}, "BUS_NATS_PASSWORD is set, and BUS_NATS_USER is not: they"},
		{"a broker in the process", natsconn.Config{Provider: provider{}, URL: "::1"}, ""},
		{"a given connection", natsconn.Config{NATS: new(nats.Conn), URL: ":::", Password: "secret", Key: "k"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			checkError(t, test.name, test.config.Check(), test.want)
		})
	}
}

// TestConfig_Unreachable_Texts holds the errors for a broker that is not there, each with its remedy and without a
// password.
func TestConfig_Unreachable_Texts(t *testing.T) {
	t.Parallel()
	const remedy = "; start one, or set BUS_NATS_URL or bus.WithURL"
	const comma = ": it cannot be reached; in a password, a comma is %2C" + remedy
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	const isRefused = ": dial: connection refused" + remedy
	lookup := &net.OpError{Op: "dial", Err: &net.DNSError{Name: "one:sec", Err: "no such host"}}
	for _, test := range []struct {
		name   string
		config natsconn.Config
		err    error
		want   string
	}{
		{"an address", natsconn.Config{URL: "h:1"}, refused, "no broker at h:1" + isRefused},
		{"a scheme", natsconn.Config{URL: "tls://h:1"}, nats.ErrNoServers,
			"at tls://h:1: " + nats.ErrNoServers.Error() + remedy},
		{"a login", natsconn.Config{URL: "nats://one:secret@h:1"}, refused, "no broker at nats://h:1" + isRefused},
		{"a token", natsconn.Config{URL: "secret@h:1"}, refused, "no broker at h:1" + isRefused},
		{"an @ in it", natsconn.Config{URL: "nats://one:s@sec@h:1"}, refused, "no broker at nats://h:1" + isRefused},
		{"two", natsconn.Config{URL: "nats://a:1,nats://one:secret@h:1,b:2"}, refused,
			"at nats://a:1, nats://h:1, b:2: dial"},
		{"a comma in it", natsconn.Config{URL: "nats://one:77,sec@h:1"}, lookup, "no broker at nats://…, h:1" + comma},
		{"commas in it", natsconn.Config{URL: "one:77,sec@w,7,d@h:1"}, lookup, "no broker at …, …, …, h:1" + comma},
		{"a cancelled wait", natsconn.Config{URL: "h:1"}, context.Canceled, "context canceled before the broker was reached"},
		{"in the process",
			natsconn.Config{Provider: provider{}, URL: "nats://one:secret@h"}, net.ErrClosed,
			"no broker at the broker of this process: use of closed network connection; start it first, and close it last; " +
				"one with users is reached with bus.WithURL or bus.WithNATS",
		},
		{"a given connection",
			natsconn.Config{NATS: new(nats.Conn)}, context.DeadlineExceeded,
			"the connection given with bus.WithNATS is not connected (DISCONNECTED): context deadline exceeded",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := test.config.Unreachable(test.err)
			checkError(t, test.name, err, test.want)
			if wraps := errors.Is(err, test.err); wraps == strings.Contains(test.want, comma) {
				t.Errorf("%s: it wraps the error of the last attempt: %t", test.name, wraps)
			}
		})
	}
}

// TestConfig_Timeout_Default holds how long to wait for the broker.
func TestConfig_Timeout_Default(t *testing.T) {
	t.Parallel()
	if got := (natsconn.Config{}).Timeout(); got != 5*time.Second {
		t.Errorf("the default is %v", got)
	}
	if got := (natsconn.Config{ConnectTimeout: time.Hour}).Timeout(); got != time.Hour {
		t.Errorf("it is %v, want an hour", got)
	}
}
