package bus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

const calculatorName = "calculator-example"

// operator asks as "nats micro" does.
type operator struct {
	t *testing.T
	*nats.Conn
}

func newOperator(t *testing.T, b *bustest.Bus) *operator {
	t.Helper()
	return &operator{t, rawClient(t, &testBus{Bus: b})}
}

// ask returns all that is answered to a subject. A service answers in the order in which it is asked, so that nothing
// more comes once each of those that are there has also answered to its own name. A word that no instance is there has
// no data.
func (o *operator) ask(subject string, there ...*bus.Conn) (answers [][]byte) {
	o.t.Helper()
	inbox, heard := nats.NewInbox(), make(chan *nats.Msg, 1024)
	subscription, err := o.ChanSubscribe(inbox+".*", heard)
	require.NoError(o.t, err)
	defer func() { _ = subscription.Unsubscribe() }()
	o.say(subject, inbox+".answer", "")
	for _, conn := range there {
		o.say("$SRV.PING."+strings.ReplaceAll(conn.Host(), ".", "-")+"."+conn.ID(), inbox+".end", "")
	}
	for ends := 0; ends < len(there) || len(there) == 0 && len(answers) == 0; {
		answer := await(o.t, subject, heard)
		if strings.HasSuffix(answer.Subject, ".end") {
			ends++
		} else {
			answers = append(answers, answer.Data)
		}
	}
	return answers
}

func (o *operator) say(subject, reply, body string) {
	o.t.Helper()
	require.NoError(o.t, o.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Data: []byte(body)}))
}

// isAbsent reports whether the broker reports that no instance is asked by a subject.
func (o *operator) isAbsent(subject string) bool {
	o.t.Helper()
	answers := o.ask(subject)
	return len(answers[0]) == 0
}

// ids returns who answers to a subject, sorted.
func (o *operator) ids(subject string, there ...*bus.Conn) []string {
	o.t.Helper()
	var ids []string
	for _, answer := range o.ask(subject, there...) {
		ids = append(ids, decode[micro.Ping](o.t, answer).ID)
	}
	return slices.Sorted(slices.Values(ids))
}

// one returns the one answer to a subject, which has to have the form that is published.
func one[Answer any](o *operator, subject string, there *bus.Conn) Answer {
	o.t.Helper()
	answers := o.ask(subject, there)
	if len(answers) != 1 {
		o.t.Fatalf("%s has %d answers", subject, len(answers))
	}
	conforms(o.t, answers[0])
	return decode[Answer](o.t, answers[0])
}

// decode refuses what the type does not have.
func decode[Answer any](t *testing.T, answer []byte) (decoded Answer) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(answer))
	if _, isPing := any(decoded).(micro.Ping); !isPing { // which is in all of them
		decoder.DisallowUnknownFields()
	}
	if err := decoder.Decode(&decoded); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	return decoded
}

// conforms holds an answer against the schema that NATS publishes for its type.
func conforms(t *testing.T, answer []byte) {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(answer))
	require.NoError(t, err)
	name := strings.TrimPrefix(decode[micro.Ping](t, answer).Type, "io.nats.micro.v1.")
	text, err := os.ReadFile(filepath.Join("testdata", "micro", name+".json"))
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	require.NoError(t, compiler.AddResource(name, document))
	schema, err := compiler.Compile(name)
	require.NoError(t, err)
	if err := schema.Validate(parsed); err != nil {
		t.Errorf("%s: %v", answer, err)
	}
}

func TestService_Protocol(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	conn := b.Connect(calculatorHost, bus.WithVersion("2"))
	asks := newOperator(t, b)
	assert.True(t, asks.isAbsent("$SRV.PING"), "who serves nothing is shown")
	assert.True(t, asks.isAbsent("$SRV.PING."+calculatorName))
	serve(t, conn, calculator{conn.ID()}, bus.Method("Who", bus.NoQueue()), bus.Method("Panic", bus.Undocumented()))
	want := micro.ServiceIdentity{Name: calculatorName, ID: conn.ID(), Version: "2.0.0"}
	for _, verb := range []string{"PING", "INFO", "STATS"} {
		for _, subject := range []string{"$SRV." + verb, "$SRV." + verb + "." + calculatorName, "$SRV." + verb + "." + calculatorName + "." + conn.ID()} {
			got := one[micro.Ping](asks, subject, conn)
			assert.Equal(t, want.Name, got.Name, subject)
			assert.Equal(t, want.ID, got.ID, subject)
			assert.Equal(t, want.Version, got.Version, subject)
			assert.Equal(t, "io.nats.micro.v1."+strings.ToLower(verb)+"_response", got.Type, subject)
			assert.Equal(t, calculatorHost, got.Metadata["host"], subject)
			assert.Equal(t, b.Plane(), got.Metadata["plane"], subject)
			assert.Equal(t, "2", got.Metadata["version"], subject)
		}
	}
}

func TestService_Info(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	conn := b.Connect(calculatorHost, bus.WithDescription("Sums."))
	serve(t, conn, calculator{conn.ID()}, bus.Method("Who", bus.NoQueue()), bus.Method("Panic", bus.Undocumented()))
	require.NoError(t, conn.Handle("GET", "/files/{path+}", http.NotFoundHandler(), bus.Port(444)))
	info := one[micro.Info](newOperator(t, b), "$SRV.INFO."+calculatorName, conn)
	if info.Description != "Sums." {
		t.Errorf("description %q", info.Description)
	}
	prefix := b.Plane() + ".443.example.calculator.|."
	for name, want := range map[string]micro.EndpointInfo{
		"calculator-Add": {Subject: prefix + "*.add", QueueGroup: calculatorHost, Metadata: map[string]string{"method": "GET,POST", "path": "/add", "port": "443"}},
		"calculator-Who": {Subject: prefix + "*.who", Metadata: map[string]string{"method": "GET,POST", "path": "/who", "port": "443"}},
		"GET-files-path": {
			Subject: b.Plane() + ".444.example.calculator.|.GET.files.>", QueueGroup: calculatorHost,
			Metadata: map[string]string{"method": "GET", "path": "/files/{path+}", "port": "444"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			at := slices.IndexFunc(info.Endpoints, func(e micro.EndpointInfo) bool { return e.Name == name })
			if at < 0 {
				t.Errorf("no %s among %v", name, info.Endpoints)
				return
			}
			got := info.Endpoints[at]
			assert.Equal(t, want.Subject, got.Subject)
			assert.Equal(t, want.QueueGroup, got.QueueGroup)
			assert.Len(t, got.Metadata, 3)
			for key, value := range want.Metadata {
				if got.Metadata[key] != value {
					t.Errorf("metadata %v, want %v", got.Metadata, want.Metadata)
				}
			}
		})
	}
	for _, hidden := range []string{"calculator-Panic", "GET-openapi-json"} {
		if slices.ContainsFunc(info.Endpoints, func(e micro.EndpointInfo) bool { return e.Name == hidden }) {
			t.Errorf("%s is hidden, and shown", hidden)
		}
	}
}

func TestService_Stats(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	before := time.Now()
	conn := b.Connect(calculatorHost, bus.WithoutShortCircuit())
	serve(t, conn, calculator{conn.ID()})
	caller := b.Connect("caller.example")
	add(t, caller, calculatorHost)
	add(t, caller, calculatorHost)
	for _, path := range []string{"/divide?x=1&y=0", "/broken", "/divide?x=4&y=2"} {
		_ = caller.Call(t.Context(), "GET "+calculatorURL+path, nil, nil)
	}
	stats := one[micro.Stats](newOperator(t, b), "$SRV.STATS."+calculatorName+"."+conn.ID(), conn)
	assert.False(t, stats.Started.Before(before.Add(-time.Second)))
	assert.False(t, stats.Started.After(time.Now()))
	assert.Same(t, time.UTC, stats.Started.Location())
	for name, want := range map[string]micro.EndpointStats{
		"calculator-Add":    {NumRequests: 2},
		"calculator-Divide": {NumRequests: 2, NumErrors: 1, LastError: "422 Unprocessable Entity", Data: json.RawMessage(`{"refused":1,"failed":0}`)},
		"calculator-Broken": {NumRequests: 1, NumErrors: 1, LastError: "500 Internal Server Error", Data: json.RawMessage(`{"refused":0,"failed":1}`)},
		"calculator-Who":    {},
	} {
		t.Run(name, func(t *testing.T) {
			at := slices.IndexFunc(stats.Endpoints, func(e *micro.EndpointStats) bool { return e.Name == name })
			if at < 0 {
				t.Errorf("no %s", name)
				return
			}
			got := stats.Endpoints[at]
			assert.Equal(t, want.NumRequests, got.NumRequests)
			assert.Equal(t, want.NumErrors, got.NumErrors)
			assert.Equal(t, want.LastError, got.LastError)
			assert.Equal(t, string(want.Data), string(got.Data))
			assert.Equal(t, calculatorHost, got.QueueGroup)
			assert.True(t, strings.HasPrefix(got.Subject, b.Plane()+".443.example.calculator.|.*."), got.Subject)
			n := time.Duration(max(got.NumRequests, 1))
			assert.Equal(t, got.NumRequests > 0, (got.ProcessingTime > 0))
			assert.Equal(t, got.ProcessingTime/n, got.AverageProcessingTime)
		})
	}
}

// TestServices_AreDistinguished has two instances, another plane and another host, in this process and on connections
// of their own.
func TestServices_AreDistinguished(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]bus.ConnectOption{"one link": nil, "links of their own": {bus.WithoutSharing()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBus(t)
			connect := func(host string, more ...bus.ConnectOption) *bus.Conn {
				conn := b.Connect(host, append(slices.Clone(options), more...)...)
				serve(t, conn, calculator{conn.ID()})
				return conn
			}
			one, twin, elsewhere := connect(calculatorHost), connect(calculatorHost), connect(calculatorHost, bus.WithPlane("elsewhere"))
			other := connect("other.example")
			unlisted := connect("unlisted.example", bus.WithoutServiceProtocol())
			all := []*bus.Conn{one, twin, elsewhere, other}
			asks := newOperator(t, b)
			for subject, want := range map[string][]*bus.Conn{
				"$SRV.PING":                                          all,
				"$SRV.INFO." + calculatorName:                        {one, twin, elsewhere},
				"$SRV.STATS.other-example":                           {other},
				"$SRV.STATS." + calculatorName + "." + twin.ID():     {twin},
				"$SRV.INFO.other-example." + other.ID():              {other},
				"$SRV.INFO." + calculatorName + "." + elsewhere.ID(): {elsewhere},
			} {
				var ids []string
				for _, conn := range want {
					ids = append(ids, conn.ID())
				}
				slices.Sort(ids)
				if got := asks.ids(subject, all...); !slices.Equal(got, ids) {
					t.Errorf("%s is answered by %v, want %v", subject, got, ids)
				}
			}
			for _, subject := range []string{
				"$SRV.PING.unlisted-example", "$SRV.PING.unlisted-example." + unlisted.ID(), "$SRV.PING.nobody", "$SRV.PING." + calculatorHost,
				"$SRV.PING." + calculatorName + ".x1aaaaaaaa", "$SRV.PING.other-example." + one.ID(), "$SRV.PING.other-example." + other.ID() + ".x", "$SRV",
			} {
				if !asks.isAbsent(subject) {
					t.Errorf("%s is answered, or taken by a client", subject)
				}
			}
		})
	}
}

// TestService_ProtocolIsUnmoved has it asked what it does not know, with what is no question.
func TestService_ProtocolIsUnmoved(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	conn := b.Connect(calculatorHost)
	serve(t, conn, calculator{conn.ID()})
	asks := newOperator(t, b)
	for _, subject := range []string{"$SRV.SCHEMA", "$SRV.ping", "$SRV.PINGS." + calculatorName} {
		if answers := asks.ask(subject, conn); len(answers) != 0 {
			t.Errorf("%s is answered %s", subject, answers)
		}
	}
	for _, subject := range []string{"$SRV.STATS", "$SRV.INFO." + calculatorName} {
		asks.say(subject, "", "POST /add HTTP/1.1\r\n\r\n")       // has nowhere to be answered
		asks.say(subject, "$SRV.PING", strings.Repeat("{", 1000)) // would be answered where it is asked
	}
	if got := one[micro.Stats](asks, "$SRV.STATS", conn); got.ID != conn.ID() {
		t.Errorf("%+v", got)
	}
	stats := conn.Stats()
	assert.Zero(t, stats.Malformed)
	assert.True(t, conn.Healthy())
}

// TestService_ProtocolAnswersNotInTheWrongPlace has a client who may only ask choose a reply subject on which the
// service may publish, and he may not.
func TestService_ProtocolAnswersNotInTheWrongPlace(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		conn, onOther := b.connect(calculatorHost), b.connect(calculatorHost, bus.WithPlane("another"))
		serve(t, conn, calculator{conn.ID()})
		raw := rawClient(t, b.testBus)
		for to, answers := range map[string]int{
			"$KV.products.a": 0, conn.Plane() + ".443.example.calculator.|.GET.add": 0, onOther.Plane() + ".x": 0,
			conn.Plane() + "x": 1, "_INBOX." + conn.Plane() + ".x": 1,
		} {
			heard := b.listen(to)
			require.NoError(t, raw.PublishRequest("$SRV.PING", to, nil))
			flush(t, raw)
			synctest.Wait()
			if len(heard) != answers {
				t.Errorf("%s gets %d answers, want %d", to, len(heard), answers)
			}
		}
		stats := conn.Stats()
		assert.Zero(t, stats.Malformed)
		assert.True(t, conn.Healthy())
	})
}

// TestService_ProtocolUnderAFlood asks more than is answered at a time, in virtual time.
func TestService_ProtocolUnderAFlood(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		conn := b.connect(calculatorHost)
		serve(t, conn, calculator{conn.ID()})
		flood, last := b.listen("flood"), b.listen("last")
		raw := rawClient(t, b.testBus)
		for range 1000 {
			require.NoError(t, raw.PublishRequest("$SRV.STATS", "flood", nil))
		}
		flush(t, raw)
		synctest.Wait()
		count := len(flood)
		assert.GreaterOrEqual(t, count, 64)
		assert.LessOrEqual(t, count, 1000)
		require.NoError(t, raw.PublishRequest("$SRV.STATS."+calculatorName+"."+conn.ID(), "last", nil))
		flush(t, raw)
		synctest.Wait()
		if count := len(last); count != 1 {
			t.Errorf("%d answers after it", count)
		}
		stats := conn.Stats()
		assert.Zero(t, stats.Malformed)
		assert.True(t, conn.Healthy())
	})
}

func TestNATSMicro_ClosedServiceIsNotShown(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	one, other := b.Connect(calculatorHost), b.Connect(calculatorHost)
	serve(t, one, calculator{one.ID()})
	serve(t, other, calculator{other.ID()})
	asks := newOperator(t, b)
	closeConn(t, one)
	if got := asks.ids("$SRV.PING."+calculatorName, other); !slices.Equal(got, []string{other.ID()}) {
		t.Errorf("answered by %v", got)
	}
	if !asks.isAbsent("$SRV.PING." + calculatorName + "." + one.ID()) {
		t.Error("an instance that was closed is still asked")
	}
	closeConn(t, other)
	for _, subject := range []string{"$SRV.PING", "$SRV.PING." + calculatorName} {
		if !asks.isAbsent(subject) {
			t.Errorf("%s is taken when all are closed", subject)
		}
	}
}

// TestService_IsGoneBeforeItsHandlers holds that who closes is not shown any more while its last handler runs.
func TestService_IsGoneBeforeItsHandlers(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	conn, caller := b.Connect(calculatorHost), b.Connect("caller.example", bus.WithoutShortCircuit())
	entered, leave := make(chan struct{}, 1), make(chan struct{})
	serve(t, conn, calculatorThatStays{entered: entered, leave: leave})
	called, closed := make(chan error, 1), make(chan error, 1)
	go func() { called <- caller.Call(t.Context(), calculatorURL+"/stay", nil, nil) }()
	await(t, "the handler", entered)
	gone := tap(t, &testBus{Bus: b}, b.Plane()+".888.all.|.POST.bye")
	go func() { closed <- conn.Close(context.WithoutCancel(t.Context())) }()
	await(t, "its farewell", gone)
	if !newOperator(t, b).isAbsent("$SRV.PING." + calculatorName) {
		t.Error("it is still asked")
	}
	close(leave)
	assert.NoError(t, await(t, "the call", called))
	assert.NoError(t, await(t, "the end", closed))
}

// calculatorThatStays serves a call until it is told to leave.
type calculatorThatStays struct {
	entered chan<- struct{}
	leave   <-chan struct{}
}

func (c calculatorThatStays) Stay() {
	c.entered <- struct{}{}
	<-c.leave
}

// TestService_IsShownAgain cuts the connection, and has it closed for good.
func TestService_IsShownAgain(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(conn *bus.Conn, way *fragile){
		"cut":    func(_ *bus.Conn, way *fragile) { way.cut(false) },
		"closed": func(conn *bus.Conn, _ *fragile) { conn.NATS().Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &testBus{Bus: newBus(t)}
			way := &fragile{InProcessConnProvider: w.Broker()}
			one, other := w.Connect(calculatorHost, bus.WithBroker(way)), w.Connect(calculatorHost, bus.WithBroker(way))
			serve(t, one, calculator{one.ID()})
			serve(t, other, calculator{other.ID()})
			here := tap(t, w, "here")
			lose(one, way)
			for len(here) == 0 { // until it is back, nothing is sent
				_ = one.NATS().Publish("here", nil)
			}
			asks := newOperator(t, w.Bus)
			want := slices.Sorted(slices.Values([]string{one.ID(), other.ID()}))
			for _, subject := range []string{"$SRV.PING", "$SRV.PING." + calculatorName} {
				if got := asks.ids(subject, one, other); !slices.Equal(got, want) {
					t.Errorf("%s is answered by %v, want %v", subject, got, want)
				}
			}
		})
	}
}

// TestService_OnGivenConnection shows what is served on a connection of the application, which stays open.
func TestService_OnGivenConnection(t *testing.T) {
	t.Parallel()
	w := &testBus{Bus: newBus(t)}
	given := newApplication(t, w)
	conn := w.Connect(calculatorHost, bus.WithNATS(given.Conn))
	serve(t, conn, calculator{conn.ID()})
	asks := newOperator(t, w.Bus)
	if got := asks.ids("$SRV.PING", conn); !slices.Equal(got, []string{conn.ID()}) {
		t.Errorf("answered by %v", got)
	}
	closeConn(t, conn)
	assert.True(t, asks.isAbsent("$SRV.PING"))
	assert.Zero(t, given.NumSubscriptions())
}
