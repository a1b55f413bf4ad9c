package permissions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/test/kit"
)

// TestDenied_Subscription names the subject, the user and the remedy.
func TestDenied_Subscription(t *testing.T) {
	t.Parallel()
	g := kit.NewGuarded(t, `subscribe: { deny: ["bus.443.example.calculator.|.>", "bus.r.example.mute.>"] }`)
	for name, options := range g.Both() {
		conn, err := g.ConnectWith(kit.CalculatorHost, options...)
		require.NoError(t, err)
		err = bus.Serve(conn, kit.Calculator{})
		assert.ErrorContains(t, err, `the broker does not let user "guest" subscribe to bus.443.example.calculator.|.`, name)
		assert.ErrorContains(t, err, "see docs/guides/permissions.md", name)
		assert.ErrorIs(t, err, nats.ErrPermissionViolation, name)
		if err := conn.Handle("GET", "/secret", nil); err == nil {
			t.Errorf("%s: Handle without a handler", name)
		}
		if err := bus.Serve(conn, kit.Calculator{}, bus.Port(444)); err != nil {
			t.Errorf("%s: Serve on a port that is allowed: %v", name, err)
		}
		_, err = g.ConnectWith("mute.example", options...)
		assert.ErrorContains(t, err, "subscribe to bus.r.example.mute.", name)
	}
}

// TestDenied_SubscriptionsAtOnce has services of one process start together, none of which may. The broker client keeps
// only the last report, so that one must not take that of another for good news.
func TestDenied_SubscriptionsAtOnce(t *testing.T) {
	t.Parallel()
	const services, rounds = 4, 8
	g := kit.NewGuarded(t, `subscribe: { deny: ["bus.443.>"] }`)
	for name, options := range g.Both() {
		conns := make([]*bus.Conn, services)
		for i := range conns {
			var err error
			conns[i], err = g.ConnectWith(fmt.Sprintf("service%d.example", i), options...)
			require.NoError(t, err)
		}
		for range rounds {
			var starting sync.WaitGroup
			for _, conn := range conns {
				starting.Go(func() {
					err := bus.Serve(conn, kit.Calculator{})
					assert.ErrorContains(t, err, "subscribe to bus.443.example."+strings.TrimSuffix(conn.Host(), ".example"), name)
				})
			}
			starting.Wait()
		}
	}
}

// TestDenied_SubscriptionAmongCalls serves what is denied while calls are, too.
func TestDenied_SubscriptionAmongCalls(t *testing.T) {
	t.Parallel()
	const rounds = 10
	g := kit.NewGuarded(t, `subscribe: { deny: ["bus.443.>"] }, publish: { deny: ["bus.443.>"] }`)
	caller, conn := g.MustConnect("guest", "caller.example"), g.MustConnect("guest", kit.CalculatorHost)
	ctx, cancel := context.WithCancel(t.Context())
	var calling sync.WaitGroup
	for range 2 {
		calling.Go(func() {
			for ctx.Err() == nil {
				_ = caller.NATS().Publish("bus.443.example.other.|.GET.x", nil)
				_ = caller.NATS().Flush()
			}
		})
	}
	for range rounds {
		if err := bus.Serve(conn, kit.Calculator{}); !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("Serve: %v", err)
		}
	}
	cancel()
	calling.Wait()
}

// TestDenied_TooManySubscriptions connects to a broker that takes a few of each connection: what it refuses is not
// served in silence.
func TestDenied_TooManySubscriptions(t *testing.T) {
	t.Parallel()
	const want = "the broker takes no more subscriptions of this connection, so that some are missing: " +
		"raise max_subscriptions of the broker"
	started, err := broker.Start(broker.Listen("127.0.0.1:0"), broker.Config("max_subscriptions: 10"))
	require.NoError(t, err)
	t.Cleanup(started.Close)
	g := &kit.Guarded{T: t, URL: started.URL(), Log: new(kit.Lines)}
	given, err := nats.Connect(started.URL(), nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	require.NoError(t, err)
	t.Cleanup(given.Close)
	for name, option := range map[string]bus.ConnectOption{"our own": bus.WithURL(started.URL()),
		"given": bus.WithNATS(given)} {
		t.Run(name, func(t *testing.T) {
			conn, err := g.ConnectWith(kit.CalculatorHost, option)
			require.NoError(t, err)
			before := conn.NATS().NumSubscriptions()
			for range 2 {
				err := bus.Serve(conn, kit.Calculator{})
				assert.ErrorContains(t, err, want)
				assert.ErrorIs(t, err, nats.ErrMaxSubscriptionsExceeded)
			}
			if after := conn.NATS().NumSubscriptions(); after != before {
				t.Errorf("%d subscriptions, and %d after an error", before, after)
			}
			_, err = g.ConnectWith("other.example", option)
			assert.ErrorContains(t, err, want)
		})
	}
	if told := g.Log.Count(want); told != 1 { // and of the given one nothing
		t.Errorf("told %d times: %s", told, g.Log)
	}
}

// TestDenied_GivenConnectionLater comes back to a broker that denies what another has allowed. Its callbacks are not
// ours, and yet it is not healthy.
func TestDenied_GivenConnectionLater(t *testing.T) {
	t.Parallel()
	allow := func(permissions string) broker.Option {
		return broker.Config(fmt.Sprintf("authorization { users: [ { user: guest, password: secret, permissions: { %s } } ] }", permissions))
	}
	before, err := broker.Start(broker.Listen("127.0.0.1:0"), allow(`subscribe: ">"`))
	require.NoError(t, err)
	g := &kit.Guarded{T: t, URL: before.URL(), Log: new(kit.Lines)}
	conn, err := g.ConnectWith(kit.CalculatorHost, g.Given("guest"))
	require.NoError(t, err)
	kit.Serve(t, conn, kit.Calculator{})
	if conn.Health() != nil {
		t.Error("not healthy at first")
	}
	back := conn.NATS().StatusChanged(nats.CONNECTED)
	defer conn.NATS().RemoveStatusListener(back)
	before.Close()
	after, err := broker.Start(broker.Listen(strings.TrimPrefix(before.URL(), "nats://")),
		allow(`subscribe: { deny: "bus.443.>" }`))
	require.NoError(t, err)
	t.Cleanup(after.Close)
	kit.Await(t, "a connection", back)
	kit.Flush(t, conn.NATS())
	if conn.Health() == nil {
		t.Error("healthy, and no client can call it")
	}
}

// TestDenied_ProbeIsNotRepeated waits for an instance that it cannot ask after.
func TestDenied_ProbeIsNotRepeated(t *testing.T) {
	t.Parallel()
	g := kit.NewGuarded(t, `publish: { deny: ["bus.r.example.slow.>"] }`)
	kit.ServeSlow(t, g.MustConnect("owner", "slow.example"))
	caller := g.MustConnect("guest", "caller.example")
	assert.NoError(t, caller.Call(t.Context(), kit.SlowURL+"2500ms", nil, nil))
	if told := g.Log.Count("docs/guides/permissions.md"); told != 1 {
		t.Errorf("told %d times of what is denied", told)
	}
}

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

// TestDenied_AtStart names what is missing, at once.
func TestDenied_AtStart(t *testing.T) {
	t.Parallel()
	blocks, _ := rehearse(t, nil)
	for subject, want := range map[string]string{
		"bus.r.example.shop.*":                      "connect shop.example: ",
		"bus.r.example.shop.*.*":                    "connect shop.example: ",
		"bus.*.example.shop.*.|.>":                  "connect shop.example: ",
		"bus.443.example.shop.|.GET.buy":            "serve *permissions_test.shop on shop.example: ",
		"bus.443.example.shop.|.GET.stock":          "serve *permissions_test.shop on shop.example: ",
		"bus.888.example.shop.|.GET.allow":          "serve *permissions_test.shop on shop.example: ",
		"bus.443.example.shop.|.GET.openapi%2Ejson": "serve *permissions_test.shop on shop.example: ",
	} {
		t.Run(subject, func(t *testing.T) {
			t.Parallel()
			e := kit.NewEnforcing(t, map[string]string{shopHost: lacking(t, blocks[shopHost], subject), "caller.example": ""})
			conn, err := bus.Connect(t.Context(), shopHost, bus.WithURL(e.As(shopHost)), bus.WithPlane("bus"),
				bus.WithLogger(zerolog.Nop()))
			if err == nil {
				defer kit.CloseConn(t, conn)
				err = bus.Serve(conn, &shop{conn: conn}, bus.Method("Stock", bus.NoQueue()))
			}
			require.Error(t, err, want)
			require.ErrorIs(t, err, nats.ErrPermissionViolation, want)
			require.True(t, strings.HasPrefix(err.Error(), want), err.Error())
			require.ErrorContains(t, err, `the broker does not let user "shop.example" subscribe to bus.`, want)
			require.ErrorContains(t, err, "docs/guides/permissions.md", want)
			caller := e.Connect("caller.example", bus.WithAckWait(time.Minute))
			if err := caller.Call(t.Context(), shopURL+"/buy", nil, nil); !errors.Is(err, bus.ErrNoResponder) {
				t.Errorf("something is served all the same: %v", err)
			}
		})
	}
}

// TestDeniedCall fails at once, and only what goes there.
func TestDeniedCall(t *testing.T) {
	t.Parallel()
	for name, options := range kit.Profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := kit.NewEnforcing(t, map[string]string{
				"caller.example":   kit.PrintedFor(t, "caller.example", options, func(*bus.Conn) {}, shopHost),
				kit.CalculatorHost: "", shopHost: "",
			})
			for _, host := range []string{kit.CalculatorHost, shopHost} {
				kit.Serve(t, e.Connect(host, options...), kit.Calculator{})
			}
			caller := e.Connect("caller.example", append(slices.Clip(options), bus.WithAckWait(time.Minute))...)
			for range 2 {
				err := caller.Call(t.Context(), kit.CalculatorURL+"/add", nil, nil)
				kit.CheckError(t, err, 403, bus.ExecutedNo)
				failed := kit.AsBusError(t, err)
				assert.ErrorIs(t, err, nats.ErrPermissionViolation, "what is denied")
				assert.Contains(t, failed.Detail,
					`the broker does not let user "caller.example" publish to bus.443.example.calculator.|.POST.add`, "what is denied")
				kit.Add(t, caller, shopHost)
			}
		})
	}
}
