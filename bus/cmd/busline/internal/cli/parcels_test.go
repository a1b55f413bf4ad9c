package cli_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/busline/busline/bus"
)

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
			bus.Method("Find", bus.HTTPMethod("GET")), bus.Method("Secret", bus.Undocumented()), bus.Method("Internal", bus.Port(444)))
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
	e.says(`{"found":"[a b] {x 3} true"}`+"\n", "call", "parcels.example/find", "kinds=a", "kinds=b", "line.item=x", "line.count=3", "fragile=true")
	e.says(`{"count":2}`+"\n", "call", "parcels.example/count", "[1,2]")
	e.says(`{"deeper":4}`+"\n", "call", "parcels.example:444/internal", "depth=3")
	e.says(`{"y":7}`+"\n", "call", "parcels.example/secret", "x=5", `lines:=[{"item":"a"},{}]`)
	e.says(`{"y":7}`+"\n", "call", "-X", "POST", "parcels.example/secret", "x=5", `lines:=[{"item":"a"},{}]`)
	e.refuses(1, "400 Bad Request: x (query): expects an integer", "call", "parcels.example/secret", "x=five")
	for want, arguments := range map[string][]string{
		`argument kind is one of box bag, not "tin"`:                  {"send", "kind=tin"},
		`argument kind is one of box bag, not "5"`:                    {"send", "kind:=5"},
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
	if want := (result{stdout: `{"y":5}` + "\n", stderr: "busline: " + why + "; arguments are sent as text\n"}); got != want {
		t.Errorf("a call prints %+v, want %+v", got, want)
	}
	if got := e.busline(2, "call", "broken.example/secrets"); !strings.HasSuffix(got.stderr, "broken.example serves nothing at /secrets, and shows no other paths (seen without a token)\n") {
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
	e.says("PUT /files/a application/x-www-form-urlencoded x=5&x=6", "call", "-X", "PUT", "parcels.example/files/a", "x=5", "x=6")
	e.says("PUT /files/a application/json [5]", "call", "-X", "PUT", "parcels.example/files/a", "[5]")
	e.says("PUT /files/a text/csv [5", "call", "-X", "PUT", "-H", "Content-Type: text/csv", "parcels.example/files/a", "[5")
	e.says("PUT /files/a text/plain; charset=utf-8 [5", "call", "-X", "PUT", "parcels.example/files/a", "[5")
	e.refuses(1, "418 I'm a teapot: GET /files/bad\n  who      parcels.example ", "call", "parcels.example/files/bad")
	e.refuses(1, `"detail":"GET /files/bad","host":"parcels.example","id":"`, "call", "--json", "parcels.example/files/bad")
	e.refuses(1, `"msgId":"`, "call", "--json", "parcels.example/files/bad")
	if got := e.busline(1, "bench", "-n", "2", "parcels.example/files/bad"); !strings.HasSuffix(got.stdout, "\n418    2  GET /files/bad\n") {
		t.Errorf("a bench of what fails prints\n%s", got.stdout)
	}
	e.refuses(2, "argument path is missing: it is part of the path", "call", "parcels.example/files/{path}")
	e.refuses(2, "the body is given as a whole, but x=… is part of it", "call", "-X", "PUT", "parcels.example/files/a", "x=5", "{}")
}

// serveNothing serves what is in no document.
func (e *terminal) serveNothing(conn *bus.Conn) error {
	return bus.Serve(conn, Parcels{}, bus.Undocumented())
}
