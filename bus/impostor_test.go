package bus_test

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// impostor is an instance that is not ours and has the host and the id of one that is, as if ids were handed out twice.
type impostor struct {
	t     *testing.T
	raw   *nats.Conn
	of    *bus.Conn
	heard chan *nats.Msg // acks and responses, the other's too
	told  chan *nats.Msg // by the broker, that no instance is there
}

func newImpostor(t *testing.T, w *kit.World, of *bus.Conn) *impostor {
	t.Helper()
	made := &impostor{t: t, raw: kit.RawClient(t, w), of: of, heard: make(chan *nats.Msg, 1<<12), told: make(chan *nats.Msg, 1<<8)}
	for to, into := range map[string]chan *nats.Msg{made.response(): made.heard, made.response() + ".*": made.told} {
		_, err := made.raw.ChanSubscribe(to, into)
		require.NoError(t, err)
	}
	kit.Flush(t, made.raw)
	return made
}

// response is the subject on which both of them listen.
func (w *impostor) response() string { return subject.Response(w.of.Plane(), w.of.Host(), w.of.ID()) }

// call publishes a request for GET on port 443.
func (w *impostor) call(host, target, msgID string) {
	w.t.Helper()
	path, _, _ := strings.Cut(target, "?")
	to, err := subject.Address{Port: 443, Host: host, Method: http.MethodGet, Path: path}.Subject(w.of.Plane())
	require.NoError(w.t, err)
	request := &wire.Request{
		Method: http.MethodGet, Target: target, Host: host, FromHost: w.of.Host(), FromID: w.of.ID(), MsgID: msgID, TimeBudget: time.Minute,
	}
	require.NoError(w.t, w.raw.PublishRequest(to, w.response()+"."+msgID, wire.AppendRequest(nil, request)))
}

// sums waits for as many responses of the calculator, for any caller, and returns what they say, by message id.
func (w *impostor) sums(count int) map[string][]string {
	w.t.Helper()
	said := make(map[string][]string)
	for count > 0 {
		var response wire.Response
		require.NoError(w.t, wire.ParseResponse(kit.Await(w.t, "a response", w.heard).Data, &response))
		if response.OpCode == wire.OpRes && strings.Contains(string(response.Body), "sum") {
			said[response.MsgID] = append(said[response.MsgID], string(response.Body))
			count--
		}
	}
	return said
}

// TestImpostor_CallersWithOneID has both call at once. Each hears all that comes for either, because the subscription
// is a plain one, and takes what has the id of a message of its own.
func TestImpostor_CallersWithOneID(t *testing.T) {
	t.Parallel()
	const calls = 100
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	caller, _ := kit.NewCalculator(t, w)
	other := newImpostor(t, w, caller)
	before := caller.Stats()
	var calling sync.WaitGroup
	calling.Go(func() {
		for i := range calls {
			var out struct{ Sum int }
			err := caller.Call(t.Context(), "GET "+kit.CalculatorURL+"/add", bus.Args{"x": i, "y": 1000}, &out)
			assert.NoError(t, err, i)
			assert.Equal(t, i+1000, out.Sum, i)
		}
	})
	for i := range calls {
		other.call(kit.CalculatorHost, fmt.Sprintf("/add?x=%d&y=2000", i), "t"+strconv.Itoa(i))
	}
	calling.Wait()
	said := other.sums(2 * calls)
	if len(said) != 2*calls {
		t.Errorf("%d calls were answered, want %d", len(said), 2*calls)
	}
	for i := range calls {
		got, want := said["t"+strconv.Itoa(i)], fmt.Sprintf(`{"sum":%d}`, i+2000)
		require.Len(t, got, 1)
		assert.Equal(t, want, got[0])
	}
	kit.Add(t, caller, kit.CalculatorHost) // what came before has been looked at
	after := caller.Stats()
	strangers := after.UnmatchedResponses - before.UnmatchedResponses
	assert.GreaterOrEqual(t, strangers, int64(2*calls), after.Malformed-before.Malformed)
	assert.Equal(t, before.Malformed, after.Malformed, after.Malformed-before.Malformed)
}

// TestImpostor_NoInstanceBesideIt holds that the broker tells each of its own calls.
func TestImpostor_NoInstanceBesideIt(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	caller := w.Connect("caller.example")
	other := newImpostor(t, w, caller)
	for i := range 20 {
		msgID := "t" + strconv.Itoa(i)
		other.call("nobody.example", "/add", msgID)
		if err := caller.Call(t.Context(), "GET https://nobody.example/add", nil, nil); !errors.Is(err, bus.ErrNoResponder) {
			t.Errorf("got %v", err)
		}
		told := kit.Await(t, "the word of the broker", other.told)
		assert.Equal(t, other.response()+"."+msgID, told.Subject)
		assert.Equal(t, "503", told.Header.Get("Status"))
	}
	assert.Empty(t, other.told)
	assert.Zero(t, caller.Stats().Malformed)
}

// TestInstances_WithOneID are both reached by direct addressing, and the first to answer counts.
func TestInstances_WithOneID(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	caller, callee := kit.NewCalculator(t, w)
	other, ran := newImpostor(t, w, callee), make(chan struct{}, 1<<10)
	answer := func(message *nats.Msg) {
		var request wire.Request
		if err := wire.ParseRequest(message.Data, &request); err != nil {
			t.Error(err)
			return
		}
		ran <- struct{}{}
		for _, response := range []*wire.Response{{Status: http.StatusAccepted, OpCode: wire.OpAck}, {Status: http.StatusOK, OpCode: wire.OpRes, Body: []byte(`{"sum":3}`)}} {
			response.FromHost, response.FromID, response.MsgID, response.Queue = callee.Host(), callee.ID(), request.MsgID, callee.Host()
			response.Header = wire.Header{{Name: "Content-Type", Value: "application/json"}}
			_ = other.raw.Publish(subject.Response(callee.Plane(), request.FromHost, request.FromID), wire.AppendResponse(nil, response))
		}
	}
	served := subject.Subscription(callee.Plane(), "443", callee.Host(), http.MethodGet, "add")
	_, err := other.raw.QueueSubscribe(served, callee.Host(), answer)
	require.NoError(t, err)
	_, err = other.raw.Subscribe(subject.Instance(callee.Plane(), callee.Host(), callee.ID()), answer)
	require.NoError(t, err)
	kit.Flush(t, other.raw)
	const calls = 50
	for range calls {
		kit.Add(t, caller, callee.Host())
		kit.Add(t, caller, callee.ID()+"."+callee.Host())
	}
	for range calls { // every direct call came to the other, too
		kit.Await(t, "a call", ran)
	}
	if open := caller.PendingCalls(); open != 0 {
		t.Errorf("%d slots are left open", open)
	}
}

// TestImpostor_HostNamedLikeAnInstance has a service whose first label is the id of an instance: in subjects they are
// one, so that both get the call, and one of them answers.
func TestImpostor_HostNamedLikeAnInstance(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	caller, callee := kit.NewCalculator(t, w)
	below := w.Connect(callee.ID() + "." + callee.Host())
	kit.Serve(t, below, kit.Calculator{})
	for range 20 {
		kit.Add(t, caller, below.Host())
		kit.Add(t, caller, callee.Host())
		kit.Add(t, caller, below.ID()+"."+below.Host())
	}
	if open := caller.PendingCalls(); open != 0 {
		t.Errorf("%d slots are left open", open)
	}
}
