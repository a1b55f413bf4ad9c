package bus_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
)

// profiles are the ways to answer: on the response subject, or where allow_responses lets one.
func profiles() map[string][]bus.ConnectOption {
	return map[string][]bus.ConnectOption{
		"responses to all": nil,
		"allow_responses":  {bus.WithAllowResponses()},
	}
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
	err = s.conn.Call(ctx, calculatorURL+"/add", bus.Args{"x": x, "y": y}, &out)
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

// calculatorThatWaits tells when somebody waits for it.
type calculatorThatWaits struct {
	calculator
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
func newPlayers(t *testing.T, e *enforcing, through string, options []bus.ConnectOption) *players {
	t.Helper()
	p := &players{t: t, waitedFor: make(chan struct{}, 1)}
	p.calculator = e.connect(calculatorHost, options...)
	serve(t, p.calculator, calculatorThatWaits{calculator{p.calculator.ID()}, p.waitedFor}, bus.Method("Who", bus.NoQueue()))
	p.shop = e.connect(shopHost, append(slices.Clip(options), bus.WithURL(through))...)
	p.shopkeeper = &shop{p.shop, make(chan struct{}, 1), make(chan error, 1)}
	serve(t, p.shop, p.shopkeeper, bus.Method("Stock", bus.NoQueue()))
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	if err := p.shop.Handle(http.MethodPost, "/echo/{path+}", echo, bus.Port(444)); err != nil {
		t.Fatal(err)
	}
	p.caller = e.connect("caller.example", options...)
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
	if ids := publish(t, p.caller, shopURL+"/stock"); len(ids) != 1 {
		t.Errorf("a multicast to the shop is answered by %v", ids)
	}
	p.discover(p.caller)
	p.callAndLeave(p.caller, shopURL+"/wait", p.shopkeeper.entered)
	if err := await(t, "the end of the call", p.shopkeeper.left); !errors.Is(err, bus.ErrCallerLeft) {
		t.Errorf("the handler's context ended because of: %v", err)
	}
}

// calls has it call in every way.
func (p *players) calls() {
	t, direct := p.t, "https://"+p.calculator.ID()+"."+calculatorHost
	t.Helper()
	for _, address := range []string{calculatorURL, direct} {
		p.expect(p.shop, "GET", address+"/add?x=1&y=2", "", 200, `{"sum":3}`)
		p.expect(p.shop, "GET", address+"/nothing", "", 404, "nothing")
	}
	err := p.shop.Call(t.Context(), "GET https://x1aaaaaaaa."+calculatorHost+"/add", nil, nil)
	if failed, _ := errors.AsType[*bus.Error](err); failed == nil || failed.Status != 503 || !errors.Is(err, bus.ErrNoResponder) {
		t.Errorf("an instance that is not there: %v", err)
	}
	if ids := publish(t, p.shop, calculatorURL+"/who"); len(ids) != 1 {
		t.Errorf("a multicast to the calculator is answered by %v", ids)
	}
	p.discover(p.shop)
	p.callAndLeave(p.shop, calculatorURL+"/wait", p.waitedFor)
}

// discover finds all players, and whom they call.
func (p *players) discover(from *bus.Conn) {
	p.t.Helper()
	want := []string{p.caller.ID(), p.shop.ID(), p.calculator.ID()}
	slices.Sort(want)
	for _, question := range []string{"https://all:888/ping", "https://all:888/traffic"} {
		if ids := publish(p.t, from, question); !slices.Equal(ids, want) {
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
	await(p.t, "the call of "+address, handled)
	p.expect(from, "GET", address[:strings.LastIndexByte(address, '/')]+"/openapi.json", "", 200, "openapi")
	leave()
	if err := await(p.t, "the end of the call", ended); !errors.Is(err, context.Canceled) {
		p.t.Errorf("%s, which was left: %v", address, err)
	}
}

func (p *players) expect(from *bus.Conn, method, url, body string, status int, holds string) {
	p.t.Helper()
	contentType := ""
	if body != "" {
		contentType = "text/plain"
	}
	response, told := do(p.t, from, method, url, contentType, body)
	if response.StatusCode != status || !strings.Contains(told, holds) {
		p.t.Errorf("%s calls %s %s: %d %.200s", from.Host(), method, url, response.StatusCode, told)
	}
}

// blocks returns the permissions of all players, by user.
func (p *players) blocks() map[string]bus.Permissions {
	p.t.Helper()
	blocks := make(map[string]bus.Permissions)
	for _, conn := range []*bus.Conn{p.caller, p.shop, p.calculator} {
		granted, err := conn.Permissions()
		if err != nil {
			p.t.Fatal(err)
		}
		blocks[conn.Host()] = granted
	}
	return blocks
}

// leave closes them, which says goodbye.
func (p *players) leave() {
	p.t.Helper()
	for _, conn := range []*bus.Conn{p.caller, p.shop, p.calculator} {
		closeConn(p.t, conn)
	}
}

// rehearse acts on a broker that allows everything. It returns what the players say they need, and what the shop has done.
func rehearse(t *testing.T, options []bus.ConnectOption) (map[string]bus.Permissions, []operation) {
	t.Helper()
	open := newEnforcing(t, nil)
	tapped := open.tapped(shopHost)
	p := newPlayers(t, open, tapped.url, options)
	p.act()
	blocks := p.blocks()
	p.leave()
	return blocks, tapped.operations()
}

// TestPermissions_AreEnough lets each do all it does, with the printed permissions and no more.
func TestPermissions_AreEnough(t *testing.T) {
	t.Parallel()
	for name, options := range profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blocks, _ := rehearse(t, options)
			users := make(map[string]string)
			for host, granted := range blocks {
				users[host] = granted.String()
			}
			strict := newEnforcing(t, users)
			p := newPlayers(t, strict, strict.as(shopHost), options)
			p.act()
			p.leave()
			for _, line := range strict.log.lines("violation") {
				t.Error(line)
			}
		})
	}
}

// TestCallersOfAll lets an ingress call hosts that it does not know yet.
func TestCallersOfAll(t *testing.T) {
	t.Parallel()
	for name, options := range profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, callee := range []string{"*", "*.example"} {
				e := newEnforcing(t, map[string]string{
					"ingress": printedFor(t, "ingress", options, func(*bus.Conn) {}, callee), calculatorHost: "",
				})
				waitedFor := make(chan struct{}, 1)
				callees := e.connect(calculatorHost, options...)
				serve(t, callees, calculatorThatWaits{calculator{callees.ID()}, waitedFor}, bus.Method("Who", bus.NoQueue()))
				p := &players{t: t, caller: e.connect("ingress", options...)}
				p.expect(p.caller, "GET", calculatorURL+"/add?x=1&y=2", "", 200, `{"sum":3}`)
				p.expect(p.caller, "GET", calculatorURL+"/nothing", "", 404, "nothing")
				publish(t, p.caller, calculatorURL+"/who")
				p.callAndLeave(p.caller, calculatorURL+"/wait", waitedFor)
				for _, line := range e.log.lines("violation") {
					t.Errorf("%s: %s", callee, line)
				}
			}
		})
	}
}

// TestLostInstanceUnderPermissions has somebody take a call and die. That the broker may be asked after it is needed.
func TestLostInstanceUnderPermissions(t *testing.T) {
	t.Parallel()
	for name, options := range profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnforcing(t, map[string]string{
				"clerk.example":  printedFor(t, "clerk.example", options, func(conn *bus.Conn) { serve(t, conn, &clerk{}) }),
				"caller.example": printedFor(t, "caller.example", options, func(*bus.Conn) {}, "clerk.example"),
			})
			taker := e.login("clerk.example")
			if refused := taker.subscribe("bus.443.example.clerk.|.POST.ask", "clerk.example"); len(refused) != 0 {
				t.Fatal(refused)
			}
			caller, ended := e.connect("caller.example", options...), make(chan error, 1)
			go func() { ended <- caller.Call(t.Context(), "https://clerk.example/ask", nil, nil) }()
			question := taker.next()
			response, id := "bus.r.example.caller."+caller.ID(), question.reply[strings.LastIndexByte(question.reply, '.')+1:]
			if len(options) > 0 {
				response = question.reply
			}
			if refused := taker.publish(response, "", ackOf(id)); len(refused) != 0 {
				t.Fatal(refused)
			}
			_ = taker.conn.Close()
			if err := await(t, "the end of the call", ended); !errors.Is(err, bus.ErrInstanceLost) {
				t.Errorf("got %v", err)
			}
			for _, line := range e.log.lines("violation") {
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
