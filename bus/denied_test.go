package bus_test

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
)

// guarded is a bus whose broker lets a user named guest do only some things.
type guarded struct {
	t   *testing.T
	url string // with the user and the password
	log *lines
}

func newGuarded(t *testing.T, permissions string) *guarded {
	t.Helper()
	started, err := broker.Start(broker.Listen("127.0.0.1:0"), broker.Config(fmt.Sprintf(`authorization { users: [
		{ user: guest, password: secret, permissions: { %s } }
		{ user: owner, password: secret }
	] }`, permissions)))
	require.NoError(t, err)
	t.Cleanup(started.Close)
	return &guarded{t: t, url: started.URL(), log: new(lines)}
}

func (g *guarded) as(user string) string {
	return strings.Replace(g.url, "://", "://"+user+":secret@", 1)
}

func (g *guarded) connect(user, host string, options ...bus.ConnectOption) (*bus.Conn, error) {
	return g.connectWith(host, append(options, bus.WithURL(g.as(user)))...)
}

// connectWith leaves it to the options as whom to connect.
func (g *guarded) connectWith(host string, options ...bus.ConnectOption) (*bus.Conn, error) {
	g.t.Helper()
	conn, err := bus.Connect(g.t.Context(), host, append(options, bus.WithPlane("bus"), bus.WithLogger(zerolog.New(g.log)))...)
	if err == nil {
		g.t.Cleanup(func() {
			assert.NoError(g.t, conn.Close(context.Background()))
		})
	}
	return conn, err
}

func (g *guarded) mustConnect(user, host string, options ...bus.ConnectOption) *bus.Conn {
	g.t.Helper()
	conn, err := g.connect(user, host, options...)
	require.NoError(g.t, err)
	return conn
}

// given returns a connection of the application's own.
func (g *guarded) given(user string) bus.ConnectOption {
	g.t.Helper()
	made, err := nats.Connect(g.as(user), nats.ReconnectBufSize(-1), nats.ReconnectWait(time.Millisecond), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	require.NoError(g.t, err)
	g.t.Cleanup(made.Close)
	return bus.WithNATS(made)
}

// both are a connection of ours and one that was given.
func (g *guarded) both() map[string][]bus.ConnectOption {
	return map[string][]bus.ConnectOption{"our own": {bus.WithURL(g.as("guest"))}, "given": {g.given("guest")}}
}

// TestDenied_Subscription names the subject, the user and the remedy.
func TestDenied_Subscription(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, `subscribe: { deny: ["bus.443.example.calculator.|.>", "bus.r.example.mute.>"] }`)
	for name, options := range g.both() {
		conn, err := g.connectWith(calculatorHost, options...)
		require.NoError(t, err)
		err = bus.Serve(conn, calculator{})
		assert.ErrorContains(t, err, `the broker does not let user "guest" subscribe to bus.443.example.calculator.|.`, name)
		assert.ErrorContains(t, err, "see docs/guides/permissions.md", name)
		assert.ErrorIs(t, err, nats.ErrPermissionViolation, name)
		if err := conn.Handle("GET", "/secret", nil); err == nil {
			t.Errorf("%s: Handle without a handler", name)
		}
		if err := bus.Serve(conn, calculator{}, bus.Port(444)); err != nil {
			t.Errorf("%s: Serve on a port that is allowed: %v", name, err)
		}
		_, err = g.connectWith("mute.example", options...)
		assert.ErrorContains(t, err, "subscribe to bus.r.example.mute.", name)
	}
}

// TestDenied_SubscriptionsAtOnce has services of one process start together, none of which may. The broker client keeps
// only the last report, so that one must not take that of another for good news.
func TestDenied_SubscriptionsAtOnce(t *testing.T) {
	t.Parallel()
	const services, rounds = 4, 8
	g := newGuarded(t, `subscribe: { deny: ["bus.443.>"] }`)
	for name, options := range g.both() {
		conns := make([]*bus.Conn, services)
		for i := range conns {
			var err error
			conns[i], err = g.connectWith(fmt.Sprintf("service%d.example", i), options...)
			require.NoError(t, err)
		}
		for range rounds {
			var starting sync.WaitGroup
			for _, conn := range conns {
				starting.Go(func() {
					err := bus.Serve(conn, calculator{})
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
	g := newGuarded(t, `subscribe: { deny: ["bus.443.>"] }, publish: { deny: ["bus.443.>"] }`)
	caller, conn := g.mustConnect("guest", "caller.example"), g.mustConnect("guest", calculatorHost)
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
		if err := bus.Serve(conn, calculator{}); !errors.Is(err, nats.ErrPermissionViolation) {
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
	const want = "the broker takes no more subscriptions of this connection, so that some are missing: raise max_subscriptions of the broker"
	started, err := broker.Start(broker.Listen("127.0.0.1:0"), broker.Config("max_subscriptions: 10"))
	require.NoError(t, err)
	t.Cleanup(started.Close)
	g := &guarded{t: t, url: started.URL(), log: new(lines)}
	given, err := nats.Connect(started.URL(), nats.ReconnectBufSize(-1), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	require.NoError(t, err)
	t.Cleanup(given.Close)
	for name, option := range map[string]bus.ConnectOption{"our own": bus.WithURL(started.URL()), "given": bus.WithNATS(given)} {
		t.Run(name, func(t *testing.T) {
			conn, err := g.connectWith(calculatorHost, option)
			require.NoError(t, err)
			before := conn.NATS().NumSubscriptions()
			for range 2 {
				err := bus.Serve(conn, calculator{})
				assert.ErrorContains(t, err, want)
				assert.ErrorIs(t, err, nats.ErrMaxSubscriptionsExceeded)
			}
			if after := conn.NATS().NumSubscriptions(); after != before {
				t.Errorf("%d subscriptions, and %d after an error", before, after)
			}
			_, err = g.connectWith("other.example", option)
			assert.ErrorContains(t, err, want)
		})
	}
	if told := g.log.count(want); told != 1 { // and of the given one nothing
		t.Errorf("told %d times: %s", told, g.log)
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
	g := &guarded{t: t, url: before.URL(), log: new(lines)}
	conn, err := g.connectWith(calculatorHost, g.given("guest"))
	require.NoError(t, err)
	serve(t, conn, calculator{})
	if !conn.Healthy() {
		t.Error("not healthy at first")
	}
	back := conn.NATS().StatusChanged(nats.CONNECTED)
	defer conn.NATS().RemoveStatusListener(back)
	before.Close()
	after, err := broker.Start(broker.Listen(strings.TrimPrefix(before.URL(), "nats://")), allow(`subscribe: { deny: "bus.443.>" }`))
	require.NoError(t, err)
	t.Cleanup(after.Close)
	await(t, "a connection", back)
	flush(t, conn.NATS())
	if conn.Healthy() {
		t.Error("healthy, and no client can call it")
	}
}

// TestDenied_CallEndsAtOnce calls what the broker does not let through. Of a connection that was given it is known when
// no ack has come.
func TestDenied_CallEndsAtOnce(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, `publish: { deny: ["bus.443.example.calculator.|.>"] }`)
	callee := g.mustConnect("owner", calculatorHost)
	serve(t, callee, calculator{callee.ID()}, bus.Method("Who", bus.NoQueue()))
	for name, options := range g.both() {
		caller, err := g.connectWith("caller.example", append(options, bus.WithAckWait(300*time.Millisecond))...)
		require.NoError(t, err)
		for range 2 {
			err := caller.Call(t.Context(), calculatorURL+"/add", bus.Args{"x": 1}, nil)
			checkError(t, err, 403, bus.ExecutedNo)
			failed := asBusError(t, err)
			assert.NotEmpty(t, failed.MsgID, name)
			assert.True(t, bus.IsInternal(err), name)
			assert.Equal(t, `the broker does not let user "guest" publish to bus.443.example.calculator.|.POST.add; see docs/guides/permissions.md`, failed.Detail, name)
		}
		if name == "our own" {
			for _, err := range caller.Multicast(mustRequest(t, calculatorURL+"/who")) {
				checkError(t, err, 403, bus.ExecutedNo)
			}
		}
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
		add(t, caller, callee.ID()+"."+calculatorHost) // which is another subject
	}
	if told := g.log.count(`"message":"the broker does not let user \"guest\" publish to bus.443.example.calculator.|.POST.add`); told != 1 {
		t.Errorf("told of one subject %d times", told)
	}
}

// TestDenied_ProbeIsNotRepeated waits for an instance that it cannot ask after.
func TestDenied_ProbeIsNotRepeated(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, `publish: { deny: ["bus.r.example.slow.>"] }`)
	serveSlow(t, g.mustConnect("owner", "slow.example"))
	caller := g.mustConnect("guest", "caller.example")
	assert.NoError(t, caller.Call(t.Context(), slowURL+"2500ms", nil, nil))
	if told := g.log.count("docs/guides/permissions.md"); told != 1 {
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
			require.Error(t, err, want)
			require.ErrorIs(t, err, nats.ErrPermissionViolation, want)
			require.True(t, strings.HasPrefix(err.Error(), want), err.Error())
			require.ErrorContains(t, err, `the broker does not let user "shop.example" subscribe to bus.`, want)
			require.ErrorContains(t, err, "docs/guides/permissions.md", want)
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
				checkError(t, err, 403, bus.ExecutedNo)
				failed := asBusError(t, err)
				assert.ErrorIs(t, err, nats.ErrPermissionViolation, "what is denied")
				assert.Contains(t, failed.Detail, `the broker does not let user "caller.example" publish to bus.443.example.calculator.|.POST.add`, "what is denied")
				add(t, caller, shopHost)
			}
		})
	}
}
