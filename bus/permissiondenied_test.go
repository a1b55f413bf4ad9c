package bus_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
)

// lacking returns a block without one of the subscriptions.
func lacking(t *testing.T, granted bus.Permissions, subject string) string {
	t.Helper()
	at := slices.IndexFunc(granted.Subscribe, func(one bus.Permission) bool { return one.Subject == subject })
	if at < 0 {
		t.Fatalf("%s is not in %s", subject, granted)
	}
	granted.Subscribe = slices.Delete(slices.Clone(granted.Subscribe), at, at+1)
	return granted.String()
}

// TestDeniedAtStart names what is missing, at once.
func TestDeniedAtStart(t *testing.T) {
	t.Parallel()
	blocks, _ := rehearse(t, nil)
	for subject, want := range map[string]string{
		"bus.r.example.shop.*":                      "connect shop.example: ",
		"bus.r.example.shop.*.*":                    "connect shop.example: ",
		"bus.*.example.shop.*.|.>":                  "connect shop.example: ",
		"bus.888.all.|.>":                           "connect shop.example: ",
		"bus.443.example.shop.|.GET.buy":            "serve *bus_test.shop on shop.example: ",
		"bus.443.example.shop.|.GET.stock":          "serve *bus_test.shop on shop.example: ",
		"bus.888.example.shop.|.GET.allow":          "serve *bus_test.shop on shop.example: ",
		"bus.443.example.shop.|.GET.openapi%2Ejson": "serve *bus_test.shop on shop.example: ",
	} {
		t.Run(subject, func(t *testing.T) {
			t.Parallel()
			e := newEnforcing(t, map[string]string{shopHost: lacking(t, blocks[shopHost], subject), "caller.example": ""})
			conn, err := bus.Connect(t.Context(), shopHost, bus.WithURL(e.as(shopHost)), bus.WithPlane("bus"), bus.WithLogger(zerolog.Nop()))
			if err == nil {
				defer closeConn(t, conn)
				err = bus.Serve(conn, &shop{conn: conn}, bus.Method("Stock", bus.NoQueue()))
			}
			if err == nil || !errors.Is(err, nats.ErrPermissionViolation) || !strings.HasPrefix(err.Error(), want) ||
				!strings.Contains(err.Error(), `the broker does not let user "shop.example" subscribe to bus.`) || !strings.Contains(err.Error(), "docs/permissions.md") {
				t.Fatalf("got %v, want %s…", err, want)
			}
			caller := e.connect("caller.example", bus.WithAckWait(time.Minute))
			if err := caller.Call(t.Context(), shopURL+"/buy", nil, nil); !errors.Is(err, bus.ErrNoResponder) {
				t.Errorf("something is served all the same: %v", err)
			}
		})
	}
}

// TestDeniedCall fails at once, and only what goes there.
func TestDeniedCall(t *testing.T) {
	t.Parallel()
	for name, options := range profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnforcing(t, map[string]string{
				"caller.example": printedFor(t, "caller.example", options, func(*bus.Conn) {}, shopHost), calculatorHost: "", shopHost: "",
			})
			for _, host := range []string{calculatorHost, shopHost} {
				serve(t, e.connect(host, options...), calculator{})
			}
			caller := e.connect("caller.example", append(slices.Clip(options), bus.WithAckWait(time.Minute))...)
			for range 2 {
				err := caller.Call(t.Context(), calculatorURL+"/add", nil, nil)
				failed, _ := errors.AsType[*bus.Error](err)
				if failed == nil || failed.Status != 403 || failed.Executed != bus.ExecutedNo || !errors.Is(err, nats.ErrPermissionViolation) ||
					!strings.Contains(failed.Detail, `the broker does not let user "caller.example" publish to bus.443.example.calculator.|.POST.add`) {
					t.Errorf("what is denied: %v", err)
				}
				add(t, caller, shopHost)
			}
		})
	}
}
