// Package permissions_test holds connections to what the broker allows them, and the permissions that bus prints to
// what they need.
package permissions_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// TestPermissions_Text holds the form that a configuration file has.
func TestPermissions_Text(t *testing.T) {
	t.Parallel()
	granted := bus.Permissions{
		Publish:   []bus.Permission{{Subject: "bus.443.example.products.|.>", For: "calls"}, {Subject: "bus.r.>"}},
		Subscribe: []bus.Permission{{Subject: "bus.443.example.shop.|.GET.buy", Queue: "shop.example", For: "endpoint"}},
		Responses: &bus.ResponsePermission{MaxMsgs: -1, Expires: time.Minute},
	}
	const text = `permissions {
  publish {
    allow: [
      "bus.443.example.products.|.>"  # calls
      "bus.r.>"
    ]
  }
  subscribe {
    allow: [
      "bus.443.example.shop.|.GET.buy shop.example"  # endpoint
    ]
  }
  allow_responses { max: -1, expires: "1m0s" }
}
`
	if got := granted.String(); got != text {
		t.Errorf("printed\n%s\nwant\n%s", got, text)
	}
	encoded, err := json.Marshal(granted)
	require.NoError(t, err)
	const asJSON = `{"pub":{"allow":["bus.443.example.products.|.>","bus.r.>"]},` +
		`"sub":{"allow":["bus.443.example.shop.|.GET.buy shop.example"]},"resp":{"max":-1,"ttl":60000000000}}`
	if got := strings.ReplaceAll(string(encoded), `\u003e`, ">"); got != asJSON {
		t.Errorf("as JSON %s\nwant    %s", got, asJSON)
	}
}

// TestNoPermissions holds that an empty list allows nothing: to the broker it would mean everything.
func TestNoPermissions(t *testing.T) {
	t.Parallel()
	var none bus.Permissions
	encoded, err := json.Marshal(none)
	want := `{"pub":{"deny":["\u003e"]},"sub":{"deny":["\u003e"]}}`
	require.NoError(t, err)
	assert.Equal(t, want, string(encoded))
	user := kit.NewEnforcing(t, map[string]string{"none": none.String()}).Login("none")
	for _, verb := range []string{"PUB", "SUB"} {
		if user.Allows(kit.Operation{Verb: verb, Subject: "bus.x"}) {
			t.Errorf("%s is allowed", verb)
		}
	}
}

func TestPermissions_With(t *testing.T) {
	t.Parallel()
	list := func(entries ...string) (all []bus.Permission) {
		for _, entry := range entries {
			subject, queue, _ := strings.Cut(entry, " ")
			all = append(all, bus.Permission{Subject: subject, Queue: queue})
		}
		return all
	}
	for _, test := range []struct {
		name             string
		one, other, want []bus.Permission
	}{
		{"the same", list("a.b"), list("a.b"), list("a.b")},
		{"a token", list("a.*"), list("a.b", "a.b.c"), list("a.*", "a.b.c")},
		{"the rest", list("a.b", "a"), list("a.>"), list("a", "a.>")},
		{"wildcards in both", list("a.*.>", "a.>"), list("a.*", "*.b"), list("a.>", "*.b")},
		{"any queue", list("a.b q"), list("a.*"), list("a.*")},
		{"the same queue", list("a.b q"), list("a.* q", "a.c"), list("a.* q", "a.c")},
		{"another queue", list("a.b q"), list("a.* r"), list("a.b q", "a.* r")},
		{"longer than the pattern", list("a.b.c"), list("a.*"), list("a.b.c", "a.*")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			sum := bus.Permissions{Publish: test.one}.With(bus.Permissions{Publish: test.other, Subscribe: test.other,
				Responses: &bus.ResponsePermission{}})
			want := bus.Permissions{Publish: test.want, Subscribe: test.other, Responses: &bus.ResponsePermission{}}.With()
			assert.Equal(t, want.String(), sum.String(), test.name)
			assert.Len(t, sum.Publish, len(test.want), test.name)
		})
	}
}

// TestPermissions_WithResponses holds that the client that may answer at all may answer as much and as long as any of
// those in the sum.
func TestPermissions_WithResponses(t *testing.T) {
	t.Parallel()
	type responses = bus.ResponsePermission
	for _, test := range []struct {
		name             string
		one, other, want *responses
	}{
		{name: "neither"},
		{"one", &responses{MaxMsgs: 1, Expires: time.Second}, nil, &responses{MaxMsgs: 1, Expires: time.Second}},
		{"more", &responses{MaxMsgs: 1, Expires: time.Second}, &responses{MaxMsgs: 2, Expires: time.Minute},
			&responses{MaxMsgs: 2, Expires: time.Minute}},
		{"each in part", &responses{MaxMsgs: 9, Expires: time.Second}, &responses{MaxMsgs: 2, Expires: time.Minute},
			&responses{MaxMsgs: 9, Expires: time.Minute}},
		{"no limit", &responses{MaxMsgs: 1, Expires: time.Second}, &responses{MaxMsgs: -1, Expires: 10 * time.Minute},
			&responses{MaxMsgs: -1, Expires: 10 * time.Minute}},
		{"no end", &responses{MaxMsgs: 0, Expires: time.Hour}, &responses{MaxMsgs: 0, Expires: -1},
			&responses{MaxMsgs: 0, Expires: -1}},
		{"the broker's", &responses{}, &responses{MaxMsgs: 3, Expires: time.Minute}, &responses{MaxMsgs: 3}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, order := range [][2]*responses{{test.one, test.other}, {test.other, test.one}} {
				sum := bus.Permissions{Responses: order[0]}.With(bus.Permissions{}, bus.Permissions{Responses: order[1]})
				if want := (bus.Permissions{Responses: test.want}); sum.String() != want.String() {
					t.Errorf("%s: %s, want %s", test.name, sum, want)
				}
			}
		})
	}
}

// TestNamedCallees says what callers of hosts need that they have not called yet.
func TestNamedCallees(t *testing.T) {
	t.Parallel()
	conn := kit.NewBus(t).Connect("caller.example", bus.WithPlane("bus"))
	for callee, want := range map[string][]string{
		"products.example": {
			"bus.443.example.products.|.>", "bus.443.example.products.*.|.>",
			"bus.888.example.products.|.GET.allow", "bus.888.example.products.*.|.GET.allow",
			"bus.888.example.products.*.|.POST.cancel",
		},
		"products.example:888": {"bus.888.example.products.|.>", "bus.888.example.products.*.|.>"},
		"all":                  {"bus.888.all.|.GET.ping", "bus.888.all.|.GET.traffic"},
		"*.example:444":        {"bus.444.example.>", "bus.888.example.>"},
		"*":                    {"bus.443.>", "bus.888.>"},
	} {
		granted, err := conn.Permissions(callee)
		require.NoError(t, err)
		var got []string
		for _, one := range granted.Publish {
			if !strings.HasPrefix(one.Subject, "bus.888.all.|.POST.") && one.Subject != "bus.r.>" { // what all publish
				got = append(got, one.Subject)
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %q, want %q", callee, got, want)
		}
	}
}

func TestPermissions_RefuseACallee(t *testing.T) {
	t.Parallel()
	conn := kit.NewBus(t).Connect("caller.example")
	for callee, want := range map[string]string{
		"":               `permissions of caller.example: callee "": host "": label "" is not 1 to 63 characters of a-z, 0-9 and inner hyphens; write a host, *.domain for all below it, or * for all`,
		"https://a":      `callee "https://a": the port is not a number; write host or host:port`,
		"a:0":            `callee "a:0": port 0: not from 1 to 65535`,
		"a.*":            `callee "a.*": host "a.*": label "*" is not`,
		"*.":             `callee "*.": host "": label ""`,
		">":              `callee ">": host ">": label ">" is not`,
		"A.example":      `callee "A.example": host "A.example": label "A" is not`,
		`x"] } evil: ["`: `the port is not a number`,
	} {
		granted, err := conn.Permissions("good.example", callee)
		assert.ErrorContains(t, err, want, callee)
		assert.Nil(t, granted.Publish, callee)
	}
}

// TestPermissions_OfCallees remembers who was called, by its host, and on which port.
func TestPermissions_OfCallees(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, callee := kit.NewCalculator(t, w)
		instance := "https://" + callee.ID() + "." + kit.CalculatorHost
		for _, address := range []string{instance + "/add", instance + "/who", "https://x.nobody.example:444/add"} {
			_ = caller.Call(t.Context(), "GET "+address, nil, nil)
		}
		kit.MulticastIDs(t, caller, instance+"/who")
		granted, err := caller.Permissions()
		require.NoError(t, err)
		var called []string
		for _, one := range granted.Publish {
			if host, isCall := strings.CutPrefix(one.For, "calls to "); isCall && !strings.Contains(host, " ") {
				called = append(called, host+" "+strings.TrimPrefix(one.Subject, w.Plane()))
			}
		}
		want := "calculator.example .443.example.calculator.|.>, x.nobody.example .444.example.nobody.x.|.>"
		if got := strings.Join(called, ", "); got != want {
			t.Errorf("callees are %s\nwant %s", got, want)
		}
	})
}

// shop is a service that does all that one can do.
type shop struct {
	conn    *bus.Conn
	entered chan struct{} // told of calls of Wait
	left    chan error    // told why they ended
}

const (
	shopHost = "shop.example"
	shopURL  = "https://shop.example"
)

// Buy calls another service.
func (s *shop) Buy(ctx context.Context, x, y int) (sum int, err error) {
	var out struct{ Sum int }
	err = s.conn.Call(ctx, kit.CalculatorURL+"/add", bus.Args{"x": x, "y": y}, &out)
	return out.Sum, err
}

// Stock is answered by every instance.
func (s *shop) Stock() (id string) { return s.conn.ID() }

// Wait waits until its caller leaves.
func (s *shop) Wait(ctx context.Context) error {
	s.entered <- struct{}{}
	<-ctx.Done()
	s.left <- context.Cause(ctx)
	return ctx.Err()
}

// calculatorThatWaits tells when a client waits for it.
type calculatorThatWaits struct {
	kit.Calculator
	entered chan struct{}
}

func (c calculatorThatWaits) Wait(ctx context.Context) error {
	c.entered <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

// players are three services, each with a user of its own.
type players struct {
	t                        *testing.T
	caller, shop, calculator *bus.Conn
	shopkeeper               *shop
	waitedFor                chan struct{} // by the shop, at the calculator
}

// newPlayers lets them in, the shop through a tap.
func newPlayers(t *testing.T, e *kit.Enforcing, through string, options []bus.ConnectOption) *players {
	t.Helper()
	p := &players{t: t, waitedFor: make(chan struct{}, 1)}
	p.calculator = e.Connect(kit.CalculatorHost, options...)
	kit.Serve(t, p.calculator, calculatorThatWaits{kit.Calculator{ID: p.calculator.ID()}, p.waitedFor},
		bus.Method("Who", bus.NoQueue()))
	p.shop = e.Connect(shopHost, append(slices.Clip(options), bus.WithURL(through))...)
	p.shopkeeper = &shop{p.shop, make(chan struct{}, 1), make(chan error, 1)}
	kit.Serve(t, p.shop, p.shopkeeper, bus.Method("Stock", bus.NoQueue()))
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	require.NoError(t, p.shop.Handle(http.MethodPost, "/echo/{path+}", echo, bus.Port(444)))
	p.caller = e.Connect("caller.example", options...)
	return p
}

// act has the shop do all that the bus offers.
func (p *players) act() {
	p.isCalled()
	p.calls()
}

// isCalled has it called in every way.
func (p *players) isCalled() {
	t, direct := p.t, "https://"+p.shop.ID()+"."+shopHost
	t.Helper()
	for _, address := range []string{shopURL, direct} {
		p.expect(p.caller, "GET", address+"/buy?x=1&y=2", "", 200, `{"sum":3}`)
		p.expect(p.caller, "GET", address+"/nothing", "", 404, "nothing")
	}
	p.expect(p.caller, "DELETE", shopURL+"/buy", "", 405, "DELETE")
	p.expect(p.caller, "GET", shopURL+"/openapi.json", "", 200, "/shop.example:443/buy")
	large := strings.Repeat("x", 3<<20) // more than one message holds
	p.expect(p.caller, "POST", shopURL+":444/echo/a/b", large, 200, large)
	if ids := kit.MulticastIDs(t, p.caller, shopURL+"/stock"); len(ids) != 1 {
		t.Errorf("a multicast to the shop is answered by %v", ids)
	}
	p.discover(p.caller)
	p.callAndLeave(p.caller, shopURL+"/wait", p.shopkeeper.entered)
	if err := kit.Await(t, "the end of the call", p.shopkeeper.left); !errors.Is(err, bus.ErrCallerLeft) {
		t.Errorf("the handler's context ended because of: %v", err)
	}
}

// calls has it call in every way.
func (p *players) calls() {
	t, direct := p.t, "https://"+p.calculator.ID()+"."+kit.CalculatorHost
	t.Helper()
	for _, address := range []string{kit.CalculatorURL, direct} {
		p.expect(p.shop, "GET", address+"/add?x=1&y=2", "", 200, `{"sum":3}`)
		p.expect(p.shop, "GET", address+"/nothing", "", 404, "nothing")
	}
	err := p.shop.Call(t.Context(), "GET https://x1aaaaaaaa."+kit.CalculatorHost+"/add", nil, nil)
	failed, _ := errors.AsType[*bus.Error](err)
	require.NotNil(t, failed, "an instance that is not there")
	assert.Equal(t, 503, failed.Status, "an instance that is not there")
	assert.ErrorIs(t, err, bus.ErrNoResponder, "an instance that is not there")
	if ids := kit.MulticastIDs(t, p.shop, kit.CalculatorURL+"/who"); len(ids) != 1 {
		t.Errorf("a multicast to the calculator is answered by %v", ids)
	}
	p.discover(p.shop)
	p.callAndLeave(p.shop, kit.CalculatorURL+"/wait", p.waitedFor)
}

// discover finds all players, and whom they call.
func (p *players) discover(from *bus.Conn) {
	p.t.Helper()
	want := []string{p.caller.ID(), p.shop.ID(), p.calculator.ID()}
	slices.Sort(want)
	for _, question := range []string{"https://all:888/ping", "https://all:888/traffic"} {
		if ids := kit.MulticastIDs(p.t, from, question); !slices.Equal(ids, want) {
			p.t.Errorf("%s is answered %s by %v, want %v", from.Host(), question, ids, want)
		}
	}
}

// callAndLeave makes a call and stops waiting once it is handled, and the caller knows that: the ack comes before the
// answer to a later call.
func (p *players) callAndLeave(from *bus.Conn, address string, handled <-chan struct{}) {
	p.t.Helper()
	ctx, leave := context.WithCancel(p.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- from.Call(ctx, address, nil, nil) }()
	kit.Await(p.t, "the call of "+address, handled)
	p.expect(from, "GET", address[:strings.LastIndexByte(address, '/')]+"/openapi.json", "", 200, "openapi")
	leave()
	if err := kit.Await(p.t, "the end of the call", ended); !errors.Is(err, context.Canceled) {
		p.t.Errorf("%s, which was left: %v", address, err)
	}
}

func (p *players) expect(from *bus.Conn, method, url, body string, status int, holds string) {
	p.t.Helper()
	contentType := ""
	if body != "" {
		contentType = "text/plain"
	}
	response, told := kit.Do(p.t, from, method, url, contentType, body)
	assert.Equal(p.t, status, response.StatusCode, "%s calls %s %s", from.Host(), method, url)
	assert.Contains(p.t, told, holds, "%s calls %s %s", from.Host(), method, url)
}

// blocks returns the permissions of all players, by user.
func (p *players) blocks() map[string]bus.Permissions {
	p.t.Helper()
	blocks := make(map[string]bus.Permissions)
	for _, conn := range []*bus.Conn{p.caller, p.shop, p.calculator} {
		granted, err := conn.Permissions()
		require.NoError(p.t, err)
		blocks[conn.Host()] = granted
	}
	return blocks
}

// leave closes them, which says goodbye.
func (p *players) leave() {
	p.t.Helper()
	for _, conn := range []*bus.Conn{p.caller, p.shop, p.calculator} {
		kit.CloseConn(p.t, conn)
	}
}

// rehearse acts on a broker that allows everything. It returns what the players say they need, and what the shop has
// done.
func rehearse(t *testing.T, options []bus.ConnectOption) (map[string]bus.Permissions, []kit.Operation) {
	t.Helper()
	open := kit.NewEnforcing(t, nil)
	tapped := tapped(open, shopHost)
	p := newPlayers(t, open, tapped.url, options)
	p.act()
	blocks := p.blocks()
	p.leave()
	return blocks, tapped.operations()
}

// TestPermissions_AreEnough lets each do all it does, with the printed permissions and no more.
func TestPermissions_AreEnough(t *testing.T) {
	t.Parallel()
	for name, options := range kit.Profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blocks, _ := rehearse(t, options)
			users := make(map[string]string)
			for host, granted := range blocks {
				users[host] = granted.String()
			}
			strict := kit.NewEnforcing(t, users)
			p := newPlayers(t, strict, strict.As(shopHost), options)
			p.act()
			p.leave()
			for _, line := range strict.Log.Lines("violation") {
				t.Error(line)
			}
		})
	}
}

// TestPermissions_OfCallersOfAll lets an ingress call hosts that it does not know yet.
func TestPermissions_OfCallersOfAll(t *testing.T) {
	t.Parallel()
	for name, options := range kit.Profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, callee := range []string{"*", "*.example"} {
				e := kit.NewEnforcing(t, map[string]string{
					"ingress": kit.PrintedFor(t, "ingress", options, func(*bus.Conn) {}, callee), kit.CalculatorHost: "",
				})
				waitedFor := make(chan struct{}, 1)
				callees := e.Connect(kit.CalculatorHost, options...)
				kit.Serve(t, callees, calculatorThatWaits{kit.Calculator{ID: callees.ID()}, waitedFor},
					bus.Method("Who", bus.NoQueue()))
				p := &players{t: t, caller: e.Connect("ingress", options...)}
				p.expect(p.caller, "GET", kit.CalculatorURL+"/add?x=1&y=2", "", 200, `{"sum":3}`)
				p.expect(p.caller, "GET", kit.CalculatorURL+"/nothing", "", 404, "nothing")
				kit.MulticastIDs(t, p.caller, kit.CalculatorURL+"/who")
				p.callAndLeave(p.caller, kit.CalculatorURL+"/wait", waitedFor)
				for _, line := range e.Log.Lines("violation") {
					t.Errorf("%s: %s", callee, line)
				}
			}
		})
	}
}

// TestPermissions_LostInstance has an instance take a call and die. That the broker may be asked after it is needed.
func TestPermissions_LostInstance(t *testing.T) {
	t.Parallel()
	for name, options := range kit.Profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := kit.NewEnforcing(t, map[string]string{
				"clerk.example": kit.PrintedFor(t, "clerk.example", options,
					func(conn *bus.Conn) { kit.Serve(t, conn, &clerk{}) }),
				"caller.example": kit.PrintedFor(t, "caller.example", options, func(*bus.Conn) {}, "clerk.example"),
			})
			taker := e.Login("clerk.example")
			if refused := taker.Subscribe("bus.443.example.clerk.|.POST.ask", "clerk.example"); len(refused) != 0 {
				t.Fatal(refused)
			}
			caller, ended := e.Connect("caller.example", options...), make(chan error, 1)
			go func() { ended <- caller.Call(t.Context(), "https://clerk.example/ask", nil, nil) }()
			question := taker.Next()
			response, id := "bus.r.example.caller."+caller.ID(), question.Reply[strings.LastIndexByte(question.Reply, '.')+1:]
			if len(options) > 0 {
				response = question.Reply
			}
			if refused := taker.Publish(response, "", ackOf(id)); len(refused) != 0 {
				t.Fatal(refused)
			}
			_ = taker.Conn.Close()
			if err := kit.Await(t, "the end of the call", ended); !errors.Is(err, bus.ErrInstanceLost) {
				t.Errorf("got %v", err)
			}
			for _, line := range e.Log.Lines("violation") {
				t.Error(line)
			}
		})
	}
}

// ackOf takes a message in the name of an instance of the clerk.
func ackOf(msgID string) string {
	return strings.Join([]string{
		"HTTP/1.1 202 Accepted", "Connection: close", "Bus-From-Host: clerk.example", "Bus-From-Id: c1aaaaaaaa",
		"Bus-Msg-Id: " + msgID, "Bus-Op-Code: Ack", "Bus-Queue: clerk.example", "", "",
	}, "\r\n")
}

// asksForLife is the one thing that the shop does not come to in a test: it asks after a second without an answer.
func asksForLife() kit.Operation {
	return kit.Operation{Verb: "PUB", Subject: "bus.r.example.calculator.x1aaaaaaaa"}
}

// tellsOfItself is what the shop does when an operator asks.
func tellsOfItself() kit.Operation { return kit.Operation{Verb: "PUB", Subject: "_INBOX.operator"} }

// TestPermissions_EachIsNeeded takes one line after the other out of the printed block. Of what the shop was seen to
// do, the broker then denies exactly what that line is for, and with all lines nothing.
func TestPermissions_EachIsNeeded(t *testing.T) {
	t.Parallel()
	for name, options := range kit.Profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blocks, done := rehearse(t, options)
			whole := blocks[shopHost]
			done = append(done, asksForLife())
			if whole.Responses == nil {
				done = append(done, tellsOfItself())
			}
			users := map[string]string{"whole": whole.String()}
			removed := without(whole)
			for key, remaining := range removed {
				users[key.String()] = remaining.String()
			}
			e := kit.NewEnforcing(t, users)
			if denied := denied(e, "whole", done); whole.Responses == nil && len(denied) != 0 {
				t.Errorf("denied with the whole block: %v", denied)
			} else {
				done = slices.DeleteFunc(done, func(o kit.Operation) bool { return slices.Contains(denied, o) })
				checkAnswers(t, denied)
			}
			for line := range removed {
				if denied := denied(e, line.String(), done); len(denied) == 0 {
					t.Errorf("%s: nothing is denied without it", line)
				} else if other := slices.IndexFunc(denied, func(o kit.Operation) bool { return !line.allows(o) }); other >= 0 {
					t.Errorf("%s: %s is denied without it", line, denied[other])
				}
			}
		})
	}
}

// line is a permission in the printed block.
type line struct {
	verb string
	bus.Permission
}

func (l line) String() string { return strings.TrimSpace(l.verb + " " + l.Subject + " " + l.Queue) }

// without returns the block as it is without each of its lines.
func without(whole bus.Permissions) map[line]bus.Permissions {
	removed := make(map[line]bus.Permissions)
	for i, one := range whole.Publish {
		rest := whole
		rest.Publish = slices.Delete(slices.Clone(whole.Publish), i, i+1)
		removed[line{"PUB", one}] = rest
	}
	for i, one := range whole.Subscribe {
		rest := whole
		rest.Subscribe = slices.Delete(slices.Clone(whole.Subscribe), i, i+1)
		removed[line{"SUB", one}] = rest
	}
	return removed
}

// allows reports whether an operation is what the line is for.
func (l line) allows(o kit.Operation) bool {
	return l.verb == o.Verb && l.Queue == o.Queue && fitsPattern(l.Subject, o.Subject)
}

// fitsPattern is the broker's rule for subjects.
func fitsPattern(pattern, subject string) bool {
	wide, tokens := strings.Split(pattern, "."), strings.Split(subject, ".")
	for i, token := range wide {
		if token == ">" {
			return len(tokens) > i
		}
		if i >= len(tokens) || token != "*" && token != tokens[i] {
			return false
		}
	}
	return len(wide) == len(tokens)
}

// denied returns those operations that the broker does not let a user do.
func denied(e *kit.Enforcing, user string, all []kit.Operation) (denied []kit.Operation) {
	e.T.Helper()
	as := e.Login(user)
	for _, o := range all {
		if !as.Allows(o) {
			denied = append(denied, o)
		}
	}
	return denied
}

// checkAnswers holds that what allow_responses lets pass are answers, of which nothing stands in the list.
func checkAnswers(t *testing.T, denied []kit.Operation) {
	t.Helper()
	for _, o := range denied {
		assert.Equal(t, "PUB", o.Verb, "denied with the whole block")
		assert.True(t, fitsPattern("bus.r.>", o.Subject), "denied with the whole block")
		assert.GreaterOrEqual(t, len(strings.Split(o.Subject, ".")), 6, "denied with the whole block")
	}
}

// TestPermissions_AllowResponsesIsNeeded holds that the stricter profile answers no caller without it.
func TestPermissions_AllowResponsesIsNeeded(t *testing.T) {
	t.Parallel()
	blocks, _ := rehearse(t, []bus.ConnectOption{bus.WithAllowResponses()})
	granted := blocks[shopHost]
	endpoint := kit.Operation{Verb: "SUB", Subject: "bus.443.example.shop.|.GET.buy", Queue: shopHost}
	answer := kit.Operation{Verb: "PUB", Subject: "bus.r.example.caller.c1aaaaaaaa.m1"}
	users := map[string]string{"caller.example": blocks["caller.example"].String(), shopHost: granted.String()}
	granted.Responses = nil
	users["mute"] = granted.String()
	e := kit.NewEnforcing(t, users)
	for user, want := range map[string]bool{shopHost: true, "mute": false} {
		shop := e.Login(user)
		if !shop.Allows(endpoint) {
			t.Fatalf("%s may not serve", user)
		}
		if shop.Allows(answer) {
			t.Errorf("%s may answer what was never asked", user)
		}
		if refused := e.Login("caller.example").Publish("bus.443.example.shop.|.GET.buy", answer.Subject,
			"hello"); len(refused) != 0 {
			t.Fatal(refused)
		}
		if got := shop.Allows(answer); got != want {
			t.Errorf("%s may answer: %v, want %v", user, got, want)
		}
		shop.Say("UNSUB 1") // the next message is for the other one
	}
}
