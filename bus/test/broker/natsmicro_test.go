package broker_test

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

	"github.com/nats-io/nats.go/micro"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/test/kit"
)

func newOperator(t *testing.T, b *bustest.Bus) *kit.Operator {
	t.Helper()
	return &kit.Operator{T: t, Conn: kit.RawClient(t, &kit.World{Bus: b})}
}

// one returns the one answer to a subject, which has to have the form that is published.
func one[Answer any](o *kit.Operator, subject string, there *bus.Conn) Answer {
	o.T.Helper()
	answers := o.Ask(subject, there)
	if len(answers) != 1 {
		o.T.Fatalf("%s has %d answers", subject, len(answers))
	}
	conforms(o.T, answers[0])
	return kit.Decode[Answer](o.T, answers[0])
}

// conforms holds an answer against the schema that NATS publishes for its type.
func conforms(t *testing.T, answer []byte) {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(answer))
	require.NoError(t, err)
	name := strings.TrimPrefix(kit.Decode[micro.Ping](t, answer).Type, "io.nats.micro.v1.")
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
	b := kit.NewBus(t)
	conn := b.Connect(kit.CalculatorHost, bus.WithVersion("2"))
	asks := newOperator(t, b)
	assert.True(t, asks.IsAbsent("$SRV.PING"), "who serves nothing is shown")
	assert.True(t, asks.IsAbsent("$SRV.PING."+kit.CalculatorName))
	kit.Serve(t, conn, kit.Calculator{ID: conn.ID()}, bus.Method("Who", bus.NoQueue()),
		bus.Method("Panic", bus.Undocumented()))
	want := micro.ServiceIdentity{Name: kit.CalculatorName, ID: conn.ID(), Version: "2.0.0"}
	for _, verb := range []string{"PING", "INFO", "STATS"} {
		for _, subject := range []string{"$SRV." + verb, "$SRV." + verb + "." + kit.CalculatorName,
			"$SRV." + verb + "." + kit.CalculatorName + "." + conn.ID()} {
			got := one[micro.Ping](asks, subject, conn)
			assert.Equal(t, want.Name, got.Name, subject)
			assert.Equal(t, want.ID, got.ID, subject)
			assert.Equal(t, want.Version, got.Version, subject)
			assert.Equal(t, "io.nats.micro.v1."+strings.ToLower(verb)+"_response", got.Type, subject)
			assert.Equal(t, kit.CalculatorHost, got.Metadata["host"], subject)
			assert.Equal(t, b.Plane(), got.Metadata["plane"], subject)
			assert.Equal(t, "2", got.Metadata["version"], subject)
		}
	}
}

func TestService_Info(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t)
	conn := b.Connect(kit.CalculatorHost, bus.WithDescription("Sums."))
	kit.Serve(t, conn, kit.Calculator{ID: conn.ID()}, bus.Method("Who", bus.NoQueue()),
		bus.Method("Panic", bus.Undocumented()))
	require.NoError(t, conn.Handle("GET", "/files/{path+}", http.NotFoundHandler(), bus.Port(444)))
	info := one[micro.Info](newOperator(t, b), "$SRV.INFO."+kit.CalculatorName, conn)
	if info.Description != "Sums." {
		t.Errorf("description %q", info.Description)
	}
	prefix := b.Plane() + ".443.example.calculator.|."
	for name, want := range map[string]micro.EndpointInfo{
		"Calculator-Add": {Subject: prefix + "*.add", QueueGroup: kit.CalculatorHost,
			Metadata: map[string]string{"method": "GET,POST", "path": "/add", "port": "443"}},
		"Calculator-Who": {Subject: prefix + "*.who",
			Metadata: map[string]string{"method": "GET,POST", "path": "/who", "port": "443"}},
		"GET-files-path": {
			Subject: b.Plane() + ".444.example.calculator.|.GET.files.>", QueueGroup: kit.CalculatorHost,
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
	for _, hidden := range []string{"Calculator-Panic", "GET-openapi-json"} {
		if slices.ContainsFunc(info.Endpoints, func(e micro.EndpointInfo) bool { return e.Name == hidden }) {
			t.Errorf("%s is hidden, and shown", hidden)
		}
	}
}

func TestService_Stats(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t)
	before := time.Now()
	conn := b.Connect(kit.CalculatorHost, bus.WithoutShortCircuit())
	kit.Serve(t, conn, kit.Calculator{ID: conn.ID()})
	caller := b.Connect("caller.example")
	kit.Add(t, caller, kit.CalculatorHost)
	kit.Add(t, caller, kit.CalculatorHost)
	for _, path := range []string{"/divide?x=1&y=0", "/broken", "/divide?x=4&y=2"} {
		_ = caller.Call(t.Context(), "GET "+kit.CalculatorURL+path, nil, nil)
	}
	stats := one[micro.Stats](newOperator(t, b), "$SRV.STATS."+kit.CalculatorName+"."+conn.ID(), conn)
	assert.False(t, stats.Started.Before(before.Add(-time.Second)))
	assert.False(t, stats.Started.After(time.Now()))
	assert.Same(t, time.UTC, stats.Started.Location())
	for name, want := range map[string]micro.EndpointStats{
		"Calculator-Add": {NumRequests: 2},
		"Calculator-Divide": {NumRequests: 2, NumErrors: 1, LastError: "422 Unprocessable Entity",
			Data: json.RawMessage(`{"refused":1,"failed":0}`)},
		"Calculator-Broken": {NumRequests: 1, NumErrors: 1, LastError: "500 Internal Server Error",
			Data: json.RawMessage(`{"refused":0,"failed":1}`)},
		"Calculator-Who": {},
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
			assert.Equal(t, kit.CalculatorHost, got.QueueGroup)
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
	for name, options := range map[string][]bus.ConnectOption{"one link": nil,
		"links of their own": {bus.WithoutSharing()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := kit.NewBus(t)
			connect := func(host string, more ...bus.ConnectOption) *bus.Conn {
				conn := b.Connect(host, append(slices.Clone(options), more...)...)
				kit.Serve(t, conn, kit.Calculator{ID: conn.ID()})
				return conn
			}
			one, twin, elsewhere := connect(kit.CalculatorHost), connect(kit.CalculatorHost), connect(kit.CalculatorHost,
				bus.WithPlane("elsewhere"))
			other := connect("other.example")
			unlisted := connect("unlisted.example", bus.WithoutServiceProtocol())
			all := []*bus.Conn{one, twin, elsewhere, other}
			asks := newOperator(t, b)
			for subject, want := range map[string][]*bus.Conn{
				"$SRV.PING":                                              all,
				"$SRV.INFO." + kit.CalculatorName:                        {one, twin, elsewhere},
				"$SRV.STATS.other-example":                               {other},
				"$SRV.STATS." + kit.CalculatorName + "." + twin.ID():     {twin},
				"$SRV.INFO.other-example." + other.ID():                  {other},
				"$SRV.INFO." + kit.CalculatorName + "." + elsewhere.ID(): {elsewhere},
			} {
				var ids []string
				for _, conn := range want {
					ids = append(ids, conn.ID())
				}
				slices.Sort(ids)
				if got := asks.IDs(subject, all...); !slices.Equal(got, ids) {
					t.Errorf("%s is answered by %v, want %v", subject, got, ids)
				}
			}
			for _, subject := range []string{
				"$SRV.PING.unlisted-example", "$SRV.PING.unlisted-example." + unlisted.ID(), "$SRV.PING.nobody",
				"$SRV.PING." + kit.CalculatorHost,
				"$SRV.PING." + kit.CalculatorName + ".x1aaaaaaaa", "$SRV.PING.other-example." + one.ID(),
				"$SRV.PING.other-example." + other.ID() + ".x", "$SRV",
			} {
				if !asks.IsAbsent(subject) {
					t.Errorf("%s is answered, or taken by a client", subject)
				}
			}
		})
	}
}

// TestService_ProtocolIsUnmoved has it asked what it does not know, with what is no question.
func TestService_ProtocolIsUnmoved(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t)
	conn := b.Connect(kit.CalculatorHost)
	kit.Serve(t, conn, kit.Calculator{ID: conn.ID()})
	asks := newOperator(t, b)
	for _, subject := range []string{"$SRV.SCHEMA", "$SRV.ping", "$SRV.PINGS." + kit.CalculatorName} {
		if answers := asks.Ask(subject, conn); len(answers) != 0 {
			t.Errorf("%s is answered %s", subject, answers)
		}
	}
	for _, subject := range []string{"$SRV.STATS", "$SRV.INFO." + kit.CalculatorName} {
		asks.Say(subject, "", "POST /add HTTP/1.1\r\n\r\n")       // has nowhere to be answered
		asks.Say(subject, "$SRV.PING", strings.Repeat("{", 1000)) // would be answered where it is asked
	}
	if got := one[micro.Stats](asks, "$SRV.STATS", conn); got.ID != conn.ID() {
		t.Errorf("%+v", got)
	}
	stats := conn.Stats()
	assert.Zero(t, stats.Malformed)
	require.NoError(t, conn.Health())
}

// TestService_ProtocolAnswersNotInTheWrongPlace has a client who may only ask choose a reply subject on which the
// service may publish, and he may not.
func TestService_ProtocolAnswersNotInTheWrongPlace(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		conn, onOther := b.Connect(kit.CalculatorHost), b.Connect(kit.CalculatorHost, bus.WithPlane("another"))
		kit.Serve(t, conn, kit.Calculator{ID: conn.ID()})
		raw := kit.RawClient(t, b.World)
		for to, answers := range map[string]int{
			"$KV.products.a": 0, conn.Plane() + ".443.example.calculator.|.GET.add": 0, onOther.Plane() + ".x": 0,
			conn.Plane() + "x": 1, "_INBOX." + conn.Plane() + ".x": 1,
		} {
			heard := b.Listen(to)
			require.NoError(t, raw.PublishRequest("$SRV.PING", to, nil))
			kit.Flush(t, raw)
			synctest.Wait()
			if len(heard) != answers {
				t.Errorf("%s gets %d answers, want %d", to, len(heard), answers)
			}
		}
		stats := conn.Stats()
		assert.Zero(t, stats.Malformed)
		require.NoError(t, conn.Health())
	})
}

// TestService_ProtocolUnderAFlood asks more than is answered at a time, in virtual time.
func TestService_ProtocolUnderAFlood(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		conn := b.Connect(kit.CalculatorHost)
		kit.Serve(t, conn, kit.Calculator{ID: conn.ID()})
		flood, last := b.Listen("flood"), b.Listen("last")
		raw := kit.RawClient(t, b.World)
		for range 1000 {
			require.NoError(t, raw.PublishRequest("$SRV.STATS", "flood", nil))
		}
		kit.Flush(t, raw)
		synctest.Wait()
		count := len(flood)
		assert.GreaterOrEqual(t, count, 64)
		assert.LessOrEqual(t, count, 1000)
		require.NoError(t, raw.PublishRequest("$SRV.STATS."+kit.CalculatorName+"."+conn.ID(), "last", nil))
		kit.Flush(t, raw)
		synctest.Wait()
		if count := len(last); count != 1 {
			t.Errorf("%d answers after it", count)
		}
		stats := conn.Stats()
		assert.Zero(t, stats.Malformed)
		require.NoError(t, conn.Health())
	})
}

func TestNATSMicro_ClosedServiceIsNotShown(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t)
	one, other := b.Connect(kit.CalculatorHost), b.Connect(kit.CalculatorHost)
	kit.Serve(t, one, kit.Calculator{ID: one.ID()})
	kit.Serve(t, other, kit.Calculator{ID: other.ID()})
	asks := newOperator(t, b)
	kit.CloseConn(t, one)
	if got := asks.IDs("$SRV.PING."+kit.CalculatorName, other); !slices.Equal(got, []string{other.ID()}) {
		t.Errorf("answered by %v", got)
	}
	if !asks.IsAbsent("$SRV.PING." + kit.CalculatorName + "." + one.ID()) {
		t.Error("an instance that was closed is still asked")
	}
	kit.CloseConn(t, other)
	for _, subject := range []string{"$SRV.PING", "$SRV.PING." + kit.CalculatorName} {
		if !asks.IsAbsent(subject) {
			t.Errorf("%s is taken when all are closed", subject)
		}
	}
}

// TestNATSMicro_Withdrawn holds that an instance is shown while it serves something, and again when it does again.
func TestNATSMicro_Withdrawn(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t)
	conn := b.Connect(kit.CalculatorHost)
	asks, name := newOperator(t, b), "$SRV.PING."+kit.CalculatorName
	for range 2 {
		kit.Serve(t, conn, kit.Calculator{})
		kit.Serve(t, conn, kit.Echo{})
		require.NoError(t, conn.Withdraw(t.Context(), kit.Calculator{}))
		assert.Equal(t, []string{conn.ID()}, asks.IDs(name, conn))
		require.NoError(t, conn.Withdraw(t.Context(), kit.Echo{}))
		assert.True(t, asks.IsAbsent(name))
	}
}

// TestService_IsGoneBeforeItsHandlers holds that who closes is not shown any more while its last handler runs.
func TestService_IsGoneBeforeItsHandlers(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t)
	conn, caller := b.Connect(kit.CalculatorHost), b.Connect("caller.example", bus.WithoutShortCircuit())
	entered, leave := make(chan struct{}, 1), make(chan struct{})
	kit.Serve(t, conn, calculatorThatStays{entered: entered, leave: leave})
	called, closed := make(chan error, 1), make(chan error, 1)
	go func() { called <- caller.Call(t.Context(), kit.CalculatorURL+"/stay", nil, nil) }()
	kit.Await(t, "the handler", entered)
	gone := kit.Tap(t, &kit.World{Bus: b}, b.Plane()+".888.all.|.POST.bye")
	go func() { closed <- conn.Close(context.WithoutCancel(t.Context())) }()
	kit.Await(t, "its farewell", gone)
	if !newOperator(t, b).IsAbsent("$SRV.PING." + kit.CalculatorName) {
		t.Error("it is still asked")
	}
	close(leave)
	assert.NoError(t, kit.Await(t, "the call", called))
	assert.NoError(t, kit.Await(t, "the end", closed))
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
	for name, lose := range map[string]func(conn *bus.Conn, way *kit.Fragile){
		"cut":    func(_ *bus.Conn, way *kit.Fragile) { way.Cut(false) },
		"closed": func(conn *bus.Conn, _ *kit.Fragile) { conn.NATS().Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &kit.World{Bus: kit.NewBus(t)}
			way := &kit.Fragile{InProcessConnProvider: w.Broker()}
			one, other := w.Bus.Connect(kit.CalculatorHost, bus.WithBroker(way)), w.Bus.Connect(kit.CalculatorHost,
				bus.WithBroker(way))
			kit.Serve(t, one, kit.Calculator{ID: one.ID()})
			kit.Serve(t, other, kit.Calculator{ID: other.ID()})
			here := kit.Tap(t, w, "here")
			lose(one, way)
			for len(here) == 0 { // until it is back, nothing is sent
				_ = one.NATS().Publish("here", nil)
			}
			asks := newOperator(t, w.Bus)
			want := slices.Sorted(slices.Values([]string{one.ID(), other.ID()}))
			for _, subject := range []string{"$SRV.PING", "$SRV.PING." + kit.CalculatorName} {
				if got := asks.IDs(subject, one, other); !slices.Equal(got, want) {
					t.Errorf("%s is answered by %v, want %v", subject, got, want)
				}
			}
		})
	}
}

// TestService_OnGivenConnection shows what is served on a connection of the application, which stays open.
func TestService_OnGivenConnection(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t)}
	given := newApplication(t, w)
	conn := w.Bus.Connect(kit.CalculatorHost, bus.WithNATS(given.Conn))
	kit.Serve(t, conn, kit.Calculator{ID: conn.ID()})
	asks := newOperator(t, w.Bus)
	if got := asks.IDs("$SRV.PING", conn); !slices.Equal(got, []string{conn.ID()}) {
		t.Errorf("answered by %v", got)
	}
	kit.CloseConn(t, conn)
	assert.True(t, asks.IsAbsent("$SRV.PING"))
	assert.Zero(t, given.NumSubscriptions())
}
