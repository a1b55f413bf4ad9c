package bus_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus"
)

// newOperatorOf asks on a broker that enforces permissions.
func newOperatorOf(t *testing.T, e *enforcing) *operator {
	t.Helper()
	raw, err := nats.Connect(e.as("operator"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(raw.Close)
	return &operator{t, raw}
}

// TestService_ProtocolIsDenied has a broker that allows what the bus needs, and no more. All works, and there is one line
// of the log for all services.
func TestService_ProtocolIsDenied(t *testing.T) {
	t.Parallel()
	e := newEnforcing(t, map[string]string{"shop": `permissions { subscribe { allow: ["bus.>"] } }`, "operator": ""})
	asShop := bus.WithURL(e.as("shop"))
	one, other := e.connect("operator", asShop), e.connect("operator", asShop, bus.WithoutShortCircuit())
	serve(t, one, calculator{one.ID()})
	serve(t, other, calculator{other.ID()})
	var out struct{ Sum int }
	if err := other.Call(t.Context(), "GET https://operator/add", bus.Args{"x": 1, "y": 2}, &out); err != nil || out.Sum != 3 {
		t.Errorf("%v, %v", out, err)
	}
	if !one.Healthy() || !other.Healthy() {
		t.Error("not healthy")
	}
	if !newOperatorOf(t, e).isAbsent("$SRV.PING") {
		t.Error("it is shown")
	}
	told := e.log.lines("$srv")
	told = slices.DeleteFunc(told, func(line string) bool { return strings.Contains(line, `"level":"debug"`) })
	if len(told) != 1 || !strings.Contains(told[0], `"level":"info"`) || !strings.Contains(told[0], "docs/nats.md") {
		t.Errorf("log: %q", told)
	}
}

// TestService_ProtocolAnswersAreDenied has a broker that lets the service hear what it may not answer.
func TestService_ProtocolAnswersAreDenied(t *testing.T) {
	t.Parallel()
	e := newEnforcing(t, map[string]string{"shop": `permissions { publish { allow: ["bus.>"] } }`, "operator": ""})
	conn := e.connect("operator", bus.WithURL(e.as("shop")))
	serve(t, conn, calculator{conn.ID()})
	newOperatorOf(t, e).say("$SRV.PING", "_INBOX.operator", "")
	if line := e.log.await(t, "_inbox.operator"); !strings.Contains(line, `"level":"debug"`) {
		t.Errorf("log: %s", line)
	}
	if !conn.Healthy() {
		t.Error("not healthy")
	}
}

// TestService_ProtocolWithPrintedPermissions has a service be shown with what it prints.
func TestService_ProtocolWithPrintedPermissions(t *testing.T) {
	t.Parallel()
	for name, options := range profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnforcing(t, map[string]string{
				calculatorHost: printedFor(t, calculatorHost, options, func(conn *bus.Conn) { serve(t, conn, calculator{conn.ID()}) }),
				"operator":     "",
			})
			conn := e.connect(calculatorHost, options...)
			serve(t, conn, calculator{conn.ID()})
			asks := newOperatorOf(t, e)
			for _, subject := range []string{"$SRV.INFO", "$SRV.INFO." + calculatorName, "$SRV.STATS." + calculatorName + "." + conn.ID()} {
				if got := asks.ids(subject, conn); !slices.Equal(got, []string{conn.ID()}) {
					t.Errorf("%s is answered by %v", subject, got)
				}
			}
		})
	}
}

// TestPermissions_WithoutServiceProtocol holds that nothing is asked for what is off, or not there yet.
func TestPermissions_WithoutServiceProtocol(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	caller, unlisted := b.Connect("caller.example"), b.Connect(calculatorHost, bus.WithoutServiceProtocol())
	serve(t, unlisted, calculator{unlisted.ID()})
	for _, conn := range []*bus.Conn{caller, unlisted} {
		granted, err := conn.Permissions()
		if err != nil {
			t.Fatal(err)
		}
		if text := granted.String(); strings.Contains(text, "$SRV") || strings.Contains(text, "_INBOX") {
			t.Errorf("%s: %s", conn.Host(), text)
		}
	}
}
