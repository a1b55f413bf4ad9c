package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
)

func TestCall(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveCalculator()
	e.serveProducts()
	e.serveTrouble()
	e.says(`{"sum":11}`+"\n", "call", "https://calculator.example/add", "x=5", "y=6")
	e.says(`{"sum":-1}`+"\n", "call", "CALCULATOR.example:443/add", "x=5", "y=-6")
	e.says(`{"sum":0}`+"\n", "call", "calculator.example/add")
	e.says(`{"sum":11}`+"\n", "call", "calculator.example/add?x=5", "y=6")
	e.says(`{"sum":11}`+"\n", "call", "-X", "get", "calculator.example/add", "x=5", "y=6")
	e.says(`{"sum":11}`+"\n", "call", "calculator.example/add", `{"x":5,"y":6}`)
	e.says(`{"result":12}`+"\n", "call", "calculator.example/arithmetic", "x=6", "op=+", "y=6")
	e.says(`{"d":5}`+"\n", "call", "calculator.example/distance", "p1.x=3", "p1.y=4e0", `p2:={"x":0}`)
	e.says(`{"d":5}`+"\n", "call", "-X", "GET", "calculator.example/distance", "p1.x=3", `p2={"y":4}`)

	e.says(`{"id":1}`+"\n", "call", "products.example/products", "name=Tea", "price=4.5", "tags=hot", "tags=5")
	e.says(`{"id":2}`+"\n", "call", "products.example/products", "name=A", `tags:=["a",""]`)
	e.says(`{"id":3}`+"\n", "call", "products.example/products", "name=B", "tags.1=b", "tags.0=a")
	e.says(`{"name":"Tea","price":4.5,"tags":["hot","5"]}`+"\n", "call", "products.example/products/1")
	e.says(`{}`+"\n", "call", "products.example/products/{id}", "id=1", "name=Cup")
	e.says(`{"name":"Cup","price":0,"tags":[]}`+"\n", "call", "products.example/products/{id}", "id=1")
	e.says(`{}`+"\n", "call", "-X", "DELETE", "products.example/products/{id}", "id=2")
	e.says(`[{"name":"B","price":0,"tags":["a","b"]},{"name":"Cup","price":0,"tags":[]}]`+"\n", "call",
		"products.example/products", "sortBy=name")

	e.says(`{"a":"1","b":1,"c":{"d":["x"]}}`+"\n", "call", "trouble.example/echo", "a=1", "b:= 1 ", `c.d:=[ "x" ]`)
	e.says("[1,2]\n", "call", "trouble.example/echo", "[1, 2]")
	e.says("[1,2]", "call", "--raw", "trouble.example/echo", "[1, 2]")
}

// TestCall_Follow prints a stream, as it comes and at its end.
func TestCall_Follow(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveTrouble()
	e.says("1\n2\n3\n", "call", "--follow", "trouble.example/count", "n=3")
	e.says("1\n2\n3\n", "call", "trouble.example/count", "n=3")
	e.refuses(2, "--follow does not go with --all", "call", "--follow", "--all", "trouble.example/count", "n=3")
}

func TestCall_Body(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveProducts()
	e.serveTrouble()
	file := filepath.Join(t.TempDir(), "product.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"name":"Cup","price":3}`), 0o600))
	e.says(`{"id":1}`+"\n", "call", "products.example/products", "@"+file)
	typed := func(environment *cli.Environment) { environment.Stdin = strings.NewReader(`{"name":"Pot"}`) }
	got := e.run(t.Context(), typed, "call", "-X", "PUT", "products.example/products/1", "-")
	assert.Zero(t, got.status, "from standard input")
	assert.Equal(t, "{}\n", got.stdout, "from standard input")
	e.says(`{"name":"Pot","price":0,"tags":[]}`+"\n", "call", "products.example/products/1")
	e.refuses(1, "415 Unsupported Media Type", "call", "-H", "Content-Type: text/csv", "products.example/products", "[]")
}

func TestCall_Shows(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	calculator := e.serveCalculator()
	e.serveProducts()
	got := e.busline(0, "call", "-i", "calculator.example/add", "x=1").stdout
	for _, want := range []string{"HTTP/1.1 200 OK\nBus-From-Host: calculator.example\nBus-From-Id: " + calculator.ID() +
		"\n", "\nContent-Type: application/json\n\n{\"sum\":1}\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("-i shows\n%swant\n%s", got, want)
		}
	}
	e.refuses(1, "404 Not Found: no product has the id 7: not found\n  who      products.example/products/7 ", "call",
		"products.example/products/7")
	problem := e.busline(1, "call", "--json", "products.example/products/7")
	var line struct {
		Status int
		Host   string
	}
	err := json.Unmarshal([]byte(problem.stderr), &line)
	require.NoError(t, err)
	assert.Equal(t, 404, line.Status)
	assert.Equal(t, "products.example", line.Host)
	assert.Empty(t, problem.stdout)
	raw := e.busline(1, "call", "--raw", "products.example/products/7")
	assert.True(t, strings.HasPrefix(raw.stdout, `{"type":"about:blank"`), raw.stdout)
	assert.Empty(t, raw.stderr)
	included := e.busline(1, "call", "-i", "products.example/products/7")
	assert.True(t, strings.HasPrefix(included.stdout, "HTTP/1.1 404 Not Found\n"), included.stdout)
	assert.Empty(t, included.stderr)
	e.refuses(1, "405 Method Not Allowed: /add is served under GET, HEAD, POST, not DELETE", "call", "-X", "DELETE",
		"calculator.example/add")
	e.says("", "call", "-X", "HEAD", "calculator.example/add", "x=1")
	e.refuses(1, "400 Bad Request\n  argument  x (query): ", "call", "calculator.example/add?x=a&y=b")
}

func TestCall_Instances(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	var ids []string
	for range 3 {
		ids = append(ids, e.serveMessaging().ID())
	}
	slices.Sort(ids)
	lines := strings.Split(strings.TrimSpace(e.busline(0, "call", "--all", "messaging.example/no-queue").stdout), "\n")
	slices.Sort(lines)
	for i, id := range ids {
		require.Len(t, lines, len(ids))
		require.Equal(t, id+".messaging.example  200  NoQueue "+id, lines[i])
		e.says("DefaultQueue "+id+"\n", "call", "--instance", id, "messaging.example/default-queue")
		e.says("DefaultQueue "+id+"\n", "call", id+".messaging.example/default-queue")
	}
	var one struct {
		Host, ID, Body string
		Status         int
	}
	first, _, _ := strings.Cut(e.busline(0, "call", "--all", "--json", "messaging.example/no-queue").stdout, "\n")
	err := json.Unmarshal([]byte(first), &one)
	require.NoError(t, err, first)
	assert.Equal(t, 200, one.Status, first)
	assert.Equal(t, "NoQueue "+one.ID, one.Body, first)
	assert.Equal(t, "messaging.example", one.Host, first)
	if got := e.busline(0, "call", "--all", "-i", "messaging.example/no-queue").stdout; strings.Count(got,
		"HTTP/1.1 200 OK\n") != 3 {
		t.Errorf("-i prints\n%s", got)
	}
	if got := e.busline(0, "call", "--all", "-i", "--raw", "messaging.example/no-queue").stdout; strings.Count(got,
		"HTTP/1.1 200 OK\n") != 3 {
		t.Errorf("-i --raw prints\n%s", got)
	}
	if got := e.busline(0, "call", "--all", "all:888/ping").stdout; strings.Count(got, `"host":"messaging.example"`) != 3 {
		t.Errorf("all answer a ping:\n%s", got)
	}
	got := e.busline(1, "call", "--all", "messaging.example/cache-load")
	assert.Contains(t, got.stdout, "  400  {\"type\"", "--all that fails")
	assert.Contains(t, got.stderr, "1 of 1 answers report a failure", "--all that fails")
	const queued = "busline: messaging.example has 3 instances, of which one answered: a queue gives each call of this " +
		"endpoint to one of them; --instance chooses it\n"
	if got := e.busline(0, "call", "--all", "messaging.example/default-queue"); got.stderr != queued {
		t.Errorf("--all of an endpoint with a queue says %q", got.stderr)
	}
	for _, address := range []string{ids[0] + ".messaging.example/default-queue", "messaging.example/no-queue"} {
		if got := e.busline(0, "call", "--all", address); got.stderr != "" {
			t.Errorf("--all of %s says %q", address, got.stderr)
		}
	}
	e.refuses(3, "messaging.example has no instance nobody; it has "+strings.Join(ids, ", "), "call", "--instance",
		"nobody", "messaging.example/home")
}

// Parcels takes what there is of types.
type Parcels struct{}

// Parcel has a field of each kind.
type Parcel struct {
	Kind    string         `json:"kind" jsonschema:"enum=box,enum=bag"`
	Weight  *float64       `json:"weight"`
	When    time.Time      `json:"when"`
	Labels  map[string]int `json:"labels"`
	Lines   []Line         `json:"lines"`
	Fragile bool           `json:"fragile"`
	Inside  *Parcel        `json:"inside"`
}

// Line is a line of a parcel.
type Line struct {
	Item  string `json:"item"`
	Count int32  `json:"count"`
}

// Send returns what it was sent.
func (Parcels) Send(httpRequestBody Parcel) (httpResponseBody Parcel) { return httpRequestBody }

// Find takes its arguments in the query.
func (Parcels) Find(kinds []string, line Line, fragile bool) (found string) {
	return fmt.Sprint(kinds, line, fragile)
}

// Count takes a list as its body.
func (Parcels) Count(httpRequestBody []int) (count int) { return len(httpRequestBody) }

// Secret is in no document.
func (Parcels) Secret(x int, lines []Line) (y int) { return x + len(lines) }

// Internal is on another port.
func (Parcels) Internal(depth int) (deeper int) { return depth + 1 }

func (e *terminal) serveParcels() *bus.Conn {
	e.t.Helper()
	return e.serve("parcels.example", func(conn *bus.Conn) error {
		echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if r.URL.Path == "/files/bad" {
				w.WriteHeader(http.StatusTeapot)
			}
			fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), body)
		})
		if err := conn.Handle("GET", "/files/{path+}", echo); err != nil {
			return err
		}
		if err := conn.Handle("PUT", "/files/{path+}", echo); err != nil {
			return err
		}
		return bus.Serve(conn, Parcels{},
			bus.Method("Find", bus.HTTPMethod("GET")), bus.Method("Secret", bus.Undocumented()),
			bus.Method("Internal", bus.Port(444)))
	})
}

func TestTypes(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveParcels()
	e.says(`{"kind":"bag","weight":0.5,"when":"2026-11-22T08:00:00Z","labels":{"a":1,"b.c":2},"lines":[{"item":"7","count":7},{"item":"","count":2}],`+
		`"fragile":true,"inside":{"kind":"box","weight":null,"when":"0001-01-01T00:00:00Z","labels":{},"lines":[],"fragile":false,"inside":null}}`+"\n",
		"call", "parcels.example/send", "kind=bag", "weight=0.5", "when=2026-11-22T08:00:00Z", `labels={"a":1,"b.c":2}`,
		"lines.0.item=7", "lines.0.count=7", "lines.1.count=2", "fragile=true", "inside.kind=box", "inside.weight:=null")
	e.says(`{"found":"[a b] {x 3} true"}`+"\n", "call", "parcels.example/find", "kinds=a", "kinds=b", "line.item=x",
		"line.count=3", "fragile=true")
	e.says(`{"count":2}`+"\n", "call", "parcels.example/count", "[1,2]")
	e.says(`{"deeper":4}`+"\n", "call", "parcels.example:444/internal", "depth=3")
	e.says(`{"y":7}`+"\n", "call", "parcels.example/secret", "x=5", `lines:=[{"item":"a"},{}]`)
	e.says(`{"y":7}`+"\n", "call", "-X", "POST", "parcels.example/secret", "x=5", `lines:=[{"item":"a"},{}]`)
	e.refuses(1, "400 Bad Request: x (query): expects an integer", "call", "parcels.example/secret", "x=five")
	for want, arguments := range map[string][]string{
		`argument kind is one of box, bag, not "tin"`:                 {"send", "kind=tin"},
		`argument kind is one of box, bag, not "5"`:                   {"send", "kind:=5"},
		`argument fragile is a boolean, not "yes"`:                    {"send", "fragile=yes"},
		`argument weight is a number, not "heavy"`:                    {"send", "weight=heavy"},
		`argument labels is a map of integer, not "{\"a\":\"x\"}"`:    {"send", `labels={"a":"x"}`},
		"argument labels.a is an integer":                             {"send", "labels.a=x"},
		"argument lines is an array of Line":                          {"send", `lines:=[{"count":"x"}]`},
		"there is no argument inside.kinds: inside has":               {"send", "inside.kinds=box"},
		"takes an array of integer as its body: give it as @file":     {"count"},
		"there is no argument x: POST parcels.example/count takes an": {"count", "x=5"},
		`lines is an array: repeat it, write lines.0=…, or lines:='[`: {"send", "lines.5000=x"},
	} {
		e.refuses(2, want, append([]string{"call", "parcels.example/" + arguments[0]}, arguments[1:]...)...)
	}
}

// TestUnreadableDocument calls a service whose document is not valid, as that of another framework may be.
func TestUnreadableDocument(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serve("broken.example", func(conn *bus.Conn) error { return bus.Serve(conn, Parcels{}) },
		bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				err := next(ctx, call)
				if call.Side == bus.ServerSide && call.Path == "/openapi.json" {
					call.Response.Body = []byte(`{"openapi":"3.1.0"}`)
				}
				return err
			}
		}))
	const why = "the document of broken.example:443 cannot be read: OpenAPI document: its version is not 3.0"
	got := e.busline(0, "call", "-X", "POST", "broken.example/secret", "x=5")
	if want := (result{stdout: `{"y":5}` + "\n",
		stderr: "busline: " + why + "; arguments are sent as text\n"}); got != want {
		t.Errorf("a call prints %+v, want %+v", got, want)
	}
	if got := e.busline(2, "call", "broken.example/secrets"); !strings.HasSuffix(got.stderr,
		"broken.example serves nothing at /secrets, and shows no other paths (seen without a token)\n") {
		t.Errorf("what is not there: %+v", got)
	}
	e.refuses(1, why, "describe", "broken.example")
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveParcels()
	e.says("GET /files/a%20b/c?x=5  ", "call", "parcels.example/files/a%20b/c", "x=5")
	e.says("GET /files/a/b%3F  ", "call", "parcels.example/files/{path}", "path=a/b?")
	e.says("PUT /files/a application/x-www-form-urlencoded x=5&x=6", "call", "-X", "PUT", "parcels.example/files/a",
		"x=5", "x=6")
	e.says("PUT /files/a application/json [5]", "call", "-X", "PUT", "parcels.example/files/a", "[5]")
	e.says("PUT /files/a text/csv [5", "call", "-X", "PUT", "-H", "Content-Type: text/csv",
		"parcels.example/files/a", "[5")
	e.says("PUT /files/a text/plain; charset=utf-8 [5", "call", "-X", "PUT", "parcels.example/files/a", "[5")
	e.refuses(1, "418 I'm a teapot: GET /files/bad\n  who      parcels.example ", "call", "parcels.example/files/bad")
	e.refuses(1, `"detail":"GET /files/bad","host":"parcels.example","id":"`, "call", "--json",
		"parcels.example/files/bad")
	e.refuses(1, `"msgId":"`, "call", "--json", "parcels.example/files/bad")
	if got := e.busline(1, "bench", "-n", "2", "parcels.example/files/bad"); !strings.HasSuffix(got.stdout,
		"\n418    2  GET /files/bad\n") {
		t.Errorf("a bench of what fails prints\n%s", got.stdout)
	}
	e.refuses(2, "argument path is missing: it is part of the path", "call", "parcels.example/files/{path}")
	e.refuses(2, "the body is given as a whole, but x=… is part of it", "call", "-X", "PUT",
		"parcels.example/files/a", "x=5", "{}")
}

// serveNothing serves what is in no document.
func (e *terminal) serveNothing(conn *bus.Conn) error {
	return bus.Serve(conn, Parcels{}, bus.Undocumented())
}

// Dots has names with dots in them.
type Dots struct{}

// Dotted is an object with such members.
type Dotted struct {
	Flat  string `json:"a.b"`
	Inner struct {
		Level int `json:"c.d"`
	} `json:"in.side"`
	A struct {
		C string `json:"c"`
	} `json:"a"`
	Free map[string]any `json:"free"`
}

// Echo returns what it is given.
func (Dots) Echo(what Dotted) (same Dotted) { return what }

// Update takes it as the whole body.
func (Dots) Update(id int, httpRequestBody Dotted) (httpResponseBody Dotted) { return httpRequestBody }

// TestNames_WithDots gives members with dots in their names, beside parts of members, and keys of a map.
func TestNames_WithDots(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serve("dots.example", func(conn *bus.Conn) error { return bus.Serve(conn, Dots{}, bus.Resource("dots")) })
	const same = `{"a.b":"1","in.side":{"c.d":2},"a":{"c":"3"},"free":{"x":{"y":"4"}}}`
	e.says(`{"same":`+same+"}\n", "call", "dots.example/echo", "what.a.b=1", "what.in.side.c.d=2", "what.a.c=3",
		"what.free.x.y=4")
	e.says(same+"\n", "call", "-X", "PUT", "dots.example/dots/7", "a.b=1", "in.side.c.d=2", "a.c=3", "free.x.y=4")
	e.refuses(2, "there is no argument what.in: what has a, a.b, free, in.side", "call", "dots.example/echo",
		"what.in.c.d=2")
	e.refuses(2, "there is no argument what.in.side.c: what.in.side has c.d", "call", "dots.example/echo",
		"what.in.side.c=2")
}
