package main_test

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/busline/busline/examples/internal/exampletest"
)

// TestForeign runs a showcase, and beside it a service that knows nothing of Busline. Nor does this test.
func TestForeign(t *testing.T) {
	t.Parallel()
	brokerURL := startBroker(t)
	showcase := exampletest.Start(t, exampletest.Build(t, "../showcase"), "BUS_NATS_URL="+brokerURL,
		"BUS_HTTP_ADDR=127.0.0.1:0")
	baseURL := showcase.Await("ready ")
	client := newClient(t, brokerURL)
	callCalculator(t, client)

	keys := newKeys(t)
	requests, err := client.broker.SubscribeSync("bus.443.example.calculator.|.POST.add")
	if err != nil {
		t.Fatal(err)
	}
	foreign := exampletest.Start(t, exampletest.Build(t, "."), "BUS_NATS_URL="+brokerURL,
		"BUS_SERVICE_KEY="+keys.own, "BUS_SERVICE_JWKS="+keys.set)
	if sum := foreign.Await("calculator.example says: "); sum != "5 + 6 = 11" {
		t.Errorf("the calculator says %s", sum)
	}
	if counted := foreign.Await("trouble.example counts: "); counted != "1 2 3" {
		t.Errorf("trouble counts %s", counted)
	}
	foreign.Await("foreign.example is on the bus")
	for _, many := range []int{3, 100_000} { // the latter are more than fit into the window
		_, body := get(t, baseURL+"/foreign.example/verses?many="+strconv.Itoa(many))
		if lines := strings.Count(body, "\n"); lines != many || !strings.HasSuffix(body, "verse "+strconv.Itoa(many)+"\n") {
			t.Errorf("%d verses came of %d", lines, many)
		}
	}
	callForeign(t, client)
	keys.prove(client, requests)
	breakRules(t, client)
	openForeign(t, baseURL)

	foreign.Stop()
	if status, body := get(t, baseURL+"/foreign.example/greet"); status != 503 {
		t.Errorf("when it has left: %d %s", status, body)
	}
	showcase.Stop()
}

// callCalculator makes the call that docs/reference/wire.md shows, and compares every byte of what comes back.
func callCalculator(t *testing.T, client *client) {
	t.Helper()
	client.send("bus.443.example.calculator.|.POST.add", `POST /add HTTP/1.1
Host: calculator.example
Content-Length: 13
Bus-Call-Depth: 1
Bus-From-Host: caller.example
Bus-From-Id: c1aaaaaaaa
Bus-Msg-Id: 4Q5CBU6RBMRM4XQVWYTLP2S7CA
Bus-Op-Code: Req
Bus-Time-Budget: 20000
Content-Type: application/json

{"x":5,"y":6}`)
	ack, response := client.receive(), client.receive()
	callee := parse(t, ack).Header.Get("Bus-From-Id")
	if want := wired(`HTTP/1.1 202 Accepted
Connection: close
Bus-From-Host: calculator.example
Bus-From-Id: ` + callee + `
Bus-Msg-Id: 4Q5CBU6RBMRM4XQVWYTLP2S7CA
Bus-Op-Code: Ack
Bus-Queue: calculator.example

`); ack != want {
		t.Errorf("ack\n%s\nwant\n%s", ack, want)
	}
	if want := wired(`HTTP/1.1 200 OK
Connection: close
Content-Length: 10
Bus-From-Host: calculator.example
Bus-From-Id: ` + callee + `
Bus-Msg-Id: 4Q5CBU6RBMRM4XQVWYTLP2S7CA
Bus-Op-Code: Res
Bus-Queue: calculator.example
Content-Type: application/json

{"sum":11}`); response != want {
		t.Errorf("response\n%s\nwant\n%s", response, want)
	}
}

// callForeign calls the foreign service on the bus, well and badly.
func callForeign(t *testing.T, client *client) {
	t.Helper()
	client.send("bus.443.example.foreign.|.GET.greet", "GET /greet") // no message: dropped

	ping := client.call("888.example.foreign.|.GET.ping", "GET /ping", "foreign.example", "")
	id := ping.Header.Get("Bus-From-Id")
	for _, test := range []struct {
		subject, request, host, field string
		status                        int
		body                          string
	}{
		{"888.example.foreign.|.GET.ping", "GET /ping", "foreign.example", "", 200,
			`{"host":"foreign.example","id":"` + id + `","ports":[443],"version":"1"}`},
		{"888.example.foreign.|.GET.allow", "GET /allow?port=443&path=/greet", "foreign.example", "", 200,
			`{"methods":["GET","HEAD"]}`},
		{"888.example.foreign.|.GET.allow", "GET /allow?port=443&path=/leave", "foreign.example", "", 200, `{"methods":[]}`},
		{"443.example.foreign." + id + ".|.GET.greet", "GET /greet?name=Ada", id + ".foreign.example", "", 200,
			"Hello, Ada!"},
		{"443.example.foreign." + id + ".|.GET.leave", "GET /leave", id + ".foreign.example", "", 404,
			"nothing is served there"},
		{"443.example.foreign." + id + ".|.POST.greet", "POST /greet", id + ".foreign.example", "", 405, "only GET and HEAD"},
		{"443.example.foreign.|.GET.greet", "GET /leave", "foreign.example", "", 400, "contradicts"},
		{"443.example.foreign.|.GET.greet", "GET /greet", "native.example", "", 400, "contradicts"},
		{"443.example.foreign.|.GET.greet", "GET /greet", "foreign.example", "Bus-Time-Budget: soon", 400, "no such number"},
		{"443.example.foreign.|.GET.greet", "GET /greet", "foreign.example", "Bus-Time-Budget: 0", 504, "no time is left"},
		{"443.example.foreign.|.GET.greet", "GET /greet", "foreign.example", "Bus-Call-Depth: 65", 508, "too deep"},
		{"443.example.foreign.|.GET.greet", "GET /greet", "foreign.example", "Bus-Actor: a.b.c", 200, "Hello, !"},
	} {
		response := client.call(test.subject, test.request, test.host, test.field)
		if body := read(t, response); response.StatusCode != test.status || !strings.Contains(body, test.body) {
			t.Errorf("%s %s on %s: %d %s", test.request, test.field, test.subject, response.StatusCode, body)
		}
	}
}

// keys are those of foreign.example, in files, and of caller.example.
type keys struct {
	t        *testing.T
	own, set string
	foreign  ed25519.PublicKey
	caller   ed25519.PrivateKey
}

func newKeys(t *testing.T) *keys {
	t.Helper()
	k := &keys{t: t, own: filepath.Join(t.TempDir(), "own.json"), set: filepath.Join(t.TempDir(), "set.json")}
	public, own, _ := ed25519.GenerateKey(rand.Reader)
	callers, caller, _ := ed25519.GenerateKey(rand.Reader)
	k.foreign, k.caller = public, caller
	encode := base64.RawURLEncoding.EncodeToString
	for path, text := range map[string]string{
		k.own: `{"kty":"OKP","crv":"Ed25519","kid":"foreign.example","x":"` + encode(public) + `","d":"` + encode(own.Seed()) + `"}`,
		k.set: `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"caller.example/1","x":"` + encode(callers) + `"}]}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// prove looks at the proof that the foreign service has sent, and sends it some, good and bad.
func (k *keys) prove(client *client, requests *nats.Subscription) {
	k.t.Helper()
	message, err := requests.NextMsgWithContext(k.t.Context())
	if err != nil {
		k.t.Fatal(err)
	}
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(message.Data)))
	if err != nil {
		k.t.Fatal(err)
	}
	proof := strings.Split(request.Header.Get("Bus-Caller-Proof"), ".")
	signature, _ := base64.RawURLEncoding.DecodeString(proof[len(proof)-1])
	if len(proof) != 3 || !ed25519.Verify(k.foreign, []byte(proof[0]+"."+proof[1]), signature) {
		k.t.Errorf("the call is not proven: %s", message.Data)
	}
	claims, _ := base64.RawURLEncoding.DecodeString(proof[1])
	if want := `{"sub":"` + request.Header.Get("Bus-From-Id") + `.foreign.example","aud":"calculator.example","plane":"bus",`; !strings.HasPrefix(string(claims), want) {
		k.t.Errorf("the proof says %s, want %s…", claims, want)
	}
	sign := func(sender, audience string, life int64) string {
		encode, now := base64.RawURLEncoding.EncodeToString, time.Now().Unix()
		text := encode([]byte(`{"alg":"EdDSA","kid":"caller.example/1"}`)) + "." + encode(fmt.Appendf(nil,
			`{"sub":%q,"aud":%q,"plane":"bus","iat":%d,"exp":%d}`, sender, audience, now, now+life))
		return text + "." + encode(ed25519.Sign(k.caller, []byte(text)))
	}
	for proof, status := range map[string]int{
		sign("c1aaaaaaaa.caller.example", "foreign.example", 120):     200,
		sign("c2aaaaaaaa.caller.example", "foreign.example", 120):     401,
		sign("c1aaaaaaaa.caller.example", "other.example", 120):       401,
		sign("c1aaaaaaaa.caller.example", "foreign.example:417", 120): 401,
		sign("c1aaaaaaaa.caller.example", "foreign.example", -60):     401,
		sign("c1aaaaaaaa.caller.example", "foreign.example", 900):     401,
		"a.b.c": 401,
		"":      403,
	} {
		response := client.call("443.example.foreign.|.GET.confide", "GET /confide", "foreign.example",
			"Bus-Caller-Proof: "+proof)
		if body := read(k.t, response); response.StatusCode != status {
			k.t.Errorf("%q: %d %s", proof, response.StatusCode, body)
		}
	}
}

// breakRules sends the foreign service what breaks one rule of strictness each, and expects 400, or no answer if it
// does not name its sender, or says that it is no request.
func breakRules(t *testing.T, client *client) {
	t.Helper()
	const good = "GET /greet HTTP/1.1\r\nHost: foreign.example\r\nContent-Length: 2\r\nBus-From-Host: " +
		"caller.example\r\nBus-From-Id: c1aaaaaaaa\r\n" +
		"Bus-Msg-Id: m1\r\nBus-Op-Code: Req\r\nBus-Call-Depth: 1\r\nBus-Time-Budget: 5000\r\n\r\n{}"
	for _, test := range []struct {
		old, replacement string
		status           int // 0: dropped
	}{
		{"", "", 200},
		{"foreign.example", "FOREIGN.example:443", 200},
		{"/greet", "https://foreign.example/greet", 200},
		{"Host", "hOST", 200},
		{"Bus-Call", "Bus-Actor: \r\nBus-New: 1\r\nBus-New: 2\r\nBus-Call", 200},
		{"foreign.example", "foreign.example:444", 400},
		{"/greet", "https://native.example/greet", 400},
		{"/greet", "/%gg", 400},
		{"/greet", "/greet x", 400},
		{"GET /greet", "/greet", 400},
		{"HTTP/1.1", "HTTP/1.0", 400},
		{"HTTP/1.1\r\n", "HTTP/1.1\n", 400},
		{"Host: foreign.example", "Host: foreign.example\n x", 400},
		{"Host: foreign.example", "Host: foreign.example\r\n folded", 400},
		{"Host:", "Host :", 400},
		{"Host:", "X: a\x00b\r\nHost:", 400},
		{"Host:", "Transfer-Encoding: chunked\r\nHost:", 400},
		{"Host:", "Trailer: X\r\nHost:", 400},
		{"Host:", "Host: other.example\r\nHost:", 400},
		{"Host: foreign.example\r\n", "", 400},
		{"Length: 2", "Length: 3", 400},
		{"Length: 2", "Length: 1", 400},
		{"Length: 2", "Length: +2", 400},
		{"Content-Length: 2\r\n", "", 400},
		{"Content", "Content-Length: 2\r\nContent", 400},
		{"Depth: 1", "Depth: 1\r\nBus-Call-Depth: 70", 400},
		{"Depth: 1", "Depth: 0", 400},
		{"Depth: 1", "Depth:", 400},
		{"5000", "+5", 400},
		{"5000", "9999999999", 400},
		{"5000", "", 400},
		{"Bus-Call", "Bus-Actor:\r\nbus-actor: a.b.c\r\nBus-Call", 400},
		{"Bus-Call", "Bus-Fragment: 1\r\nBus-Call", 400},
		{"Bus-Call", strings.Repeat("X: y\r\n", 250) + "Bus-Call", 400},
		{"Bus-Call", "X: " + strings.Repeat("y", 80<<10) + "\r\nBus-Call", 400},
		{"Bus-Op-Code: Req\r\n", "", 400},
		{"Req", "Ack", 0},
		{"Bus-From-Id", "Bus-From-Id: z1aaaaaaaa\r\nBus-From-Id", 0},
		{"Bus-Msg-Id", "Bus-Msg-Id: m2\r\nBus-Msg-Id", 0},
		{"c1aaaaaaaa", "1", 0},
		{"\r\n\r\n{}", "\r\n", 400},
	} {
		client.sendRaw("bus.443.example.foreign.|.GET.greet", strings.Replace(good, test.old, test.replacement, 1))
		if test.status == 0 {
			client.call("443.example.foreign.|.GET.greet", "GET /greet", "foreign.example", "") // gets the next answers
			continue
		}
		ack, response := parse(t, client.receive()), parse(t, client.receive())
		if body := read(t, response); ack.StatusCode != 202 || response.StatusCode != test.status {
			t.Errorf("%.80q in place of %q: %d, want %d: %s", test.replacement, test.old, response.StatusCode, test.status, body)
		}
	}
}

// openForeign calls the foreign service as a browser does.
func openForeign(t *testing.T, baseURL string) {
	t.Helper()
	service := exampletest.Open(t, http.DefaultTransport, baseURL+"/foreign.example")
	service.Check("GET /greet?name=Ada", "", 200, "Hello, Ada!\n")
	service.Check("GET /greet?name=%E4%B8%96%0D%0ABus-Op-Code:+Ack", "", 200, "Hello, 世\r\nBus-Op-Code: Ack!\n")
	if response, body := service.Send("POST", "/greet", ""); response.StatusCode != 405 ||
		response.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST /greet: %d, Allow: %s, %s", response.StatusCode, response.Header.Get("Allow"), body)
	}
	if response, body := service.Send("GET", "/leave", ""); response.StatusCode != 404 {
		t.Errorf("GET /leave: %d %s", response.StatusCode, body)
	}
	for listed := ""; !strings.Contains(listed, `"/foreign.example:443/greet"`); {
		_, listed = get(t, baseURL+"/portal/openapi.json") // is at most two seconds old
	}
}

// startBroker runs a NATS server until the test ends, and returns its URL.
func startBroker(t *testing.T) string {
	t.Helper()
	broker, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true,
		NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	broker.Start()
	t.Cleanup(broker.Shutdown)
	return broker.ClientURL()
}

// client is caller.example, instance c1aaaaaaaa.
type client struct {
	t       *testing.T
	broker  *nats.Conn
	answers *nats.Subscription
}

func newClient(t *testing.T, brokerURL string) *client {
	t.Helper()
	broker, err := nats.Connect(brokerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	answers, err := broker.SubscribeSync("bus.r.example.caller.c1aaaaaaaa")
	if err != nil {
		t.Fatal(err)
	}
	if err := broker.Flush(); err != nil {
		t.Fatal(err)
	}
	return &client{t, broker, answers}
}

// send publishes a message that is written with the line ends of this file.
func (c *client) send(subject, message string) {
	c.t.Helper()
	c.sendRaw(subject, wired(message))
}

func (c *client) sendRaw(subject, message string) {
	c.t.Helper()
	if err := c.broker.Publish(subject, []byte(message)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) receive() string {
	c.t.Helper()
	message, err := c.answers.NextMsgWithContext(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	return string(message.Data)
}

// call makes a call without a body, and returns the response that comes behind the ack.
func (c *client) call(subject, request, host, field string) *http.Response {
	c.t.Helper()
	id := rand.Text()
	head := []string{
		request + " HTTP/1.1", "Host: " + host, "Bus-From-Host: caller.example", "Bus-From-Id: c1aaaaaaaa",
		"Bus-Msg-Id: " + id, "Bus-Op-Code: Req",
	}
	if field != "" {
		head = append(head, field)
	}
	c.send("bus."+subject, strings.Join(head, "\n")+"\n\n")
	ack, response := parse(c.t, c.receive()), parse(c.t, c.receive())
	if ack.StatusCode != 202 || ack.Header.Get("Bus-Op-Code") != "Ack" || ack.Header.Get("Bus-Msg-Id") != id {
		c.t.Errorf("%s on %s is acked with %d %v", request, subject, ack.StatusCode, ack.Header)
	}
	if response.Header.Get("Bus-Op-Code") != "Res" || response.Header.Get("Bus-Msg-Id") != id {
		c.t.Errorf("%s on %s is answered with %v", request, subject, response.Header)
	}
	return response
}

// wired gives text the line ends of a message, all but what comes behind the empty line.
func wired(text string) string {
	head, body, _ := strings.Cut(text, "\n\n")
	return strings.ReplaceAll(head, "\n", "\r\n") + "\r\n\r\n" + body
}

func parse(t *testing.T, message string) *http.Response {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(strings.NewReader(message)), nil)
	if err != nil {
		t.Fatalf("%v in\n%s", err, message)
	}
	return response
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, read(t, response)
}

func read(t *testing.T, response *http.Response) string {
	t.Helper()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
