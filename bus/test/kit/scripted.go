package kit

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// What a scripted server answers with.
const (
	Ack = wire.OpAck
	Res = wire.OpRes
)

// Scripted is an instance that is not ours: it answers each request with the messages of a script, in their order,
// whatever the rules are. Without a script it takes requests and says nothing.
type Scripted struct {
	Host, ID, Plane string
	Raw             *nats.Conn
	Script          []wire.OpCode
	Received        chan struct{} // one for each request, unless no page is open
	Requests        atomic.Int64  // how many came
}

// A scripted instance, as most tests have one.
const (
	ScriptedHost = "scripted.example"
	ScriptedURL  = "GET https://scripted.example/who"
	ScriptedID   = "s1aaaaaaaa"
)

// NewScripted serves GET /who on port 443 of host.
func NewScripted(t *testing.T, w *World, host string, script ...wire.OpCode) *Scripted {
	t.Helper()
	s := &Scripted{
		Host: host, ID: ScriptedID, Plane: w.Plane(),
		Raw: RawClient(t, w), Script: script, Received: make(chan struct{}, 1),
	}
	for to, receive := range map[string]nats.MsgHandler{
		subject.Subscription(s.Plane, "443", s.Host, "GET", "who"): s.Receive,
		subject.Response(s.Plane, s.Host, s.ID):                    func(*nats.Msg) {}, // it is alive
	} {
		_, err := s.Raw.Subscribe(to, receive)
		require.NoError(t, err)
	}
	Flush(t, s.Raw)
	return s
}

// Receive answers the n-th message of the script with {"n":n}.
func (s *Scripted) Receive(message *nats.Msg) {
	var request wire.Request
	if err := wire.ParseRequest(message.Data, &request); err != nil {
		return // nothing is answered, which fails the client that waits for it
	}
	s.Requests.Add(1)
	for n, opCode := range s.Script {
		response := &wire.Response{Status: 202, OpCode: opCode, FromHost: s.Host, FromID: s.ID, MsgID: request.MsgID}
		if opCode == Res {
			response.Status, response.Body = 200, fmt.Appendf(nil, `{"n":%d}`, n)
			response.Header = wire.Header{{Name: "Content-Type", Value: "application/json"}}
		}
		_ = s.Raw.Publish(subject.Response(s.Plane, request.FromHost, request.FromID), wire.AppendResponse(nil, response))
	}
	select {
	case s.Received <- struct{}{}:
	default:
	}
}

// Dies closes a server's connection to the broker, as kill -9 does, when it is to.
func (s *Scripted) Dies(after time.Duration) { time.AfterFunc(after, s.Raw.Close) }

// WantLost checks an error of a call whose scripted instance died.
func WantLost(t *testing.T, what string, err error) {
	t.Helper()
	WantFailed(t, what, err, 504, bus.ErrInstanceLost)
	if failed, _ := errors.AsType[*bus.Error](err); failed != nil &&
		(failed.ID != ScriptedID || !strings.Contains(failed.Detail, "is gone")) {
		t.Errorf("%s: %+v", what, failed)
	}
}
