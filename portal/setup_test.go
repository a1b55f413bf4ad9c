package portal_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
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
	ingress *portal.Ingress
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
	d := &testIngress{t: t, bus: bustest.New(t)}
	ingress, err := portal.NewIngress(d.bus.Connect("ingress", connect...), options...)
	if err != nil {
		t.Fatal(err)
	}
	d.ingress = ingress
	d.server = httptest.NewServer(ingress)
	t.Cleanup(d.server.Close)
	return d
}

// serve starts an instance of a host that serves every method and path on a port.
func (d *testIngress) serve(host string, port int, handler http.HandlerFunc) {
	d.t.Helper()
	if err := d.bus.Connect(host).Handle("*", "/{rest+}", handler, bus.Port(port)); err != nil {
		d.t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
