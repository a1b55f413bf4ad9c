package bus_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus"
)

// TestHostileStoredEvents has a source in another language store events that break the rules of requests. None is handled, and
// what is parked says why.
func TestHostileStoredEvents(t *testing.T) {
	t.Parallel()
	b, source, _ := newOrders(t)
	mailer := subscribe(t, b.Connect("mailer.example", quiet()), newSink(), bus.Durable())
	store := func(old, replacement string) {
		t.Helper()
		event := strings.Replace("POST /on-ordered HTTP/1.1\r\nHost: orders.example\r\nContent-Length: 12\r\n"+
			"Bus-From-Host: orders.example\r\nBus-From-Id: o1aaaaaaaa\r\nBus-Msg-Id: m1\r\nBus-Op-Code: Req\r\n"+
			"Content-Type: application/json\r\n\r\n"+`{"number":1}`, old, replacement, 1)
		if _, err := manager(t, source).Publish(t.Context(), b.Plane()+".e.example.orders.on-ordered", []byte(event)); err != nil {
			t.Fatal(err)
		}
	}
	refused := []struct{ old, replacement, want string }{
		{"POST /on-ordered", "POST /on-returned", "400 Bad Request: the request says POST /on-returned on host orders.example"},
		{"POST", "GET", "400 Bad Request: the request says GET /on-ordered"},
		{"Host: orders.example", "Host: returns.example", "400 Bad Request: the request says POST /on-ordered on host returns.example"},
		{"Host: orders.example", "Host: orders.example:443", "400 Bad Request: the Host header names port 443"},
		{"From-Host: orders.example", "From-Host: *", "400 Bad Request: the message must have a valid Bus-From-Host"},
		{"o1aaaaaaaa", "O1", "400 Bad Request: the message must have a valid Bus-From-Host and Bus-From-Id"},
		{"Bus-Msg-Id: m1\r\n", "", "400 Bad Request: header Bus-Msg-Id"},
		{"Content-Type", "Bus-Fragment: 1/2\r\nContent-Type", "400 Bad Request: header Bus-Fragment: a stored event has one part"},
		{"Content-Type", "Bus-Call-Depth: 65\r\nContent-Type", "508 Loop Detected: calls are nested more than 64 deep"},
		{"\r\n", "\n", "400 Bad Request: head: line 1 ends in LF without CR"},
	}
	for _, test := range refused {
		store(test.old, test.replacement)
	}
	accepted := []string{"", "Bus-Call-Depth: 64\r\n", "Bus-Time-Budget: 0\r\n", "Bus-Fragment: 1/1\r\n"} // nobody waits, so there is no budget
	for _, field := range accepted {
		store("Content-Type", field+"Content-Type")
	}
	store("Host: orders.example", "Host: ORDERS.example:417")
	nothing := nats.NewMsg(b.Plane() + ".e.example.orders.on-ordered")
	nothing.Header.Set("Status", "503") // as JetStream says that it has no event
	if _, err := manager(t, source).PublishMsg(t.Context(), nothing); err != nil {
		t.Fatal(err)
	}
	refused = append(refused, struct{ old, replacement, want string }{"all", "nothing", "400 Bad Request: head: "})
	eventually(t, func() bool { return len(parked(t, source))+len(mailer.taken()) > len(refused)+len(accepted) })
	var reasons []string
	for _, event := range parked(t, source) {
		reasons = append(reasons, fmt.Sprintf("after %d: %s", event.Attempts, event.Reason))
	}
	for _, test := range refused {
		if !slices.ContainsFunc(reasons, func(reason string) bool { return strings.HasPrefix(reason, "after 1: "+test.want) }) {
			t.Errorf("%.80q in place of %q is not parked because of %s", test.replacement, test.old, test.want)
		}
	}
	if t.Failed() || len(reasons) != len(refused) || len(mailer.taken()) != len(accepted)+1 {
		t.Errorf("parked:\n%s", strings.Join(reasons, "\n"))
	}
}
