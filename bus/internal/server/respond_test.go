package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/natsconn/natsconntest"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

func TestServer_Respond_Failures(t *testing.T) {
	t.Parallel()
	failAll := func(code wire.OpCode, err error) func(*wire.Response) error {
		return func(response *wire.Response) error {
			if response.OpCode == code {
				return err
			}
			return nil
		}
	}
	tooLarge := status.Errorf(http.StatusRequestEntityTooLarge, status.ExecutedNo, nil, "too large")
	for name, test := range map[string]struct {
		reply func(*wire.Response) error
		want  []string
	}{
		"lost ack":         {failAll(wire.OpAck, errors.New("gone")), []string{"lost ack: gone", "200 done"}},
		"lost response":    {failAll(wire.OpRes, errors.New("gone")), []string{"202 ", "lost response: gone"}},
		"nothing is small": {failAll(wire.OpRes, tooLarge), []string{"202 ", "lost response: 413 Request Entity Too Large: too large"}},
	} {
		f := newFixture(t, nil)
		f.serve("POST", "/add")
		f.service.reply = test.reply
		in := f.request("POST", "/add")
		if !f.server.Receive(in, nil, false) {
			t.Fatalf("%s: rejected", name)
		}
		in.Do(false)
		f.check(name, append(test.want, "freed")...)
	}
}

func TestServer_LimitResponse(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for name, response := range map[string]wire.Response{
		"413": {Body: []byte(strings.Repeat("a", limit+1))},
		"431": {Header: make(wire.Header, wire.MaxFields)},
	} {
		if err := f.server.LimitResponse(&response); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%v, want a %s", err, name)
		}
	}
	if err := f.server.LimitResponse(&wire.Response{Body: []byte(strings.Repeat("a", limit))}); err != nil {
		t.Error(err)
	}
}

func TestServer_Respond_Heads(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.serve("POST", "/queued")
	f.serve("POST", "/each", func(e *server.Endpoint) { e.Queue = false })
	var responses []wire.Response
	f.service.reply = func(response *wire.Response) error {
		responses = append(responses, *response)
		return nil
	}
	for _, path := range []string{"/queued", "/queued", "/each"} {
		if in := f.request("POST", path); f.server.Receive(in, nil, false) {
			in.Do(false)
		}
	}
	f.server.Receive(f.request("POST", "/else"), nil, false)
	if len(responses) != 8 {
		t.Fatalf("%d responses", len(responses))
	}
	for i, response := range responses {
		want := wire.Response{Status: http.StatusOK, OpCode: wire.OpRes, FromHost: ownHost, FromID: ownID, MsgID: "m1", Queue: ownHost}
		if i%2 == 0 {
			want.Status, want.OpCode = http.StatusAccepted, wire.OpAck
		}
		if i == 4 || i == 5 {
			want.Queue = ownID + "." + ownHost
		}
		if i == 7 {
			want.Status = http.StatusNotFound
		}
		response.Body, response.Header = nil, nil
		if !bytes.Equal(wire.AppendResponse(nil, &response), wire.AppendResponse(nil, &want)) {
			t.Errorf("%d: %+v, want %+v", i, response, want)
		}
		head := f.service.heads[i]
		if hasHead := head != nil; hasHead != (i < 6) {
			t.Errorf("%d has a prepared head: %t", i, hasHead)
		}
		if head != nil && !bytes.Equal(head.AppendResponse(nil, &response), wire.AppendResponse(nil, &response)) {
			t.Errorf("%d: the prepared head writes %q", i, head.AppendResponse(nil, &response))
		}
	}
	if f.service.heads[0] != f.service.heads[2] || f.service.heads[1] != f.service.heads[3] {
		t.Error("a head is prepared twice")
	}
}

// peer is a raw connection to the broker of a fixture.
type peer struct {
	*fixture
	raw      *nats.Conn
	conn     *natsconn.Conn
	received *nats.Subscription // acks and responses to a1aaaaaaaa.caller.example
	reader   wire.Reader
}

// newPeer returns a fixture with a broker that takes messages of so many bytes.
func newPeer(t *testing.T, maxPayload int, change ...func(*server.Config)) *peer {
	t.Helper()
	conn, raw := natsconntest.Connect(t, broker.MaxPayload(maxPayload))
	received, err := raw.SubscribeSync(subject.Response("bus", "caller.example", "a1aaaaaaaa"))
	if err == nil {
		err = raw.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return &peer{fixture: newFixture(t, conn, change...), raw: raw, conn: conn, received: received}
}

// receive passes a message to the receiver of a subscription, and handles the request if it is admitted.
func (p *peer) receive(receiver natsconn.Receiver, text []byte, subject, reply string) {
	if job := receiver(&nats.Msg{Subject: subject, Reply: reply, Data: text}, &p.reader); job != nil {
		job.Do(false)
	}
}

// next returns the next ack or response.
func (p *peer) next(from *nats.Subscription) *wire.Response {
	p.t.Helper()
	message, err := from.NextMsg(10 * time.Second)
	if err != nil {
		p.t.Fatal(err)
	}
	response := new(wire.Response)
	if err := wire.ParseResponse(message.Data, response); err != nil {
		p.t.Error(err)
	}
	return response
}

const published = "bus.443.example.calculator.|.POST.add"

func TestServer_ReceiverOf_Broker(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 4096)
	e := p.serve("POST", "/add")
	p.service.handler = func(in *server.Incoming) *wire.Response {
		return &wire.Response{Status: http.StatusOK, Body: bytes.Repeat(in.Request.Body, 5000)}
	}
	receiver := p.server.ReceiverOf(e, &e.Routes[0])
	for _, host := range []string{ownHost, ownHost + ":443"} { // the second one takes the detour through the router
		in := p.request("POST", "/add", func(in *server.Incoming) { in.Read.Body, in.Read.Host = []byte("ab"), host })
		p.receive(receiver, wire.AppendRequest(nil, in.Request), published, "")
		if ack := p.next(p.received); ack.Status != http.StatusAccepted || ack.OpCode != wire.OpAck || ack.MsgID != "m1" {
			t.Errorf("%s: the ack is %+v", host, ack)
		}
		var body []byte
		for number := 1; ; number++ {
			part := p.next(p.received)
			body = append(body, part.Body...)
			if part.Fragment.Number != number || part.Fragment.Count != 3 {
				t.Fatalf("%s: fragment %+v", host, part.Fragment)
			}
			if number == part.Fragment.Count {
				break
			}
		}
		if !bytes.Equal(body, bytes.Repeat([]byte("ab"), 5000)) {
			t.Errorf("%s: %d bytes come back", host, len(body))
		}
		p.check(host, "freed")
	}
}

func TestServer_ReceiverOfInstance_Malformed(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 4096)
	p.serve("POST", "/add")
	text := string(wire.AppendRequest(nil, p.request("POST", "/add").Request))
	for name, test := range map[string]struct {
		old, replacement string
		status           []int // of the answers
	}{
		"wrong length": {"\r\nHost", "\r\nContent-Length: 9\r\nHost", []int{202, 400}},
		"other path":   {"/add", "/sub", []int{202, 400}},
		"no sender":    {"a1aaaaaaaa", "*", nil},
		"no id":        {"Bus-Msg-Id: m1", "X: y", []int{400}},
	} {
		changed := strings.Replace(text, test.old, test.replacement, 1)
		p.receive(p.server.ReceiverOfInstance(), []byte(changed), published, "")
		for _, want := range test.status {
			message, err := p.received.NextMsg(10 * time.Second)
			if err != nil || !strings.HasPrefix(string(message.Data), fmt.Sprintf("HTTP/1.1 %d ", want)) {
				t.Errorf("%s: answered with %+v: %v, want %d", name, message, err, want)
			}
		}
		seen := p.service.taken()
		if isDropped := len(seen) == 1 && strings.HasPrefix(seen[0], "dropped "+published+": "); isDropped != (len(test.status) < 2) {
			t.Errorf("%s: seen %q", name, seen)
		}
	}
}

func TestServer_ReceiverOfInstance_ReplySubject(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 4096, func(c *server.Config) { c.AllowResponses = true })
	p.serve("POST", "/add")
	own := subject.Response("bus", "caller.example", "a1aaaaaaaa")
	others, err := p.raw.SubscribeSync(">")
	if err == nil {
		err = p.raw.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	text := wire.AppendRequest(nil, p.request("POST", "/add").Request)
	for reply, want := range map[string]string{own + ".m1": own + ".m1", own + ".m2": own, "bus.443.example.other.|.POST.x": own, "": own} {
		p.receive(p.server.ReceiverOfInstance(), text, published, reply)
		for range 2 {
			if message, err := others.NextMsg(10 * time.Second); err != nil || message.Subject != want {
				t.Errorf("reply to %q: answered on %+v: %v, want %s", reply, message, err, want)
			}
		}
		p.check(reply, "freed")
	}
	nameless := strings.Replace(string(text), "Bus-Msg-Id: m1", "X: y", 1)
	p.receive(p.server.ReceiverOfInstance(), []byte(nameless), published, own+".m1")
	if err := p.raw.Flush(); err != nil {
		t.Fatal(err)
	}
	if pending, _, err := others.Pending(); pending != 0 || err != nil {
		t.Errorf("a request without an id is answered with %d messages: %v", pending, err)
	}
}

// TestBrokerReplier_PublishFragments_LargerLimit answers as if a broker had just refused the response as too large, and had then been
// replaced by one that takes it in one message.
func TestBrokerReplier_PublishFragments_LargerLimit(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 1<<20)
	in := p.request("POST", "/add", func(in *server.Incoming) { in.ReplyTo = p.received.Subject })
	for _, size := range []int{0, 1, 1000, 100_000} {
		body := bytes.Repeat([]byte("a"), size)
		response := &wire.Response{
			Status: http.StatusOK, OpCode: wire.OpRes, FromHost: ownHost, FromID: ownID, MsgID: "m1", Queue: ownHost,
			Header: wire.Header{{Name: "X-A", Value: "1"}}, Body: body,
		}
		if err := server.PublishFragments(p.conn, in, response); err != nil {
			t.Errorf("%d bytes are not answered: %v", size, err)
		}
		got := p.next(p.received)
		if !bytes.Equal(got.Body, body) || got.Fragment.IsPart() || len(got.Header) != 1 || got.Header[0].Value != "1" {
			t.Errorf("%d bytes come back as %d, fragment %+v, with %v", size, len(got.Body), got.Fragment, got.Header)
		}
	}
}
