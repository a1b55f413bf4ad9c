package portal_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/portal"
)

// echoed is what an echo service received.
type echoed struct {
	Method string      `json:"method"`
	Target string      `json:"target"` // as on the bus
	Host   string      `json:"host"`
	Header http.Header `json:"header"`
	Body   string      `json:"body"`
}

// echo responds with what it received.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	text, err := json.Marshal(echoed{r.Method, r.RequestURI, r.Host, r.Header, string(body)})
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

// testIngress is an ingress on a bus of its own.
type testIngress struct {
	t       *testing.T
	bus     *bustest.Bus
	handler *portal.Ingress
	server  *httptest.Server
}

// open starts an ingress on a bus without services.
func open(t *testing.T, options ...portal.IngressOption) *testIngress {
	t.Helper()
	return openWith(t, nil, options...)
}

// openWith is open with options of the ingress's connection.
func openWith(t *testing.T, connect []bus.ConnectOption, options ...portal.IngressOption) *testIngress {
	t.Helper()
	return openOn(t, bustest.New(t), connect, options...)
}

// openOn is openWith on a bus.
func openOn(t *testing.T, b *bustest.Bus, connect []bus.ConnectOption, options ...portal.IngressOption) *testIngress {
	t.Helper()
	d := &testIngress{t: t, bus: b}
	ingress, err := portal.NewIngress(d.bus.Connect("ingress", connect...), options...)
	require.NoError(t, err)
	d.handler = ingress
	d.server = httptest.NewServer(ingress)
	t.Cleanup(d.server.Close)
	return d
}

// serve starts an instance of a host that serves every method and path on a port.
func (d *testIngress) serve(host string, port int, handler http.HandlerFunc) {
	d.t.Helper()
	require.NoError(d.t, d.bus.Connect(host).Handle("*", "/{rest+}", handler, bus.Port(port)))
}

// answer is a response with its body.
type answer struct {
	*http.Response
	text string
}

// get makes a GET request with headers, given as "Name: value".
func (d *testIngress) get(path string, headers ...string) answer {
	d.t.Helper()
	return d.send("GET "+path+" HTTP/1.1\r\n"+strings.Join(append(headers, "Host: door.example", "Connection: close"), "\r\n")+"\r\n\r\n", http.MethodGet)
}

// send writes a request literally, so that no client corrects it, and reads the response.
func (d *testIngress) send(raw, method string) answer {
	d.t.Helper()
	return sendTo(d.t, d.server.Listener.Addr().String(), raw, method)
}

func sendTo(t *testing.T, address, raw, method string) answer {
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
	return answer{response, string(text)}
}

// echoed parses the response of an echo service.
func (a answer) echoed(t *testing.T) (got echoed) {
	t.Helper()
	if a.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %s", a.StatusCode, a.text)
	}
	a.decode(t, &got)
	return got
}

// problem is an error response.
type problem struct {
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

// problem parses an error response, and checks that it is a valid problem.
func (a answer) problem(t *testing.T) (got problem) {
	t.Helper()
	if kind := a.Header.Get("Content-Type"); kind != "application/problem+json" {
		t.Fatalf("status %d of type %q: %s", a.StatusCode, kind, a.text)
	}
	a.decode(t, &got)
	if got.Status != a.StatusCode {
		t.Errorf("status %d in a response of status %d", got.Status, a.StatusCode)
	}
	return got
}

func (a answer) decode(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.text), into); err != nil {
		t.Fatalf("%v: %s", err, a.text)
	}
}

// issuer makes the headers of callers.
type issuer struct {
	*bustest.Issuer
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	return &issuer{bustest.NewIssuer(t)}
}

// bearer returns the header of a caller whose token is valid for an hour and has the given claims, among others.
func (i *issuer) bearer(more claims.Claims) string {
	said := claims.Claims{"sub": "ada"}
	maps.Copy(said, more)
	return "Authorization: Bearer " + i.Token(said)
}

// in returns the header of a caller with roles.
func (i *issuer) in(roles ...string) string { return i.bearer(claims.Claims{"roles": roles}) }

// openFor starts an ingress that verifies tokens.
func openFor(t *testing.T, i *issuer, options ...portal.IngressOption) *testIngress {
	t.Helper()
	return openWith(t, []bus.ConnectOption{i.Trust()}, options...)
}

// securedService is a service that asks who calls.
type securedService struct{}

// Gold is for keepers.
func (securedService) Gold() (canaryGold int) { return 7 }

// Stones are open to every caller.
func (securedService) Stones() (stones int) { return 3 }

// Who is open to every caller, too, and says who that is.
func (securedService) Who(ctx context.Context) (name string) {
	told, _ := bus.ClaimsOf(ctx)
	name, _ = told["sub"].(string)
	return name
}

// keep serves a vault on a host.
func (d *testIngress) keep(host string, options ...bus.ConnectOption) {
	d.t.Helper()
	err := bus.Serve(d.bus.Connect(host, options...), securedService{},
		bus.RequireClaims(`"keeper" in roles`), bus.Method("Stones", bus.AllowAnonymous()), bus.Method("Who", bus.AllowAnonymous()))
	require.NoError(d.t, err)
}

// foreignInstance is an instance without Busline, whose answers to the framework's questions the test chooses.
type foreignInstance struct {
	host, id, plane string
	raw             *nats.Conn

	mu      sync.Mutex // protects all below
	answers map[string]string
	counts  map[string]int
}

// newForeignInstance starts an instance that reports a document, and no traffic.
func newForeignInstance(t *testing.T, b *bustest.Bus, host string) *foreignInstance {
	t.Helper()
	raw, err := nats.Connect("", nats.InProcessServer(b.Broker()))
	require.NoError(t, err)
	t.Cleanup(raw.Close)
	s := &foreignInstance{host: host, id: "s1aaaaaaaa", plane: b.Plane(), raw: raw, counts: make(map[string]int)}
	s.answers = map[string]string{
		"/ping":    `{"host":"` + host + `","id":"s1aaaaaaaa","version":"1","ports":[443]}`,
		"/traffic": `{"started":"2026-01-01T00:00:00Z","served":[],"made":[]}`,
		"/openapi.json": `{"openapi":"3.0.0","info":{"title":"a","version":"1"},"paths":{"/` + host +
			`:443/add":{"get":{"summary":"Add(x int) (sum int)","responses":{"200":{"description":"OK"}}}}}}`,
	}
	for _, to := range []string{
		subject.Subscription(s.plane, "888", "all", "GET", ">"), subject.Subscription(s.plane, "443", host, "GET", ">"),
		subject.Instance(s.plane, host, s.id),
	} {
		_, err := raw.Subscribe(to, s.answer)
		require.NoError(t, err)
	}
	if _, err := raw.Subscribe(subject.Response(s.plane, host, s.id), func(*nats.Msg) {}); err != nil { // it is alive
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, raw.FlushWithContext(ctx))
	return s
}

// tells changes an answer; with "hang" there is none.
func (s *foreignInstance) tells(path, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[path] = body
}

// asked returns how many requests there were for a path.
func (s *foreignInstance) asked(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[path]
}

func (s *foreignInstance) answer(message *nats.Msg) {
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
	to := subject.Response(s.plane, request.FromHost, request.FromID)
	response := &wire.Response{Status: 202, OpCode: wire.OpAck, FromHost: s.host, FromID: s.id, MsgID: request.MsgID}
	_ = s.raw.Publish(to, wire.AppendResponse(nil, response))
	if body == "hang" {
		return
	}
	response.Status, response.OpCode, response.Body = 200, wire.OpRes, []byte(body)
	response.Header = wire.Header{{Name: "Content-Type", Value: "application/json"}}
	_ = s.raw.Publish(to, wire.AppendResponse(nil, response))
}

// writtenLines are what a logger has written.
type writtenLines struct {
	mu   sync.Mutex // protects text
	text bytes.Buffer
}

func (l *writtenLines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *writtenLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestIngress_LogsErrors has a handler panic, which net/http reports.
func TestIngress_LogsErrors(t *testing.T) {
	t.Parallel()
	var toZerolog, toSlog, unused writtenLines
	for _, test := range []struct {
		options []portal.ServerOption
		written *writtenLines
		want    []string
	}{
		{[]portal.ServerOption{portal.WithLogger(zerolog.New(&toZerolog))}, &toZerolog, []string{`{"message":"http: panic serving`, "not again"}},
		{
			[]portal.ServerOption{portal.WithLogger(zerolog.New(&unused)), portal.WithSlog(slog.New(slog.NewTextHandler(&toSlog, nil)))}, &toSlog,
			[]string{"level=ERROR", `msg="http: panic serving`, "not again"},
		},
	} {
		server, stop := listen(t, func(http.ResponseWriter, *http.Request) { panic("not again") }, test.options...)
		if text, err := fetch(t, server.BaseURL()+"/"); err == nil {
			t.Errorf("got %q", text)
		}
		if err := stop(); err != nil { // when it has returned, it has been logged
			t.Error(err)
		}
		for _, want := range test.want {
			if got := test.written.String(); !strings.Contains(got, want) {
				t.Errorf("got %q, want %s", got, want)
			}
		}
	}
	if got := unused.String(); got != "" {
		t.Errorf("%q went to the logger that was replaced", got)
	}
}
