package bus_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// twins has two methods that can be given one path.
type twins struct{}

func (twins) One() {}

func (twins) Two() {}

// faulty has methods that cannot be endpoints.
type faulty struct{}

func (faulty) Channel(c chan int) {}

func (faulty) Pair() (int, string) { return 0, "" }

func TestServe_ReportsEveryFault(t *testing.T) {
	t.Parallel()
	conn := newBus(t).Connect("faulty.example")
	err := bus.Serve(conn, faulty{})
	for _, told := range []string{"faulty.example", "Channel", "Pair", "bus.ExcludeMethods"} {
		if err == nil || !strings.Contains(err.Error(), told) {
			t.Errorf("%v does not tell %q", err, told)
		}
	}
	if err := bus.Serve(conn, faulty{}, bus.ExcludeMethods("Channel", "Pair")); err == nil || !strings.Contains(err.Error(), "no exported method") {
		t.Errorf("nothing left: %v", err)
	}
}

func TestRegistrationFaults(t *testing.T) {
	t.Parallel()
	conn := newBus(t).Connect("calculator.example")
	serve(t, conn, calculator{})
	handler := http.NotFoundHandler()
	for name, test := range map[string]struct {
		register func() error
		told     string
	}{
		"twice": {func() error { return bus.Serve(conn, calculator{}) }, "calculator.Add is served by this connection already, as GET /add on port 443: serve it once, or give one of them another path\ncalculator."},
		"a handler on a function": {
			func() error { return conn.Handle("GET", "/add", handler) }, "GET /add and calculator.Add both serve GET /add on port 443",
		},
		"parameters alike": {func() error {
			if err := conn.Handle("GET", "/x/{a}", handler); err != nil {
				return err
			}
			return conn.Handle("GET", "/x/{b}", handler)
		}, "GET /x/{b} and GET /x/{a} both serve GET /x/{b}, such as /x/1, on port 443: serve it once"},
		"the documents' path": {func() error { return conn.Handle("GET", "/openapi.json", handler) }, "/openapi.json"},
		"port 0":              {func() error { return bus.Serve(conn, relay{}, bus.Port(0)) }, "bus.Port"},
		"port 888":            {func() error { return bus.Serve(conn, relay{}, bus.Port(888)) }, "888"},
		"port 417":            {func() error { return bus.Serve(conn, relay{}, bus.Port(417)) }, "reserved for events"},
		"unknown method": {
			func() error { return bus.Serve(conn, relay{}, bus.Method("Jump", bus.Undocumented())) }, "Jump",
		},
		"bad path":     {func() error { return bus.Serve(conn, relay{}, bus.Method("Pass", bus.Path("pass"))) }, "pass"},
		"a colon":      {func() error { return conn.Handle("GET", "/:id", handler) }, "write {id} for a parameter"},
		"a query":      {func() error { return bus.Serve(conn, relay{}, bus.Method("Pass", bus.Path("/pass?x=1"))) }, `ends before "?"`},
		"bad method":   {func() error { return conn.Handle("get", "/y", handler) }, "capital"},
		"HEAD":         {func() error { return conn.Handle("HEAD", "/y", handler) }, "serve GET"},
		"endless path": {func() error { return conn.Handle("GET", "/"+strings.Repeat("a", 5000), handler) }, "shorten the path"},
		"conflict elsewhere": {func() error {
			if err := conn.Handle("GET", "/z", handler, bus.Port(7777)); err != nil {
				return err
			}
			return bus.Serve(conn, twins{}, bus.Port(7778), bus.Method("Two", bus.Path("/one")))
		}, "twins.Two and twins.One both serve GET /one on port 7778"},
		"nil handler": {func() error { return conn.Handle("GET", "/y", nil) }, "the handler is nil"},
		"nil function": {
			func() error { return conn.Handle("GET", "/y", http.HandlerFunc(nil)) }, "handle GET /y on calculator.example: the handler is nil",
		},
		"wrong names": {
			func() error { return bus.Serve(conn, relay{}, bus.ParamNames("Pass", "a, b", "depth, budget")) }, "Pass",
		},
	} {
		if err := test.register(); err == nil || !strings.Contains(err.Error(), test.told) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// nothing of what failed is left behind
	serve(t, conn, relay{})
	if _, body := do(t, conn, "GET", calculatorURL+":888/ping", "", ""); !strings.HasSuffix(body, `"ports":[443,7777]}`) {
		t.Errorf("ping tells %s", body)
	}
}

func TestConnect_Faults(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	for host, told := range map[string]string{
		"": "", "all": "reserved", "Upper.example": "", "a..b": "", "a_b": "", "-a.b": "", strings.Repeat("a", 254): "",
	} {
		_, err := bus.Connect(t.Context(), host, bus.WithBroker(b.Broker()))
		if err == nil || !strings.Contains(err.Error(), told) {
			t.Errorf("host %q: %v", host, err)
		}
	}
	_, err := bus.Connect(t.Context(), "x.example", bus.WithBroker(b.Broker()), bus.WithPlane("a.b"))
	if err == nil || !strings.Contains(err.Error(), "BUS_PLANE") {
		t.Errorf("plane: %v", err)
	}
	for told, option := range map[string]bus.ConnectOption{
		"BUS_BASE_URL": bus.WithBaseURL("nowhere"), "bus.WithMaxHandlers": bus.WithMaxHandlers(0), "bus.WithAckWait": bus.WithAckWait(0),
		"connect timeout -1ns is below zero: set how long to try with bus.WithConnectTimeout, or 0 to try once": bus.WithConnectTimeout(-1),
		"message limit of 65535 bytes is out of range: set 65536 to 536870912 with bus.WithMaxMessageBytes":     bus.WithMaxMessageBytes(64<<10 - 1),
		"message limit of 536870913 bytes": bus.WithMaxMessageBytes(512<<20 + 1),
		"bus.WithBroker: pass a pointer to a broker, such as the one that broker.Start returns":                    bus.WithBroker((*broker.Broker)(nil)),
		"base URL (BUS_BASE_URL or bus.WithBaseURL): it has a login, which all documents would show: leave it out": bus.WithBaseURL("https://user:secret@api.example.com"),
	} {
		if _, err = bus.Connect(t.Context(), "x.example", bus.WithBroker(b.Broker()), option); err == nil || !strings.Contains(err.Error(), told) {
			t.Errorf("%s: %v", told, err)
		}
	}
	_, err = bus.Connect(t.Context(), "x.example", bus.WithURL("nats://user:secret@127.0.0.1:1"), bus.WithConnectTimeout(time.Millisecond))
	if err == nil || !strings.Contains(err.Error(), "no broker at nats://127.0.0.1:1: ") ||
		!strings.HasSuffix(err.Error(), "; start one, or set BUS_NATS_URL or bus.WithURL") || strings.Contains(err.Error(), "secret") {
		t.Errorf("no broker: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = bus.Connect(ctx, "x.example", bus.WithURL("nats://127.0.0.1:1")); err == nil {
		t.Error("connected with a context that has ended")
	}
}
