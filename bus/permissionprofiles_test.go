package bus_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/busline/busline/bus"
)

// byDomain is the profile by domain of docs/permissions.md, with what its services have to hear from all.
const byDomain = `permissions { subscribe { allow: ["*.*.com.example.>", "*.888.all.|.>"] } }`

// inOnePlane is the same for one plane.
const inOnePlane = `permissions { publish { allow: ["bus.>"] }, subscribe { allow: ["bus.*.com.example.>", "bus.888.all.|.>"] } }`

// TestDomainProfile holds what the patterns of that profile let through, in a queue group and without one.
func TestDomainProfile(t *testing.T) {
	t.Parallel()
	e := newEnforcing(t, map[string]string{"domain": byDomain, "one plane": inOnePlane})
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
			o := operation{"SUB", subject, queue}
			if got := e.login("domain").allows(o); got != want.domain {
				t.Errorf("by domain, %s: allowed %v", o, got)
			}
			if got := e.login("one plane").allows(o); got != want.onePlane {
				t.Errorf("by domain in one plane, %s: allowed %v", o, got)
			}
		}
	}
	if e.login("one plane").allows(operation{verb: "PUB", subject: "alien.443.com.example.calculator.|.GET.add"}) {
		t.Error("one plane publishes to another")
	}
}

// TestPrintedBlocksStayInside has a service try what belongs to others.
func TestPrintedBlocksStayInside(t *testing.T) {
	t.Parallel()
	for name, options := range profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blocks, _ := rehearse(t, options)
			e := newEnforcing(t, map[string]string{shopHost: blocks[shopHost].String()})
			evil := e.login(shopHost)
			for _, o := range []operation{
				{"SUB", "bus.443.example.calculator.|.GET.add", calculatorHost}, // serve another host
				{"SUB", "bus.443.example.calculator.|.GET.add", ""},             // listen in on one
				{"SUB", "bus.443.example.shop.|.GET.buy", ""},                   // listen in on its own instances
				{"SUB", "bus.443.example.shop.|.GET.buy", "calculator.example"}, // get each request twice
				{"SUB", "bus.443.example.shop.|.GET.sell", shopHost},            // serve what it was not meant to
				{"SUB", "bus.*.example.*.*.|.>", ""},
				{"SUB", "bus.r.example.calculator.k3f9x2m7qp", ""}, // read the answers to others
				{"SUB", "bus.r.example.*.*", ""},
				{"SUB", "bus.r.>", ""},
				{"SUB", "bus.>", ""},
				{"SUB", ">", ""},
				{"SUB", "$SYS.>", ""},
				{"SUB", "_INBOX.>", ""},
				{"SUB", "alien.443.example.shop.|.GET.buy", shopHost},
				{"PUB", "alien.443.example.calculator.|.GET.add", ""},
				{"PUB", "bus.443.example.payroll.|.GET.salary", ""}, // call what it never called
				{"PUB", "bus.444.example.calculator.|.GET.add", ""},
				{"PUB", "bus.888.example.payroll.p1aaaaaaaa.|.POST.cancel", ""},
				{"PUB", "bus.888.all.|.POST.other", ""},
				{"PUB", "$SYS.REQ.SERVER.PING", ""},
			} {
				if evil.allows(o) {
					t.Errorf("%s is allowed", o)
				}
			}
			for _, o := range []operation{
				{"PUB", "bus.r.example.payroll.p1aaaaaaaa", ""},
				{"PUB", "bus.r.example.payroll.p1aaaaaaaa.m1", ""},
				{"PUB", "bus.r.example.calculator.k3f9x2m7qp.m1", ""}, // a host that it calls
			} {
				if allowed := evil.allows(o); allowed != (blocks[shopHost].Responses == nil) {
					t.Errorf("%s: allowed %v", o, allowed)
				}
			}
		})
	}
}

// TestNobodyHandsItselfRequests has a service announce something with the reply subject of a call that it may not make. If it got
// its own announcement, the broker would let it publish there.
func TestNobodyHandsItselfRequests(t *testing.T) {
	t.Parallel()
	printed := func(setUp func(*bus.Conn), callees ...string) string {
		return printedFor(t, "evil.example", []bus.ConnectOption{bus.WithAllowResponses()}, setUp, callees...)
	}
	sums := func(conn *bus.Conn) { serve(t, conn, calculator{}) }
	block := printed(sums, "calculator.example")
	e := newEnforcing(t, map[string]string{"evil.example": block})
	evil := e.login("evil.example")
	if refused := evil.subscribe("bus.888.all.|.>", ""); len(refused) > 0 {
		t.Fatal(refused)
	}
	const target = "bus.443.example.payroll.|.POST.raise"
	for _, announcement := range []string{"hello", "bye"} {
		if refused := evil.publish("bus.888.all.|.POST."+announcement, target, "x"); len(refused) > 0 {
			t.Errorf("%s: %s", announcement, refused)
		}
	}
	if evil.allows(operation{verb: "PUB", subject: target}) {
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

// printedFor returns the block of a host that was set up, and calls some others.
func printedFor(t *testing.T, host string, options []bus.ConnectOption, setUp func(*bus.Conn), callees ...string) string {
	t.Helper()
	conn := newEnforcing(t, nil).connect(host, options...)
	setUp(conn)
	granted, err := conn.Permissions(callees...)
	if err != nil {
		t.Fatal(err)
	}
	return granted.String()
}

// TestForgedResponses answers in the name of another, knowing the id of a message that waits. Where everybody may publish
// to response subjects the forgery counts. With allow_responses the broker denies it, and where it does not, the caller
// does not hear it.
func TestForgedResponses(t *testing.T) {
	t.Parallel()
	for name, options := range profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			idle := func(*bus.Conn) {}
			asked := &clerk{make(chan bus.Caller, 1), make(chan struct{})}
			e := newEnforcing(t, map[string]string{
				"clerk.example":  printedFor(t, "clerk.example", options, func(conn *bus.Conn) { serve(t, conn, asked) }),
				"caller.example": printedFor(t, "caller.example", options, idle, "clerk.example"),
				"evil.example":   printedFor(t, "evil.example", options, idle, "caller.example"),
			})
			callee := e.connect("clerk.example", options...)
			serve(t, callee, asked)
			answered := make(chan string, 1)
			caller := e.connect("caller.example", options...)
			go func() {
				var out struct{ Word string }
				if err := caller.Call(t.Context(), "https://clerk.example/ask", nil, &out); err != nil {
					t.Error(err)
				}
				answered <- out.Word
			}()
			message := await(t, "the question", asked.asked)
			forged := forgery(callee, message.MsgID)
			evil, hears, hardened := e.login("evil.example"), "bus.r.example.caller."+caller.ID(), len(options) > 0
			if refused := evil.publish(hears, "", forged); len(refused) != 0 { // it may ask whether the caller lives
				t.Errorf("to the response subject: %s", refused)
			}
			if hardened && evil.publish(hears+"."+message.MsgID, "", forged) == nil {
				t.Error("the broker lets somebody answer who was not asked")
			}
			want := "forged"
			if hardened {
				want = "genuine"
				close(asked.answer)
			}
			if word := await(t, "the answer", answered); word != want {
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
		"HTTP/1.1 200 OK", "Connection: close", "Content-Length: " + strconv.Itoa(len(body)), "Content-Type: application/json",
		"Bus-From-Host: " + sender.Host(), "Bus-From-Id: " + sender.ID(), "Bus-Msg-Id: " + msgID, "Bus-Op-Code: Res",
		"Bus-Queue: " + sender.Host(), "", body,
	}, "\r\n")
}

// TestLateAnswers holds that a permission to answer ends, and not before its time.
func TestLateAnswers(t *testing.T) {
	t.Parallel()
	within := func(expires time.Duration) string {
		return bus.Permissions{
			Subscribe: []bus.Permission{{Subject: "question"}},
			Responses: &bus.ResponsePermission{MaxMsgs: -1, Expires: expires},
		}.String()
	}
	e := newEnforcing(t, map[string]string{"slow": within(time.Hour), "late": within(50 * time.Millisecond), "asks": ""})
	slow, late := e.login("slow"), e.login("late")
	slow.subscribe("question", "")
	late.subscribe("question", "")
	e.login("asks").publish("question", "answer", "?")
	answer := operation{verb: "PUB", subject: "answer"}
	for late.allows(answer) { // until it has expired
		if t.Context().Err() != nil {
			return
		}
	}
	if !slow.allows(answer) || slow.allows(operation{verb: "PUB", subject: "other"}) {
		t.Error("an answer is denied, or something else allowed")
	}
}
