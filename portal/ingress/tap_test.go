package ingress_test

import (
	"bytes"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/portal/ingress"
)

// tap is a client of the broker that sees every message on the plane, and responds to every request, whatever its host,
// port or path. It shows what an ingress lets through.
type tap struct {
	plane    string
	raw      *nats.Conn
	entrance *bus.Conn

	mu       sync.Mutex // protects messages
	messages []*tapped
}

// tapped is a message other than an answer.
type tapped struct {
	subject string
	payload string
	request wire.Request
	err     error // of reading it, strictly
}

// newTap starts an ingress on a bus of its own, with a tap.
func newTap(t testing.TB, options ...ingress.Option) (*tap, *ingress.Handler) {
	t.Helper()
	b := bustest.New(t)
	raw, err := nats.Connect("", nats.InProcessServer(b.Broker()))
	require.NoError(t, err)
	t.Cleanup(raw.Close)
	tap := &tap{plane: b.Plane(), raw: raw, entrance: b.Connect("ingress")}
	_, err = raw.Subscribe(tap.plane+".>", tap.see)
	require.NoError(t, err)
	require.NoError(t, raw.Flush())
	entrance, err := ingress.New(tap.entrance, options...)
	require.NoError(t, err)
	return tap, entrance
}

func (p *tap) see(message *nats.Msg) {
	if strings.HasPrefix(message.Subject, p.plane+".r.") {
		return
	}
	seen := &tapped{subject: strings.TrimPrefix(message.Subject, p.plane+"."), payload: string(message.Data)}
	seen.err = wire.ParseRequest(message.Data, &seen.request)
	if seen.err == nil && strings.HasPrefix(seen.subject, "888.") &&
		!strings.Contains(seen.payload, "X-Forwarded-Proto: ") {
		return // the connection's own; what comes from outside never lacks that header
	}
	p.mu.Lock()
	p.messages = append(p.messages, seen)
	p.mu.Unlock()
	if seen.err == nil {
		p.answer(&seen.request)
	}
}

// answer acks a request, and responds with a header that is not meant for clients.
func (p *tap) answer(request *wire.Request) {
	host, _, _ := strings.Cut(request.Host, ":")
	to := subject.Response(p.plane, request.FromHost, request.FromID)
	response := wire.Response{FromHost: host, FromID: "t1aaaaaaaa", MsgID: request.MsgID, Queue: host}
	response.Status, response.OpCode = http.StatusAccepted, wire.OpAck
	ack := wire.AppendResponse(nil, &response)
	response.Status, response.OpCode, response.Body = http.StatusOK, wire.OpRes, []byte("answer")
	for _, payload := range [][]byte{ack, wire.AppendResponse(nil, &response)} {
		payload = bytes.Replace(payload, []byte("\r\n"), []byte("\r\nBus-Else: inside\r\n"), 1)
		_ = p.raw.Publish(to, payload) // the call fails when it fails
	}
}

// take returns the messages that the ingress has sent since the last call of take.
func (p *tap) take(t testing.TB) []*tapped {
	t.Helper()
	const timeout = 10 * time.Second                                // far more than it takes
	for _, client := range []*nats.Conn{p.entrance.NATS(), p.raw} { // what was sent has arrived; what arrived is seen
		require.NoError(t, client.FlushTimeout(timeout))
	}
	seen := make(chan struct{})
	require.NoError(t, p.raw.Barrier(func() { close(seen) }))
	<-seen
	p.mu.Lock()
	defer p.mu.Unlock()
	messages := p.messages
	p.messages = nil
	return messages
}

// lines returns the first lines of messages, with host and body: "POST a.example /add body".
func lines(messages []*tapped) string {
	var all []string
	for _, message := range messages {
		all = append(all, strings.TrimSpace(message.request.Method+" "+message.request.Host+" "+message.request.Target+" "+
			string(message.request.Body)))
	}
	return strings.Join(all, "; ")
}

// check checks that messages are what an ingress may send: well-formed, to a public port, with its own name as the
// sender, and without any header of the bus that came from outside.
func (p *tap) check(t testing.TB, messages []*tapped) {
	t.Helper()
	for _, message := range messages {
		if message.err != nil {
			t.Errorf("%q: %v", message.payload, message.err)
			continue
		}
		request := &message.request
		port, _, _ := strings.Cut(message.subject, ".")
		host, _, _ := strings.Cut(request.Host, ":")
		if port != "443" && port != "80" || host == "all" {
			t.Errorf("a call to %s, %q", message.subject, message.payload)
		}
		assert.Equal(t, "ingress", request.FromHost, message.payload)
		assert.Equal(t, p.entrance.ID(), request.FromID, message.payload)
		assert.Equal(t, 1, request.CallDepth, message.payload)
		assert.Empty(t, request.Actor, message.payload)
		head, _, _ := strings.Cut(message.payload, "\r\n\r\n")
		counts := make(map[string]int)
		for line := range strings.SplitSeq(strings.ToLower(head), "\r\n") {
			if name, _, _ := strings.Cut(line, ":"); strings.HasPrefix(strings.ReplaceAll(name, "_", "-"), "bus-") {
				counts[name]++
			}
		}
		want := map[string]int{"bus-from-host": 1, "bus-from-id": 1, "bus-msg-id": 1, "bus-op-code": 1, "bus-time-budget": 1,
			"bus-call-depth": 1, "bus-window": 1}
		if !maps.Equal(counts, want) {
			t.Errorf("the Bus- fields are %v: %q", counts, head)
		}
	}
}
