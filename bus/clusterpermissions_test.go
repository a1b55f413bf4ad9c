package bus_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// newEnforcingPair starts a cluster of two brokers that know the same users. What goes wrong at either is in one log.
func newEnforcingPair(t *testing.T, users map[string]string) (one, other *enforcing) {
	t.Helper()
	var list strings.Builder
	for name, permissions := range users {
		fmt.Fprintf(&list, "{ user: %q, password: %q\n%s }\n", name, "secret", permissions)
	}
	one = newMember(t, list.String(), 0)
	other = newMember(t, list.String(), one.clusterPort())
	other.log = one.log
	return one, other
}

// newMember starts a broker of a cluster; one that knows another joins it.
func newMember(t *testing.T, users string, known int) *enforcing {
	t.Helper()
	routes := ""
	if known != 0 {
		routes = fmt.Sprintf("routes: [ %q ]", fmt.Sprintf("nats://127.0.0.1:%d", known))
	}
	return startEnforcing(t, broker.Listen("127.0.0.1:0"), broker.Config(fmt.Sprintf(`
		accounts { bus { users: [ %s ] }, system { users: [ { user: system, password: secret } ] } }
		system_account: system
		cluster { name: pair, listen: "127.0.0.1:-1", %s }`, users, routes)))
}

// clusterPort asks the broker on which port the others reach it.
func (e *enforcing) clusterPort() int {
	e.t.Helper()
	operator, err := nats.Connect(e.as("system"))
	if err != nil {
		e.t.Fatal(err)
	}
	defer operator.Close()
	answer, err := operator.Request("$SYS.REQ.SERVER.PING.VARZ", nil, time.Minute)
	if err != nil {
		e.t.Fatal(err)
	}
	var told struct {
		Data struct {
			Cluster struct {
				Port int `json:"cluster_port"`
			} `json:"cluster"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer.Data, &told); err != nil || told.Data.Cluster.Port == 0 {
		e.t.Fatalf("%s: %v", answer.Data, err)
	}
	return told.Data.Cluster.Port
}

// reaches waits until a service at the other broker answers: until then it is not known at this one. Whatever was
// subscribed to before what answers, on either side, is known then, too.
func reaches(t *testing.T, from *bus.Conn, address string) {
	t.Helper()
	for {
		err := from.Call(t.Context(), address, nil, nil)
		if !errors.Is(err, bus.ErrNoResponder) {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
	}
}

// TestPermissions_InACluster has the players do all that the bus offers, with the shop at another broker than the rest.
func TestPermissions_InACluster(t *testing.T) {
	t.Parallel()
	for name, options := range profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blocks, _ := rehearse(t, options)
			users := make(map[string]string)
			for host, granted := range blocks {
				users[host] = granted.String()
			}
			one, other := newEnforcingPair(t, users)
			p := newPlayers(t, one, other.as(shopHost), options)
			reaches(t, p.caller, shopURL+":444/echo/last")
			if p.shop.NATS().ConnectedServerId() == p.caller.NATS().ConnectedServerId() {
				t.Error("all are at one broker")
			}
			p.act()
			p.leave()
			for _, line := range one.log.lines("violation") {
				t.Error(line)
			}
		})
	}
}

// TestDeniedInACluster tries at one broker what a service at the other is asked, and answers.
func TestDeniedInACluster(t *testing.T) {
	t.Parallel()
	for name, options := range profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			idle := func(*bus.Conn) {}
			asked := &clerk{make(chan bus.Caller, 1), make(chan struct{})}
			one, other := newEnforcingPair(t, map[string]string{
				"clerk.example":  printedFor(t, "clerk.example", options, func(conn *bus.Conn) { serve(t, conn, asked) }),
				"caller.example": printedFor(t, "caller.example", options, idle, "clerk.example"),
				"evil.example":   printedFor(t, "evil.example", options, idle, "caller.example"),
			})
			callee, caller := one.connect("clerk.example", options...), other.connect("caller.example", options...)
			serve(t, callee, asked)
			reaches(t, caller, "GET https://clerk.example/openapi.json")
			answered := make(chan string, 1)
			go func() {
				var out struct{ Word string }
				if err := caller.Call(t.Context(), "https://clerk.example/ask", nil, &out); err != nil {
					t.Error(err)
				}
				answered <- out.Word
			}()
			message := await(t, "the question", asked.asked)
			own := "bus.r.example.caller." + caller.ID() + "." + message.MsgID
			for _, at := range []*enforcing{one, other} {
				evil := at.login("evil.example")
				for _, o := range []operation{
					{"SUB", "bus.443.example.clerk.|.POST.ask", "clerk.example"}, // serve another host
					{"SUB", "bus.443.example.clerk.|.POST.ask", ""},              // listen in on one
					{"SUB", "bus.r.example.caller.*", ""},                        // read the answers to another
					{"SUB", own, ""},
					{"SUB", ">", ""},
					{"PUB", "bus.443.example.clerk.|.POST.ask", ""}, // call what it never called
				} {
					if evil.allows(o) {
						t.Errorf("%s is allowed", o)
					}
				}
				if len(options) > 0 && evil.publish(own, "", forgery(callee, message.MsgID)) == nil {
					t.Error("a broker lets somebody answer who was not asked")
				}
			}
			close(asked.answer)
			if word := await(t, "the answer", answered); word != "genuine" {
				t.Errorf("the answer is %s", word)
			}
			checkDenials(t, other, caller)
		})
	}
}

// checkDenials holds that what is denied at a broker of a cluster is told as that of a single one.
func checkDenials(t *testing.T, at *enforcing, caller *bus.Conn) {
	t.Helper()
	err := caller.Call(t.Context(), "https://evil.example/x", nil, nil)
	failed, _ := errors.AsType[*bus.Error](err)
	if failed == nil || failed.Status != 403 || failed.Executed != bus.ExecutedNo || !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("a call that is denied: %v", err)
	}
	if err := bus.Serve(caller, &clerk{}); !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("a service that is denied: %v", err)
	}
	if lines := at.log.lines("does not let"); len(lines) == 0 {
		t.Error("what is denied is not in the log")
	}
}
