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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	tooLarge := status.NotRun(http.StatusRequestEntityTooLarge, nil, "too large")
	for _, test := range []struct {
		name  string
		reply func(*wire.Response) error
		want  []string
	}{
		{"lost ack", failAll(wire.OpAck, errors.New("gone")), []string{"lost ack: gone", "200 done"}},
		{"lost response", failAll(wire.OpRes, errors.New("gone")), []string{"202 ", "lost response: gone"}},
		{"nothing is small", failAll(wire.OpRes, tooLarge),
			[]string{"202 ", "lost response: 413 Request Entity Too Large: too large"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, nil)
			f.serve("POST", "/add")
			f.service.reply = test.reply
			in := f.request("POST", "/add")
			if !f.server.Receive(in, nil, false) {
				t.Fatalf("%s: rejected", test.name)
			}
			in.Do(false)
			f.check(test.name, append(test.want, "freed")...)
		})
	}
}

func TestServer_LimitResponse(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for name, response := range map[string]wire.Response{
		"413": {Body: []byte(strings.Repeat("a", limit+1))},
		"431": {Header: make(wire.Header, wire.MaxFields)},
	} {
		t.Run(name, func(t *testing.T) {
			err := f.server.LimitResponse(&response)
			require.Error(t, err)
			assert.True(t, strings.HasPrefix(err.Error(), name), err.Error())
		})
	}
	assert.NoError(t, f.server.LimitResponse(&wire.Response{Body: []byte(strings.Repeat("a", limit))}))
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
		want := wire.Response{Status: http.StatusOK, OpCode: wire.OpRes, FromHost: ownHost, FromID: ownID, MsgID: "m1",
			Queue: ownHost}
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
	assert.Same(t, f.service.heads[2], f.service.heads[0], "a head is prepared twice")
	assert.Same(t, f.service.heads[3], f.service.heads[1])
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
	require.NoError(t, err)
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
	require.NoError(p.t, err)
	response := new(wire.Response)
	assert.NoError(p.t, wire.ParseResponse(message.Data, response))
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
		ack := p.next(p.received)
		assert.Equal(t, http.StatusAccepted, ack.Status, host)
		assert.Equal(t, wire.OpAck, ack.OpCode, host)
		assert.Equal(t, "m1", ack.MsgID, host)
		var body []byte
		for number := 1; ; number++ {
			part := p.next(p.received)
			body = append(body, part.Body...)
			require.Equal(t, number, part.Fragment.Number, host)
			require.Equal(t, 3, part.Fragment.Count, host)
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
	for _, test := range []struct {
		name             string
		old, replacement string
		status           []int // of the answers
	}{
		{"wrong length", "\r\nHost", "\r\nContent-Length: 9\r\nHost", []int{202, 400}},
		{"other path", "/add", "/sub", []int{202, 400}},
		{"no sender", "a1aaaaaaaa", "*", nil},
		{"no id", "Bus-Msg-Id: m1", "X: y", []int{400}},
	} {
		t.Run(test.name, func(t *testing.T) {
			changed := strings.Replace(text, test.old, test.replacement, 1)
			p.receive(p.server.ReceiverOfInstance(), []byte(changed), published, "")
			for _, want := range test.status {
				message, err := p.received.NextMsg(10 * time.Second)
				require.NoError(t, err)
				assert.True(t, strings.HasPrefix(string(message.Data), fmt.Sprintf("HTTP/1.1 %d ", want)), string(message.Data))
			}
			seen := p.service.takeSeen()
			if isDropped := len(seen) == 1 && strings.HasPrefix(seen[0],
				"dropped "+published+": "); isDropped != (len(test.status) < 2) {
				t.Errorf("seen %q", seen)
			}
		})
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
	require.NoError(t, err)
	text := wire.AppendRequest(nil, p.request("POST", "/add").Request)
	for reply, want := range map[string]string{own + ".m1": own + ".m1", own + ".m2": own,
		"bus.443.example.other.|.POST.x": own, "": own} {
		p.receive(p.server.ReceiverOfInstance(), text, published, reply)
		for range 2 {
			message, err := others.NextMsg(10 * time.Second)
			require.NoError(t, err, "reply to %q", reply)
			assert.Equal(t, want, message.Subject, "reply to %q", reply)
		}
		p.check(reply, "freed")
	}
	nameless := strings.Replace(string(text), "Bus-Msg-Id: m1", "X: y", 1)
	p.receive(p.server.ReceiverOfInstance(), []byte(nameless), published, own+".m1")
	require.NoError(t, p.raw.Flush())
	pending, _, err := others.Pending()
	assert.Zero(t, pending)
	assert.NoError(t, err)
}

// TestBrokerReplier_PublishParts_LargerLimit answers as if a broker had just refused the response as too large, and had
// then been replaced by one that takes it in one message.
func TestBrokerReplier_PublishParts_LargerLimit(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 1<<20)
	in := p.request("POST", "/add", func(in *server.Incoming) { in.ReplyTo = p.received.Subject })
	for _, size := range []int{0, 1, 1000, 100_000} {
		body := bytes.Repeat([]byte("a"), size)
		response := &wire.Response{
			Status: http.StatusOK, OpCode: wire.OpRes, FromHost: ownHost, FromID: ownID, MsgID: "m1", Queue: ownHost,
			Header: wire.Header{{Name: "X-A", Value: "1"}}, Body: body,
		}
		if err := server.PublishParts(p.conn, in, response); err != nil {
			t.Errorf("%d bytes are not answered: %v", size, err)
		}
		got := p.next(p.received)
		assert.Equal(t, string(body), string(got.Body), "%d, %d", size, len(got.Body))
		assert.False(t, got.Fragment.IsPart(), "%d, %d", size, len(got.Body))
		require.Len(t, got.Header, 1, "%d, %d", size, len(got.Body))
		assert.Equal(t, "1", got.Header[0].Value, "%d, %d", size, len(got.Body))
	}
}
