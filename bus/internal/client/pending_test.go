package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/wire"
)

const (
	msgID    = "m1"
	endpoint = "bus.endpoint" // the subject of the request
	limit    = 64 << 10       // of a response, in bytes
)

// pending holds the slot of one request.
type pending struct {
	*client.Pending
	t          *testing.T
	call       *client.PendingCall
	unexpected []string      // the senders of messages without a slot
	encoded    *status.Error // the error of the made-up response
}

// newPending opens the slot of a request to a host.
func newPending(t *testing.T, host string, inParts bool) *pending {
	t.Helper()
	p := &pending{t: t}
	p.Pending = client.NewPending(func(message *wire.Response) { p.unexpected = append(p.unexpected, message.FromID) },
		func(failed *status.Error) *wire.Response {
			p.encoded = failed
			return encode(failed)
		}, limit)
	p.call = p.Open(msgID, host, endpoint, inParts)
	return p
}

// message returns an ack or a response.
func message(code wire.OpCode, from client.Peer) *wire.Response {
	return &wire.Response{Status: http.StatusOK, OpCode: code, FromHost: from.Host, FromID: from.ID, MsgID: msgID,
		Queue: from.Host}
}

// ack delivers acks.
func (p *pending) ack(from ...client.Peer) {
	for _, each := range from {
		p.Deliver(message(wire.OpAck, each), 0)
	}
}

// respond delivers responses.
func (p *pending) respond(from ...client.Peer) {
	for _, each := range from {
		p.Deliver(message(wire.OpRes, each), 0)
	}
}

// checkResponse expects the response of an instance; the zero value for none.
func (p *pending) checkResponse(from client.Peer) {
	p.t.Helper()
	response, err := p.call.Outcome()
	var got client.Peer
	if response != nil {
		got = client.SenderOf(response)
	}
	require.NoError(p.t, err, len(p.call.News()))
	assert.Equal(p.t, from, got, len(p.call.News()))
	assert.Len(p.t, p.call.News(), min(1, len(from.ID)), len(p.call.News()))
}

// checkError expects an error, or none.
func (p *pending) checkError(want error) {
	p.t.Helper()
	response, err := p.call.Outcome()
	assert.Nil(p.t, response)
	assert.ErrorIs(p.t, err, want)
}

// checkUnexpected expects the senders of messages without a slot.
func (p *pending) checkUnexpected(want ...string) {
	p.t.Helper()
	if !slices.Equal(p.unexpected, want) {
		p.t.Errorf("unexpected are %q, want %q", p.unexpected, want)
	}
}

func TestPending_Deliver(t *testing.T) {
	t.Parallel()
	stranger := client.Peer{Host: "other.example", ID: "o1aaaaaaaa"}
	for _, test := range []struct {
		name       string
		host       string // as called
		inParts    bool
		happens    func(p *pending)
		response   client.Peer
		unexpected []string
	}{
		{name: "ack", happens: func(p *pending) { p.ack(first) }},
		{name: "response without an ack", happens: func(p *pending) { p.respond(first) }, response: first},
		{name: "first response counts", happens: func(p *pending) { p.respond(first, second) }, response: first},
		{name: "another host",
			happens: func(p *pending) { p.ack(stranger); p.respond(stranger) }, unexpected: []string{stranger.ID, stranger.ID},
		},
		{name: "any host", host: "all", happens: func(p *pending) { p.respond(stranger) }, response: stranger},
		{name: "instance", host: first.ID + "." + first.Host, happens: func(p *pending) { p.respond(first) },
			response: first},
		{name: "another instance",
			host: first.ID + "." + first.Host, happens: func(p *pending) { p.respond(second) }, unexpected: []string{second.ID},
		},
		{name: "not the instance that acked", happens: func(p *pending) { p.ack(first); p.respond(second) },
			unexpected: []string{second.ID}},
		{name: "several acks", happens: func(p *pending) { p.ack(first, second); p.respond(second) }, response: second},
		{name: "ack of the first part that comes second",
			inParts: true, happens: func(p *pending) { p.ack(first, second); p.respond(second) },
			unexpected: []string{second.ID},
		},
		{name: "ack of the first part that comes first",
			inParts: true, happens: func(p *pending) { p.ack(first, second); p.respond(first) }, response: first,
		},
		{name: "closed", happens: func(p *pending) { p.Close(msgID); p.respond(first) }, unexpected: []string{first.ID}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			host := test.host
			if host == "" {
				host = calculatorHost
			}
			p := newPending(t, host, test.inParts)
			test.happens(p)
			p.checkResponse(test.response)
			p.checkUnexpected(test.unexpected...)
		})
	}
}

func TestPending_ResponseTooLarge(t *testing.T) {
	t.Parallel()
	p := newPending(t, calculatorHost, false)
	large := message(wire.OpRes, first)
	large.Body = make([]byte, limit+1)
	p.Deliver(large, 0)
	p.checkMadeUp(http.StatusRequestEntityTooLarge,
		"the response cannot be received: a body of at least 65537 bytes exceeds the limit of 65536")
}

// checkMadeUp expects a response from Encode in the place of that of the first instance.
func (p *pending) checkMadeUp(code int, detail string) {
	p.t.Helper()
	p.checkResponse(first)
	if p.encoded == nil {
		p.t.Fatal("no response was made up")
	}
	response, _ := p.call.Outcome()
	assert.Equal(p.t, wire.OpRes, response.OpCode)
	assert.Equal(p.t, msgID, response.MsgID)
	assert.Equal(p.t, first.Host, response.Queue)
	assert.Equal(p.t, p.encoded.Error(), string(response.Body))
	assert.Equal(p.t, code, p.encoded.Status)
	assert.Equal(p.t, detail, p.encoded.Detail)
	assert.Equal(p.t, status.ExecutedYes, p.encoded.Executed)
	assert.Zero(p.t, p.encoded.RetryAfter)
	assert.Equal(p.t, first.Host, p.encoded.Host)
	assert.Equal(p.t, first.ID, p.encoded.ID)
	assert.Equal(p.t, msgID, p.encoded.MsgID)
}

// deliverParts delivers parts of a response of the first instance, each with its number as the body.
func (p *pending) deliverParts(numbers string, count, size int) {
	for _, number := range numbers {
		part := message(wire.OpRes, first)
		part.Fragment = wire.Fragment{Number: int(number - '0'), Count: count}
		part.Body = []byte(strings.Repeat(string(number), size))
		p.Deliver(part, 200+size)
	}
}

func TestPending_Parts(t *testing.T) {
	t.Parallel()
	const half = limit / 2
	for _, test := range []struct {
		name       string
		numbers    string // of the parts, as they come
		size       int
		body       string // "": there is no response
		code       int    // of the made-up response
		detail     string // of its error
		unexpected []string
	}{
		{name: "in order", numbers: "123", size: 1, body: "123"},
		{name: "repeated", numbers: "11223", size: 1, body: "123", unexpected: []string{first.ID, first.ID}},
		{name: "incomplete", numbers: "12", size: 1},
		{name: "lost", numbers: "13", size: 1, code: 502, detail: "part 2 was lost on the way"},
		{name: "comes after all", numbers: "1323", size: 1, code: 502, detail: "part 2 was lost on the way"},
		{name: "first one is lost", numbers: "23", size: 1, code: 502, detail: "part 1 was lost on the way"},
		{name: "as large as may be",
			numbers: "123", size: limit / 3, body: strings.Repeat("1", limit/3) + strings.Repeat("2", limit/3) +
				strings.Repeat("3", limit/3),
		},
		{name: "too large in the end", numbers: "123", size: half, code: 413,
			detail: "a body of at least 98304 bytes exceeds the limit of 65536"},
		{name: "too large from the outset", numbers: "1", size: half + 1, code: 413,
			detail: "a body of at least 65538 bytes exceeds the limit of 65536"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPending(t, calculatorHost, false)
			p.deliverParts(test.numbers, 3, test.size)
			p.checkUnexpected(test.unexpected...)
			switch {
			case test.code != 0:
				p.checkMadeUp(test.code, "the response cannot be received: "+test.detail)
			case test.body == "":
				p.checkResponse(client.Peer{})
			default:
				p.checkResponse(first)
				response, _ := p.call.Outcome()
				assert.Equal(t, test.body, string(response.Body))
				assert.False(t, response.Fragment.IsPart())
			}
			hasResponse := test.code != 0 || test.body != ""
			if held := p.BytesHeld(); (held == 0) != hasResponse {
				t.Errorf("%d bytes are held", held)
			}
			p.Close(msgID)
			if held := p.BytesHeld(); held != 0 {
				t.Errorf("%d bytes are held for a call that has ended", held)
			}
		})
	}
}

// TestPending_PartsFillMemory holds parts for other calls until there is no memory left. The request was executed, so
// the made-up response suggests no retry.
func TestPending_PartsFillMemory(t *testing.T) {
	t.Parallel()
	p := newPending(t, calculatorHost, false)
	for i := range 16 {
		id := "other" + strconv.Itoa(i)
		p.Open(id, calculatorHost, endpoint, false)
		part := message(wire.OpRes, first)
		part.FromID = "o1aaaaaa" + strconv.Itoa(10+i)
		part.MsgID, part.Fragment, part.Body = id, wire.Fragment{Number: 1, Count: 2}, make([]byte, limit-1000)
		p.Deliver(part, limit-800)
	}
	if p.encoded != nil {
		t.Fatalf("another call has failed: %v", p.encoded)
	}
	p.deliverParts("1", 2, limit)
	p.checkMadeUp(http.StatusServiceUnavailable,
		"the response cannot be received: too busy: the messages under way take as much memory as they may")
}

// TestPending_PartAcknowledges takes the first part of a response for the ack that was lost.
func TestPending_PartAcknowledges(t *testing.T) {
	t.Parallel()
	p := newPending(t, calculatorHost, false)
	p.deliverParts("1", 2, 1)
	if got := p.call.Acks(); !slices.Equal(got, []client.Peer{first}) {
		t.Errorf("%v have acked", got)
	}
	if p.BytesHeld() == 0 {
		t.Error("a part holds no memory")
	}
	p.NoteMalformed(message(wire.OpRes, first), errors.New("no status line"))
	if held := p.BytesHeld(); held != 0 {
		t.Errorf("%d bytes are held after a malformed part", held)
	}
}

func TestPending_NoteMalformed(t *testing.T) {
	t.Parallel()
	err := errors.New("no status line")
	for _, test := range []struct {
		name    string
		message *wire.Response
		ends    bool
	}{
		{"response", message(wire.OpRes, first), true},
		{"response without a sender", message(wire.OpRes, client.Peer{}), true},
		{"response of another host", message(wire.OpRes, client.Peer{Host: "other.example", ID: "o1aaaaaaaa"}), false},
		{"ack", message(wire.OpAck, first), false},
		{"unknown message id", &wire.Response{OpCode: wire.OpRes, MsgID: "m2"}, false},
		{"no message id", &wire.Response{OpCode: wire.OpRes}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPending(t, calculatorHost, false)
			p.NoteMalformed(test.message, err)
			if !test.ends {
				p.checkError(nil)
				return
			}
			p.checkError(err)
			_, got := p.call.Outcome()
			failed, _ := errors.AsType[*status.Error](got)
			require.NotNil(t, failed)
			assert.Equal(t, http.StatusBadGateway, failed.Status)
			assert.Equal(t, status.ExecutedUnknown, failed.Executed)
			assert.True(t, failed.Internal)
			assert.Equal(t, test.message.FromHost, failed.Host)
			assert.Equal(t, test.message.FromID, failed.ID)
			assert.Equal(t, msgID, failed.MsgID)
		})
	}
}

func TestPending_Explain(t *testing.T) {
	t.Parallel()
	p := newPending(t, calculatorHost, false)
	failed := status.MayHaveRun(http.StatusServiceUnavailable, status.ErrNoAck, "no ack")
	p.call.Explain(failed)
	assert.Equal(t, "no ack", failed.Detail)
	assert.False(t, failed.Internal)
	p.NoteMalformed(message(wire.OpAck, first), errors.New("no status line"))
	p.call.Explain(failed)
	assert.Equal(t, "no ack; a malformed ack was dropped: no status line", failed.Detail)
	assert.True(t, failed.Internal)
	unsent := status.NotRun(http.StatusServiceUnavailable, nil, "not sent")
	if p.call.Explain(unsent); unsent.Detail != "not sent" {
		t.Errorf("the error of a request that was not sent is %+v", unsent)
	}
}

func TestPending_ReachesNoInstance(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		inParts bool
		happens func(p *pending)
		want    error
	}{
		{"no responders", false, func(p *pending) { p.NoResponders(msgID) }, client.ErrNoSubscriber},
		{"no responders after an ack", false, func(p *pending) { p.ack(first); p.NoResponders(msgID) }, nil},
		{"no responders of another request", false, func(p *pending) { p.NoResponders("m2") }, nil},
		{"no responders for parts", true, func(p *pending) { p.NoResponders(msgID) }, client.ErrNoSubscriber},
		{"no responders for the second part", true, func(p *pending) { p.ack(first, second); p.NoResponders(msgID) },
			client.LeftError(first)},
		{"denied", false, func(p *pending) { p.Denied(endpoint) }, client.ErrDenied},
		{"another subject is denied", false, func(p *pending) { p.Denied("bus.other") }, nil},
		{"denied after an ack", false, func(p *pending) { p.ack(first); p.Denied(endpoint) }, nil},
		{"denied after the ack of a part", true, func(p *pending) { p.ack(first); p.Denied(endpoint) }, client.ErrDenied},
		{"no responders, then denied", false, func(p *pending) { p.NoResponders(msgID); p.Denied(endpoint) },
			client.ErrNoSubscriber},
		{"no responders for a request that ended", false, func(p *pending) { p.Close(msgID); p.NoResponders(msgID) }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPending(t, calculatorHost, test.inParts)
			test.happens(p)
			p.checkError(test.want)
			if want := test.want != nil; (len(p.call.News()) == 1) != want {
				t.Errorf("the caller is woken: %t", !want)
			}
		})
	}
}

// TestPending_Watch takes notices for a probe, whose token is no message id of a call.
func TestPending_Watch(t *testing.T) {
	t.Parallel()
	p := newPending(t, calculatorHost, false)
	notices := 0
	p.Watch("token", func() { notices++ })
	p.NoResponders("token")
	p.NoResponders(msgID)
	p.Unwatch("token")
	p.NoResponders("token")
	if notices != 1 {
		t.Errorf("%d notices, want 1", notices)
	}
}

func TestPending_Lose(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		inParts bool
		lost    []client.Peer
		last    []bool
	}{
		{"one after the other", false, []client.Peer{first, second}, []bool{false, true}},
		{"instance that has not come", false, []client.Peer{{Host: "other.example", ID: "o1aaaaaaaa"}}, []bool{false}},
		{"taker of the parts", true, []client.Peer{second, first}, []bool{false, true}},
		{"taker alone", true, []client.Peer{first}, []bool{true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPending(t, calculatorHost, test.inParts)
			p.ack(first, second, first)
			for i, lost := range test.lost {
				if got := p.call.Lose(lost); got != test.last[i] {
					t.Errorf("%s was the last one: %t", lost.ID, got)
				}
			}
		})
	}
}

func TestPending_GaveUp(t *testing.T) {
	t.Parallel()
	expired, cancelExpired := context.WithDeadline(t.Context(), time.Unix(0, 0))
	t.Cleanup(cancelExpired)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name   string
		ctx    context.Context //nolint:containedctx // of the case
		acks   []client.Peer
		code   int
		causes []error
		names  client.Peer
	}{
		{"no ack", expired, nil, http.StatusServiceUnavailable, []error{status.ErrNoAck, context.DeadlineExceeded},
			client.Peer{}},
		{"no ack in time", t.Context(), nil, http.StatusServiceUnavailable,
			[]error{status.ErrNoAck, context.DeadlineExceeded}, client.Peer{}},
		{"one taker", expired, []client.Peer{first}, http.StatusGatewayTimeout,
			[]error{status.ErrTimeout, context.DeadlineExceeded}, first},
		{"two takers", expired, []client.Peer{first, second}, http.StatusGatewayTimeout, []error{status.ErrTimeout},
			client.Peer{}},
		{"cancelled", cancelled, []client.Peer{first}, http.StatusServiceUnavailable, []error{context.Canceled},
			client.Peer{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPending(t, calculatorHost, false)
			p.ack(test.acks...)
			err := p.call.GaveUp(test.ctx)
			failed, _ := errors.AsType[*status.Error](err)
			require.NotNil(t, failed)
			assert.Equal(t, test.code, failed.Status)
			assert.Equal(t, status.ExecutedUnknown, failed.Executed)
			assert.Equal(t, test.names.Host, failed.Host)
			assert.Equal(t, test.names.ID, failed.ID)
			for _, cause := range test.causes {
				if !errors.Is(err, cause) {
					t.Errorf("%v is not a cause of %v", cause, err)
				}
			}
		})
	}
}

// TestPending_Reminder registers one call, and another one half an interval later, which is woken together with it.
func TestPending_Reminder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPending(t, calculatorHost, false)
		other := p.Open("m2", calculatorHost, endpoint, false)
		ended := p.Open("m3", calculatorHost, endpoint, false)
		began := time.Now()
		p.ExpectReminder(p.call)
		p.ExpectReminder(ended)
		p.CloseCall(ended)
		time.Sleep(client.ReminderInterval / 2)
		p.ExpectReminder(other)
		<-p.call.News()
		if took := time.Since(began); took != client.RemindedAfter {
			t.Errorf("the first caller is woken after %s, want %s", took, client.RemindedAfter)
		}
		<-other.News()
		if took := time.Since(began); took != client.RemindedAfter {
			t.Errorf("the second caller is woken after %s, want %s", took, client.RemindedAfter)
		}
		time.Sleep(client.ReminderInterval)
		synctest.Wait()
		assert.False(t, p.IsReminding(), "a round is scheduled without a caller that waits")
		assert.Zero(t, len(p.call.News())+len(other.News())+len(ended.News()),
			"a round is scheduled without a caller that waits")
	})
}

// TestPending_Full holds that no more calls wait for the broker than their answers have room, and that an ended one
// makes room again.
func TestPending_Full(t *testing.T) {
	t.Parallel()
	p := newPending(t, calculatorHost, false)
	var calls []*client.PendingCall
	for i := range client.MaxPending + 1 {
		call := p.Open(fmt.Sprintf("m%d.%c", i, rune('A'+i%16)), calculatorHost, endpoint, false)
		if call == nil {
			break
		}
		calls = append(calls, call)
	}
	if count := len(calls); count < client.MaxPending*15/16 || count > client.MaxPending {
		t.Fatalf("%d calls wait, want about %d", count, client.MaxPending)
	}
	next := fmt.Sprintf("next.%c", rune('A'+len(calls)%16))
	require.Nil(t, p.Open(next, calculatorHost, endpoint, false))
	for _, each := range calls {
		p.CloseCall(each)
	}
	require.NotNil(t, p.Open(next, calculatorHost, endpoint, false))
}
