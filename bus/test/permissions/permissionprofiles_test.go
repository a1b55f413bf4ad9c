package permissions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/test/kit"
)

// byDomain is the profile by domain of docs/guides/permissions.md, with what its services have to hear from all.
const byDomain = `permissions { subscribe { allow: ["*.*.com.example.>", "*.888.all.|.>"] } }`

// inOnePlane is the same for one plane.
const inOnePlane = `permissions { publish { allow: ["bus.>"] }, subscribe { allow: ["bus.*.com.example.>", "bus.888.all.|.>"] } }`

// TestDomainProfile holds what the patterns of that profile let through, in a queue group and without one.
func TestDomainProfile(t *testing.T) {
	t.Parallel()
	e := kit.NewEnforcing(t, map[string]string{"domain": byDomain, "one plane": inOnePlane})
	for subject, want := range map[string]struct{ domain, onePlane bool }{
		"bus.443.com.example.|.GET.add":                  {true, true},
		"bus.443.com.example.calculator.|.GET.add":       {true, true},
		"bus.444.com.example.calculator.|.*.>":           {true, true},
		"bus.*.com.example.calculator.k3f9x2m7qp.|.>":    {true, true},
		"bus.888.all.|.GET.ping":                         {true, true},
		"bus.r.com.example.calculator.k3f9x2m7qp":        {true, true},
		"bus.r.com.example.calculator.k3f9x2m7qp.*":      {true, true},
		"bus.r.com.example.payroll.p1aaaaaaaa":           {true, true}, // peers of the domain can read each other's responses
		"alien.443.com.example.calculator.|.GET.add":     {true, false},
		"alien.r.com.example.payroll.p1aaaaaaaa":         {true, false},
		"bus.443.com.exampleX.calculator.|.GET.add":      {},
		"bus.443.com.|.GET.add":                          {},
		"bus.443.org.example.calculator.|.GET.add":       {},
		"bus.443.com.>":                                  {},
		"bus.443.com.*.>":                                {},
		"bus.443.*.example.>":                            {},
		"bus.*.*.example.>":                              {},
		"*.*.*.example.>":                                {},
		"bus.>":                                          {},
		"*.>":                                            {},
		">":                                              {},
		"bus.443.all.|.GET.ping":                         {},
		"bus.r.com.other.payroll.p1aaaaaaaa":             {},
		"bus.r.>":                                        {},
		"$SYS.>":                                         {},
		"_INBOX.>":                                       {},
		"$JS.API.>":                                      {},
		"bus.443.com.example":                            {},
		"com.example.calculator":                         {},
		"bus.443.calculator.example.com.|.GET.add":       {}, // the right way round
		"bus.443.COM.example.calculator.|.GET.add":       {},
		"bus.443.com.other.com.example.calculator.|.GET": {},
	} {
		for _, queue := range []string{"", "calculator.example.com"} {
			o := kit.Operation{Verb: "SUB", Subject: subject, Queue: queue}
			if got := e.Login("domain").Allows(o); got != want.domain {
				t.Errorf("by domain, %s: allowed %v", o, got)
			}
			if got := e.Login("one plane").Allows(o); got != want.onePlane {
				t.Errorf("by domain in one plane, %s: allowed %v", o, got)
			}
		}
	}
	if e.Login("one plane").Allows(kit.Operation{Verb: "PUB", Subject: "alien.443.com.example.calculator.|.GET.add"}) {
		t.Error("one plane publishes to another")
	}
}

// TestPermissionProfiles_PrintedBlocksStayInside has a service try what belongs to others.
func TestPermissionProfiles_PrintedBlocksStayInside(t *testing.T) {
	t.Parallel()
	for name, options := range kit.Profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blocks, _ := rehearse(t, options)
			e := kit.NewEnforcing(t, map[string]string{shopHost: blocks[shopHost].String()})
			evil := e.Login(shopHost)
			for _, o := range []kit.Operation{
				{Verb: "SUB", Subject: "bus.443.example.calculator.|.GET.add", Queue: kit.CalculatorHost}, // serve another host
				{Verb: "SUB", Subject: "bus.443.example.calculator.|.GET.add", Queue: ""},                 // listen in on one
				// listen in on its own instances
				{Verb: "SUB", Subject: "bus.443.example.shop.|.GET.buy", Queue: ""},
				{Verb: "SUB", Subject: "bus.443.example.shop.|.GET.buy", Queue: "calculator.example"}, // get each request twice
				// serve what it was not meant to
				{Verb: "SUB", Subject: "bus.443.example.shop.|.GET.sell", Queue: shopHost},
				{Verb: "SUB", Subject: "bus.*.example.*.*.|.>", Queue: ""},
				{Verb: "SUB", Subject: "bus.r.example.calculator.k3f9x2m7qp", Queue: ""}, // read the answers to others
				{Verb: "SUB", Subject: "bus.r.example.*.*", Queue: ""},
				{Verb: "SUB", Subject: "bus.r.>", Queue: ""},
				{Verb: "SUB", Subject: "bus.>", Queue: ""},
				{Verb: "SUB", Subject: ">", Queue: ""},
				{Verb: "SUB", Subject: "$SYS.>", Queue: ""},
				{Verb: "SUB", Subject: "_INBOX.>", Queue: ""},
				{Verb: "SUB", Subject: "alien.443.example.shop.|.GET.buy", Queue: shopHost},
				{Verb: "PUB", Subject: "alien.443.example.calculator.|.GET.add", Queue: ""},
				{Verb: "PUB", Subject: "bus.443.example.payroll.|.GET.salary", Queue: ""}, // call what it never called
				{Verb: "PUB", Subject: "bus.444.example.calculator.|.GET.add", Queue: ""},
				{Verb: "PUB", Subject: "bus.888.example.payroll.p1aaaaaaaa.|.POST.cancel", Queue: ""},
				{Verb: "PUB", Subject: "bus.888.all.|.POST.other", Queue: ""},
				{Verb: "PUB", Subject: "$SYS.REQ.SERVER.PING", Queue: ""},
			} {
				if evil.Allows(o) {
					t.Errorf("%s is allowed", o)
				}
			}
			for _, o := range []kit.Operation{
				{Verb: "PUB", Subject: "bus.r.example.payroll.p1aaaaaaaa", Queue: ""},
				{Verb: "PUB", Subject: "bus.r.example.payroll.p1aaaaaaaa.m1", Queue: ""},
				{Verb: "PUB", Subject: "bus.r.example.calculator.k3f9x2m7qp.m1", Queue: ""}, // a host that it calls
			} {
				if allowed := evil.Allows(o); allowed != (blocks[shopHost].Responses == nil) {
					t.Errorf("%s: allowed %v", o, allowed)
				}
			}
		})
	}
}

// TestPermissionProfiles_NoInstancePublishesToItself has a service announce something with the reply subject of a call
// that it may not make. If it got its own announcement, the broker would let it publish there.
func TestPermissionProfiles_NoInstancePublishesToItself(t *testing.T) {
	t.Parallel()
	printed := func(setUp func(*bus.Conn), callees ...string) string {
		return kit.PrintedFor(t, "evil.example", []bus.ConnectOption{bus.WithAllowResponses()}, setUp, callees...)
	}
	sums := func(conn *bus.Conn) { kit.Serve(t, conn, kit.Calculator{}) }
	block := printed(sums, "calculator.example")
	e := kit.NewEnforcing(t, map[string]string{"evil.example": block})
	evil := e.Login("evil.example")
	if refused := evil.Subscribe("bus.888.all.|.>", ""); len(refused) > 0 {
		t.Fatal(refused)
	}
	const target = "bus.443.example.payroll.|.POST.raise"
	for _, announcement := range []string{"hello", "bye"} {
		if refused := evil.Publish("bus.888.all.|.POST."+announcement, target, "x"); len(refused) > 0 {
			t.Errorf("%s: %s", announcement, refused)
		}
	}
	if evil.Allows(kit.Operation{Verb: "PUB", Subject: target}) {
		t.Error("it may publish what it has handed itself")
	}
	for _, block := range []string{printed(sums, "evil.example"), printed(sums, "*"), printed(sums, "*.example")} {
		if strings.Contains(block, "deny") {
			t.Errorf("it does not hear of others, for nothing, as it may call itself:\n%s", block)
		}
	}
}

// clerk answers when it is told to, and tells who asks.
type clerk struct {
	asked  chan bus.Caller
	answer chan struct{}
}

func (c *clerk) Ask(ctx context.Context) (word string) {
	caller, _ := bus.CallerOf(ctx)
	c.asked <- caller
	<-c.answer
	return "genuine"
}

// TestForgedResponses answers in the name of another, knowing the id of a message that waits. Where every client may
// publish to response subjects the forgery counts. With allow_responses the broker denies it, and where it does not,
// the caller does not hear it.
func TestForgedResponses(t *testing.T) {
	t.Parallel()
	for name, options := range kit.Profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			idle := func(*bus.Conn) {}
			asked := &clerk{make(chan bus.Caller, 1), make(chan struct{})}
			e := kit.NewEnforcing(t, map[string]string{
				"clerk.example":  kit.PrintedFor(t, "clerk.example", options, func(conn *bus.Conn) { kit.Serve(t, conn, asked) }),
				"caller.example": kit.PrintedFor(t, "caller.example", options, idle, "clerk.example"),
				"evil.example":   kit.PrintedFor(t, "evil.example", options, idle, "caller.example"),
			})
			callee := e.Connect("clerk.example", options...)
			kit.Serve(t, callee, asked)
			answered := make(chan string, 1)
			caller := e.Connect("caller.example", options...)
			go func() {
				var out struct{ Word string }
				assert.NoError(t, caller.Call(t.Context(), "https://clerk.example/ask", nil, &out))
				answered <- out.Word
			}()
			message := kit.Await(t, "the question", asked.asked)
			forged := forgery(callee, message.MsgID)
			evil, hears, hardened := e.Login("evil.example"), "bus.r.example.caller."+caller.ID(), len(options) > 0
			if refused := evil.Publish(hears, "", forged); len(refused) != 0 { // it may ask whether the caller lives
				t.Errorf("to the response subject: %s", refused)
			}
			if hardened && evil.Publish(hears+"."+message.MsgID, "", forged) == nil {
				t.Error("the broker lets a client answer who was not asked")
			}
			want := "forged"
			if hardened {
				want = "genuine"
				close(asked.answer)
			}
			if word := kit.Await(t, "the answer", answered); word != want {
				t.Errorf("the answer is %s, want %s", word, want)
			}
			if !hardened {
				close(asked.answer)
			}
		})
	}
}

// forgery is a response that an instance has not sent.
func forgery(sender *bus.Conn, msgID string) string {
	const body = `{"word":"forged"}`
	return strings.Join([]string{
		"HTTP/1.1 200 OK", "Connection: close", "Content-Length: " + strconv.Itoa(len(body)),
		"Content-Type: application/json",
		"Bus-From-Host: " + sender.Host(), "Bus-From-Id: " + sender.ID(), "Bus-Msg-Id: " + msgID, "Bus-Op-Code: Res",
		"Bus-Queue: " + sender.Host(), "", body,
	}, "\r\n")
}

// TestPermissionProfiles_LateResponses holds that a permission to answer ends, and not before its time.
func TestPermissionProfiles_LateResponses(t *testing.T) {
	t.Parallel()
	within := func(expires time.Duration) string {
		return bus.Permissions{
			Subscribe: []bus.Permission{{Subject: "question"}},
			Responses: &bus.ResponsePermission{MaxMsgs: -1, Expires: expires},
		}.String()
	}
	e := kit.NewEnforcing(t, map[string]string{"slow": within(time.Hour),
		"late": within(50 * time.Millisecond), "asks": ""})
	slow, late := e.Login("slow"), e.Login("late")
	slow.Subscribe("question", "")
	late.Subscribe("question", "")
	e.Login("asks").Publish("question", "answer", "?")
	answer := kit.Operation{Verb: "PUB", Subject: "answer"}
	for late.Allows(answer) { // until it has expired
		if t.Context().Err() != nil {
			return
		}
	}
	assert.True(t, slow.Allows(answer), "an answer is denied, or something else allowed")
	assert.False(t, slow.Allows(kit.Operation{Verb: "PUB", Subject: "other"}))
}

// newEnforcingPair starts a cluster of two brokers that know the same users. What goes wrong at either is in one log.
func newEnforcingPair(t *testing.T, users map[string]string) (one, other *kit.Enforcing) {
	t.Helper()
	var list strings.Builder
	for name, permissions := range users {
		fmt.Fprintf(&list, "{ user: %q, password: %q\n%s }\n", name, "secret", permissions)
	}
	one = newMember(t, list.String(), 0)
	other = newMember(t, list.String(), clusterPort(one))
	other.Log = one.Log
	return one, other
}

// newMember starts a broker of a cluster; one that knows another joins it.
func newMember(t *testing.T, users string, known int) *kit.Enforcing {
	t.Helper()
	routes := ""
	if known != 0 {
		routes = fmt.Sprintf("routes: [ %q ]", fmt.Sprintf("nats://127.0.0.1:%d", known))
	}
	return kit.StartEnforcing(t, broker.Listen("127.0.0.1:0"), broker.Config(fmt.Sprintf(`
		accounts { bus { users: [ %s ] }, system { users: [ { user: system, password: secret } ] } }
		system_account: system
		cluster { name: pair, listen: "127.0.0.1:-1", %s }`, users, routes)))
}

// clusterPort asks the broker on which port the others reach it.
func clusterPort(e *kit.Enforcing) int {
	e.T.Helper()
	operator, err := nats.Connect(e.As("system"))
	require.NoError(e.T, err)
	defer operator.Close()
	answer, err := operator.Request("$SYS.REQ.SERVER.PING.VARZ", nil, time.Minute)
	require.NoError(e.T, err)
	var told struct {
		Data struct {
			Cluster struct {
				Port int `json:"cluster_port"`
			} `json:"cluster"`
		} `json:"data"`
	}
	err = json.Unmarshal(answer.Data, &told)
	require.NoError(e.T, err, answer.Data)
	require.NotZero(e.T, told.Data.Cluster.Port, answer.Data)
	return told.Data.Cluster.Port
}

// reaches waits until a service at the other broker answers: until then it is not known at this one. Whatever was
// subscribed to before what answers, on either side, is known then, too.
func reaches(t *testing.T, from *bus.Conn, address string) {
	t.Helper()
	for {
		err := from.Call(t.Context(), address, nil, nil)
		if !errors.Is(err, bus.ErrNoResponder) {
			require.NoError(t, err)
			return
		}
	}
}

// TestPermissions_InACluster has the players do all that the bus offers, with the shop at another broker than the rest.
func TestPermissions_InACluster(t *testing.T) {
	t.Parallel()
	for name, options := range kit.Profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blocks, _ := rehearse(t, options)
			users := make(map[string]string)
			for host, granted := range blocks {
				users[host] = granted.String()
			}
			one, other := newEnforcingPair(t, users)
			p := newPlayers(t, one, other.As(shopHost), options)
			reaches(t, p.caller, shopURL+":444/echo/last")
			if p.shop.NATS().ConnectedServerId() == p.caller.NATS().ConnectedServerId() {
				t.Error("all are at one broker")
			}
			p.act()
			p.leave()
			for _, line := range one.Log.Lines("violation") {
				t.Error(line)
			}
		})
	}
}

// TestPermissionProfiles_InACluster tries at one broker what a service at the other is asked, and answers.
func TestPermissionProfiles_InACluster(t *testing.T) {
	t.Parallel()
	for name, options := range kit.Profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			idle := func(*bus.Conn) {}
			asked := &clerk{make(chan bus.Caller, 1), make(chan struct{})}
			one, other := newEnforcingPair(t, map[string]string{
				"clerk.example":  kit.PrintedFor(t, "clerk.example", options, func(conn *bus.Conn) { kit.Serve(t, conn, asked) }),
				"caller.example": kit.PrintedFor(t, "caller.example", options, idle, "clerk.example"),
				"evil.example":   kit.PrintedFor(t, "evil.example", options, idle, "caller.example"),
			})
			callee, caller := one.Connect("clerk.example", options...), other.Connect("caller.example", options...)
			kit.Serve(t, callee, asked)
			reaches(t, caller, "GET https://clerk.example/openapi.json")
			answered := make(chan string, 1)
			go func() {
				var out struct{ Word string }
				assert.NoError(t, caller.Call(t.Context(), "https://clerk.example/ask", nil, &out))
				answered <- out.Word
			}()
			message := kit.Await(t, "the question", asked.asked)
			own := "bus.r.example.caller." + caller.ID() + "." + message.MsgID
			for _, at := range []*kit.Enforcing{one, other} {
				evil := at.Login("evil.example")
				for _, o := range []kit.Operation{
					{Verb: "SUB", Subject: "bus.443.example.clerk.|.POST.ask", Queue: "clerk.example"}, // serve another host
					{Verb: "SUB", Subject: "bus.443.example.clerk.|.POST.ask", Queue: ""},              // listen in on one
					{Verb: "SUB", Subject: "bus.r.example.caller.*", Queue: ""},                        // read the answers to another
					{Verb: "SUB", Subject: own, Queue: ""},
					{Verb: "SUB", Subject: ">", Queue: ""},
					{Verb: "PUB", Subject: "bus.443.example.clerk.|.POST.ask", Queue: ""}, // call what it never called
				} {
					if evil.Allows(o) {
						t.Errorf("%s is allowed", o)
					}
				}
				if len(options) > 0 && evil.Publish(own, "", forgery(callee, message.MsgID)) == nil {
					t.Error("a broker lets a client answer who was not asked")
				}
			}
			close(asked.answer)
			if word := kit.Await(t, "the answer", answered); word != "genuine" {
				t.Errorf("the answer is %s", word)
			}
			checkDenials(t, other, caller)
		})
	}
}

// checkDenials holds that what is denied at a broker of a cluster is told as that of a single one.
func checkDenials(t *testing.T, at *kit.Enforcing, caller *bus.Conn) {
	t.Helper()
	err := caller.Call(t.Context(), "https://evil.example/x", nil, nil)
	kit.CheckError(t, err, 403, bus.ExecutedNo)
	if !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("a call that is denied: %v", err)
	}
	if err := bus.Serve(caller, &clerk{}); !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("a service that is denied: %v", err)
	}
	if lines := at.Log.Lines("does not let"); len(lines) == 0 {
		t.Error("what is denied is not in the log")
	}
}

// newOperatorOf asks on a broker that enforces permissions.
func newOperatorOf(t *testing.T, e *kit.Enforcing) *kit.Operator {
	t.Helper()
	raw, err := nats.Connect(e.As("operator"))
	require.NoError(t, err)
	t.Cleanup(raw.Close)
	return &kit.Operator{T: t, Conn: raw}
}

// TestService_ProtocolIsDenied has a broker that allows what the bus needs, and no more. All works, and there is one
// line of the log for all services.
func TestService_ProtocolIsDenied(t *testing.T) {
	t.Parallel()
	e := kit.NewEnforcing(t, map[string]string{"shop": `permissions { subscribe { allow: ["bus.>"] } }`, "operator": ""})
	asShop := bus.WithURL(e.As("shop"))
	one, other := e.Connect("operator", asShop), e.Connect("operator", asShop, bus.WithoutShortCircuit())
	kit.Serve(t, one, kit.Calculator{ID: one.ID()})
	kit.Serve(t, other, kit.Calculator{ID: other.ID()})
	var out struct{ Sum int }
	err := other.Call(t.Context(), "GET https://operator/add", bus.Args{"x": 1, "y": 2}, &out)
	require.NoError(t, err)
	assert.Equal(t, 3, out.Sum)
	require.NoError(t, one.Health(), "not healthy")
	require.NoError(t, other.Health())
	if !newOperatorOf(t, e).IsAbsent("$SRV.PING") {
		t.Error("it is shown")
	}
	told := e.Log.Lines("$srv")
	told = slices.DeleteFunc(told, func(line string) bool { return strings.Contains(line, `"level":"debug"`) })
	require.Len(t, told, 1, "log")
	assert.Contains(t, told[0], `"level":"info"`, "log")
	assert.Contains(t, told[0], "docs/reference/nats.md", "log")
}

// TestService_ProtocolAnswersAreDenied has a broker that lets the service hear what it may not answer.
func TestService_ProtocolAnswersAreDenied(t *testing.T) {
	t.Parallel()
	e := kit.NewEnforcing(t, map[string]string{"shop": `permissions { publish { allow: ["bus.>"] } }`, "operator": ""})
	conn := e.Connect("operator", bus.WithURL(e.As("shop")))
	kit.Serve(t, conn, kit.Calculator{ID: conn.ID()})
	newOperatorOf(t, e).Say("$SRV.PING", "_INBOX.operator", "")
	if line := e.Log.Await(t, "_inbox.operator"); !strings.Contains(line, `"level":"debug"`) {
		t.Errorf("log: %s", line)
	}
	if conn.Health() != nil {
		t.Error("not healthy")
	}
}

// TestService_ProtocolWithPrintedPermissions has a service be shown with what it prints.
func TestService_ProtocolWithPrintedPermissions(t *testing.T) {
	t.Parallel()
	for name, options := range kit.Profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := kit.NewEnforcing(t, map[string]string{
				kit.CalculatorHost: kit.PrintedFor(t, kit.CalculatorHost, options,
					func(conn *bus.Conn) { kit.Serve(t, conn, kit.Calculator{ID: conn.ID()}) }),
				"operator": "",
			})
			conn := e.Connect(kit.CalculatorHost, options...)
			kit.Serve(t, conn, kit.Calculator{ID: conn.ID()})
			asks := newOperatorOf(t, e)
			for _, subject := range []string{"$SRV.INFO", "$SRV.INFO." + kit.CalculatorName,
				"$SRV.STATS." + kit.CalculatorName + "." + conn.ID()} {
				if got := asks.IDs(subject, conn); !slices.Equal(got, []string{conn.ID()}) {
					t.Errorf("%s is answered by %v", subject, got)
				}
			}
		})
	}
}

// TestPermissions_WithoutServiceProtocol holds that nothing is asked for what is off, or not there yet.
func TestPermissions_WithoutServiceProtocol(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t)
	caller, unlisted := b.Connect("caller.example"), b.Connect(kit.CalculatorHost, bus.WithoutServiceProtocol())
	kit.Serve(t, unlisted, kit.Calculator{ID: unlisted.ID()})
	for _, conn := range []*bus.Conn{caller, unlisted} {
		granted, err := conn.Permissions()
		require.NoError(t, err)
		text := granted.String()
		assert.NotContains(t, text, "$SRV", conn.Host())
		assert.NotContains(t, text, "_INBOX", conn.Host())
	}
}
