package bus_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// What a scripted server answers with.
const (
	ack = wire.OpAck
	res = wire.OpRes
)

// scripted is an instance that is not ours: it answers each request with the messages of a script, in their order,
// whatever the rules are. Without a script it takes requests and says nothing.
type scripted struct {
	host, id, plane string
	raw             *nats.Conn
	script          []wire.OpCode
	taken           chan struct{} // one for each request, unless no page is open
	requests        atomic.Int64  // how many came
}

const (
	scriptedHost = "scripted.example"
	scriptedURL  = "GET https://scripted.example/who"
	scriptedID   = "s1aaaaaaaa"
)

// newScripted serves GET /who on port 443 of host.
func newScripted(t *testing.T, w *testBus, host string, script ...wire.OpCode) *scripted {
	t.Helper()
	s := &scripted{
		host: host, id: scriptedID, plane: w.Plane(),
		raw: rawClient(t, w), script: script, taken: make(chan struct{}, 1),
	}
	for to, receive := range map[string]nats.MsgHandler{
		subject.Subscription(s.plane, "443", s.host, "GET", "who"): s.receive,
		subject.Response(s.plane, s.host, s.id):                    func(*nats.Msg) {}, // it is alive
	} {
		_, err := s.raw.Subscribe(to, receive)
		require.NoError(t, err)
	}
	flush(t, s.raw)
	return s
}

// receive answers the n-th message of the script with {"n":n}.
func (s *scripted) receive(message *nats.Msg) {
	var request wire.Request
	if err := wire.ParseRequest(message.Data, &request); err != nil {
		return // nothing is answered, which fails the client that waits for it
	}
	s.requests.Add(1)
	for n, opCode := range s.script {
		response := &wire.Response{Status: 202, OpCode: opCode, FromHost: s.host, FromID: s.id, MsgID: request.MsgID}
		if opCode == res {
			response.Status, response.Body = 200, fmt.Appendf(nil, `{"n":%d}`, n)
			response.Header = wire.Header{{Name: "Content-Type", Value: "application/json"}}
		}
		_ = s.raw.Publish(subject.Response(s.plane, request.FromHost, request.FromID), wire.AppendResponse(nil, response))
	}
	select {
	case s.taken <- struct{}{}:
	default:
	}
}

// scripts are orders in which acks and responses may come, with the place of the response that counts.
func scripts() map[string]struct {
	script []wire.OpCode
	first  int
} {
	return map[string]struct {
		script []wire.OpCode
		first  int
	}{
		"as it should be":             {[]wire.OpCode{ack, res}, 1},
		"no ack":                      {[]wire.OpCode{res}, 0},
		"the ack last":                {[]wire.OpCode{res, ack}, 0},
		"two acks":                    {[]wire.OpCode{ack, ack, res}, 2},
		"two responses":               {[]wire.OpCode{ack, res, res}, 1},
		"everything twice, backwards": {[]wire.OpCode{res, res, ack, ack}, 0},
	}
}

func TestScripted_OneResultInAnyOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		caller := b.connect("caller.example")
		for name, test := range scripts() {
			server := newScripted(t, b.testBus, scriptedHost, test.script...)
			for range 10 {
				var out struct{ N int }
				out.N = -1
				err := caller.Call(t.Context(), scriptedURL, nil, &out)
				require.NoError(t, err, name)
				assert.Equal(t, test.first, out.N, name)
			}
			if got := server.requests.Load(); got != 10 {
				t.Errorf("%s: 10 calls made %d requests", name, got)
			}
			server.raw.Close()
			synctest.Wait()
		}
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}

func TestScripted_OneResultOfEachInstanceInAnyOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		caller := b.connect("caller.example")
		real := b.newCalculators(2)
		for name, test := range scripts() {
			server := newScripted(t, b.testBus, calculatorHost, test.script...)
			for range 3 { // responders unknown, then known
				counts := make(map[string]int)
				for _, id := range publish(t, caller, calculatorURL+"/who") {
					counts[id]++
				}
				require.Len(t, counts, 3, name)
				assert.Equal(t, 1, counts[real[0]], name)
				assert.Equal(t, 1, counts[real[1]], name)
				assert.Equal(t, 1, counts[server.id], name)
			}
			server.raw.Close()
			synctest.Wait()
		}
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}

// TestScripted_OnlyTheInstanceThatAcked has others answer a call that was acked, as a broker without permissions
// allows: another instance of the host, and a foreign client that says in the broker's place that no instance is there.
func TestScripted_OnlyTheInstanceThatAcked(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		server, requests := newScripted(t, b.testBus, scriptedHost, ack), b.listen(b.Plane()+".443.>")
		caller := b.connect("caller.example")
		ended := make(chan error, 1)
		var out struct{ N int }
		go func() { ended <- caller.Call(t.Context(), scriptedURL, nil, &out) }()
		synctest.Wait()
		request, before := <-requests, caller.Stats().UnmatchedResponses
		answer := func(id string, script ...wire.OpCode) {
			(&scripted{host: server.host, id: id, plane: server.plane, raw: server.raw, script: script}).receive(request)
			synctest.Wait()
		}
		answer("s2aaaaaaaa", res)
		strangers := caller.Stats().UnmatchedResponses - before
		assert.Equal(t, int64(1), strangers)
		assert.Empty(t, ended)
		absent := &nats.Msg{Subject: request.Reply, Header: nats.Header{"Status": {"503"}}}
		require.NoError(t, server.raw.PublishMsg(absent))
		if synctest.Wait(); len(ended) != 0 {
			t.Error("no instance is there, though one has acked")
		}
		answer("s2aaaaaaaa", ack, ack, ack, ack, ack, res) // a second instance: from now on it may answer, too
		err := <-ended
		require.NoError(t, err)
		assert.Equal(t, 5, out.N)
		if dropped := caller.Stats().Malformed; dropped != 0 {
			t.Errorf("%d messages were dropped", dropped)
		}
		if sent := server.requests.Load(); sent != 1 {
			t.Errorf("one call was sent %d times", sent)
		}
	})
}

// TestScripted_SecondAckIsIgnored has an instance ack twice and never answer: the error names it, and it is asked once
// to stop.
func TestScripted_SecondAckIsIgnored(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		newScripted(t, b.testBus, scriptedHost, ack, ack)
		cancels := b.listen(b.Plane() + ".888.example.scripted." + scriptedID + ".|.POST.cancel")
		err := b.connect("caller.example").Call(t.Context(), scriptedURL, nil, nil)
		failed := asBusError(t, err)
		assert.Equal(t, 504, failed.Status)
		assert.Equal(t, scriptedHost, failed.Host)
		assert.Equal(t, scriptedID, failed.ID)
		if synctest.Wait(); len(cancels) != 1 {
			t.Errorf("%d cancels", len(cancels))
		}
	})
}
