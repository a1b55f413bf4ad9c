// Package portaltest has what the tests of the ingress and those of the page have in common.
package portaltest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/portal/ingress"
)

// Echoed is what an echo service received.
type Echoed struct {
	Method string      `json:"method"`
	Target string      `json:"target"` // as on the bus
	Host   string      `json:"host"`
	Header http.Header `json:"header"`
	Body   string      `json:"body"`
}

// Echo responds with what it received.
func Echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	text, err := json.Marshal(Echoed{r.Method, r.RequestURI, r.Host, r.Header, string(body)})
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

// Ingress is an ingress on a bus of its own.
type Ingress struct {
	T       *testing.T
	Bus     *bustest.Bus
	Handler *ingress.Handler
	Server  *httptest.Server
}

// Open starts an ingress on a bus without services.
func Open(t *testing.T, options ...ingress.Option) *Ingress {
	t.Helper()
	return OpenWith(t, nil, options...)
}

// OpenWith is open with options of the ingress's connection.
func OpenWith(t *testing.T, connect []bus.ConnectOption, options ...ingress.Option) *Ingress {
	t.Helper()
	return OpenOn(t, bustest.New(t), connect, options...)
}

// OpenOn is openWith on a bus.
func OpenOn(t *testing.T, b *bustest.Bus, connect []bus.ConnectOption, options ...ingress.Option) *Ingress {
	t.Helper()
	d := &Ingress{T: t, Bus: b}
	handler, err := ingress.New(d.Bus.Connect("ingress", connect...), options...)
	require.NoError(t, err)
	d.Handler = handler
	d.Server = httptest.NewServer(handler)
	t.Cleanup(d.Server.Close)
	return d
}

// Serve starts an instance of a host that serves every method and path on a port.
func (d *Ingress) Serve(host string, port int, handler http.HandlerFunc) {
	d.T.Helper()
	require.NoError(d.T, d.Bus.Connect(host).Handle("*", "/{rest+}", handler, bus.Port(port)))
}

// Answer is a response with its body.
type Answer struct {
	*http.Response
	Text string
}

// Get makes a GET request with headers, given as "Name: value".
func (d *Ingress) Get(path string, headers ...string) Answer {
	d.T.Helper()
	return d.Send("GET "+path+" HTTP/1.1\r\n"+strings.Join(append(headers, "Host: door.example", "Connection: close"),
		"\r\n")+"\r\n\r\n", http.MethodGet)
}

// Send writes a request literally, so that no client corrects it, and reads the response.
func (d *Ingress) Send(raw, method string) Answer {
	d.T.Helper()
	return SendTo(d.T, d.Server.Listener.Addr().String(), raw, method)
}

// SendTo is Send to an address.
func SendTo(t *testing.T, address, raw, method string) Answer {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	go func() { _, _ = io.WriteString(conn, raw) }() // the server may answer, and stop reading, before all is written
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%.60q: %v", raw, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%.60q: %v", raw, err)
	}
	return Answer{response, string(text)}
}

// Echoed parses the response of an echo service.
func (a Answer) Echoed(t *testing.T) (got Echoed) {
	t.Helper()
	if a.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %s", a.StatusCode, a.Text)
	}
	a.Decode(t, &got)
	return got
}

// Problem is an error response.
type Problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail"`
	Instance string `json:"instance"`
	Host     string `json:"host"`
	ID       string `json:"id"`
	MsgID    string `json:"msgId"`
	TraceID  string `json:"traceId"`
	Executed string `json:"executed"`
	Extra    []int  `json:"extra"`
}

// Problem parses an error response, and checks that it is a valid problem.
func (a Answer) Problem(t *testing.T) (got Problem) {
	t.Helper()
	if kind := a.Header.Get("Content-Type"); kind != "application/problem+json" {
		t.Fatalf("status %d of type %q: %s", a.StatusCode, kind, a.Text)
	}
	a.Decode(t, &got)
	if got.Status != a.StatusCode {
		t.Errorf("status %d in a response of status %d", got.Status, a.StatusCode)
	}
	return got
}

// Decode decodes the JSON of a response.
func (a Answer) Decode(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Text), into); err != nil {
		t.Fatalf("%v: %s", err, a.Text)
	}
}

// Issuer makes the headers of callers.
type Issuer struct {
	*bustest.Issuer
}

// NewIssuer returns an issuer with a key of its own.
func NewIssuer(t testing.TB) *Issuer {
	t.Helper()
	return &Issuer{bustest.NewIssuer(t)}
}

// Bearer returns the header of a caller whose token is valid for an hour and has the given claims, among others.
func (i *Issuer) Bearer(more claims.Claims) string {
	said := claims.Claims{"sub": "ada"}
	maps.Copy(said, more)
	return "Authorization: Bearer " + i.Token(said)
}

// In returns the header of a caller with roles.
func (i *Issuer) In(roles ...string) string { return i.Bearer(claims.Claims{"roles": roles}) }

// OpenFor starts an ingress that verifies tokens.
func OpenFor(t *testing.T, i *Issuer, options ...ingress.Option) *Ingress {
	t.Helper()
	return OpenWith(t, []bus.ConnectOption{i.Trust()}, options...)
}

// SecuredService is a service that asks who calls.
type SecuredService struct{}

// Gold is for keepers.
func (SecuredService) Gold() (canaryGold int) { return 7 }

// Stones are open to every caller.
func (SecuredService) Stones() (stones int) { return 3 }

// Who is open to every caller, too, and says who that is.
func (SecuredService) Who(ctx context.Context) (name string) {
	caller, _ := bus.ClaimsOf(ctx)
	name, _ = caller["sub"].(string)
	return name
}

// Keep serves a vault on a host.
func (d *Ingress) Keep(host string, options ...bus.ConnectOption) {
	d.T.Helper()
	err := bus.Serve(d.Bus.Connect(host, options...), SecuredService{},
		bus.RequireClaims(`"keeper" in roles`), bus.Method("Stones", bus.AllowAnonymous()),
		bus.Method("Who", bus.AllowAnonymous()))
	require.NoError(d.T, err)
}

// ForeignInstance is an instance without Busline, whose answers to the framework's questions the test chooses.
type ForeignInstance struct {
	Host, ID, Plane string
	Raw             *nats.Conn

	mu      sync.Mutex // protects all below
	answers map[string]string
	counts  map[string]int
}

// NewForeignInstance starts an instance that reports a document, and no traffic.
func NewForeignInstance(t *testing.T, b *bustest.Bus, host string) *ForeignInstance {
	t.Helper()
	raw, err := nats.Connect("", nats.InProcessServer(b.Broker()))
	require.NoError(t, err)
	t.Cleanup(raw.Close)
	s := &ForeignInstance{Host: host, ID: "s1aaaaaaaa", Plane: b.Plane(), Raw: raw, counts: make(map[string]int)}
	s.answers = map[string]string{
		"/ping":    `{"host":"` + host + `","id":"s1aaaaaaaa","version":"1","ports":[443]}`,
		"/traffic": `{"started":"2026-01-01T00:00:00Z","served":[],"made":[]}`,
		"/openapi.json": `{"openapi":"3.0.0","info":{"title":"a","version":"1"},"paths":{"/` + host +
			`:443/add":{"get":{"summary":"Add(x int) (sum int)","responses":{"200":{"description":"OK"}}}}}}`,
	}
	for _, to := range []string{
		subject.Subscription(s.Plane, "888", "all", "GET", ">"), subject.Subscription(s.Plane, "443", host, "GET", ">"),
		subject.Instance(s.Plane, host, s.ID),
	} {
		_, err := raw.Subscribe(to, s.Answer)
		require.NoError(t, err)
	}
	if _, err := raw.Subscribe(subject.Response(s.Plane, host, s.ID), func(*nats.Msg) {}); err != nil { // it is alive
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, raw.FlushWithContext(ctx))
	return s
}

// Tells sets an answer; with "hang" there is none.
func (s *ForeignInstance) Tells(path, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[path] = body
}

// Asked returns how many requests there were for a path.
func (s *ForeignInstance) Asked(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[path]
}

// Answer answers a request.
func (s *ForeignInstance) Answer(message *nats.Msg) {
	var request wire.Request
	if wire.ParseRequest(message.Data, &request) != nil {
		return
	}
	path, _, _ := strings.Cut(request.Target, "?")
	s.mu.Lock()
	s.counts[path]++
	body, known := s.answers[path]
	s.mu.Unlock()
	if !known {
		return
	}
	to := subject.Response(s.Plane, request.FromHost, request.FromID)
	response := &wire.Response{Status: 202, OpCode: wire.OpAck, FromHost: s.Host, FromID: s.ID, MsgID: request.MsgID}
	_ = s.Raw.Publish(to, wire.AppendResponse(nil, response))
	if body == "hang" {
		return
	}
	response.Status, response.OpCode, response.Body = 200, wire.OpRes, []byte(body)
	response.Header = wire.Header{{Name: "Content-Type", Value: "application/json"}}
	_ = s.Raw.Publish(to, wire.AppendResponse(nil, response))
}

// AnswerAsMany answers questions at a path of port 888 of "all" as so many invented instances would. It needs a bubble.
func AnswerAsMany(t *testing.T, b *bustest.Bus, path string, count int) {
	t.Helper()
	raw, err := nats.Connect("", nats.InProcessServer(b.Broker()))
	require.NoError(t, err)
	t.Cleanup(raw.Close)
	answer := func(message *nats.Msg) {
		var request wire.Request
		if wire.ParseRequest(message.Data, &request) != nil {
			return
		}
		to := subject.Response(b.Plane(), request.FromHost, request.FromID)
		for at := range count {
			from := fmt.Sprintf("a%d.example", at)
			response := &wire.Response{
				Status: 200, OpCode: wire.OpRes, FromHost: from, FromID: "i1aaaaaaaa", MsgID: request.MsgID,
				Header: wire.Header{{Name: "Content-Type", Value: "application/json"}},
				Body:   []byte(`{"host":"` + from + `","id":"i1aaaaaaaa","version":"1","ports":[443]}`),
			}
			_ = raw.Publish(to, wire.AppendResponse(nil, response))
			if at%1000 == 999 {
				time.Sleep(time.Microsecond) // or the broker slows the sender down, by a clock that costs no time
			}
		}
	}
	_, err = raw.Subscribe(subject.Subscription(b.Plane(), "888", "all", "GET", path), answer)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, raw.FlushWithContext(ctx))
}

// OrderReader subscribes to the events of the example of orders.
type OrderReader struct{}

// OnOrdered does nothing.
func (OrderReader) OnOrdered(context.Context, int, string, int) error { return nil }
