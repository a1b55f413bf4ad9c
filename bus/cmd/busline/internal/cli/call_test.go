package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
	e.says(`[{"name":"B","price":0,"tags":["a","b"]},{"name":"Cup","price":0,"tags":[]}]`+"\n", "call", "products.example/products", "sortBy=name")

	e.says(`{"a":"1","b":1,"c":{"d":["x"]}}`+"\n", "call", "trouble.example/echo", "a=1", "b:= 1 ", `c.d:=[ "x" ]`)
	e.says("[1,2]\n", "call", "trouble.example/echo", "[1, 2]")
	e.says("[1,2]", "call", "--raw", "trouble.example/echo", "[1, 2]")
}

func TestCall_Body(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveProducts()
	e.serveTrouble()
	file := filepath.Join(t.TempDir(), "product.json")
	if err := os.WriteFile(file, []byte(`{"name":"Cup","price":3}`), 0o600); err != nil {
		t.Fatal(err)
	}
	e.says(`{"id":1}`+"\n", "call", "products.example/products", "@"+file)
	typed := func(environment *cli.Environment) { environment.Stdin = strings.NewReader(`{"name":"Pot"}`) }
	if got := e.run(t.Context(), typed, "call", "-X", "PUT", "products.example/products/1", "-"); got.status != 0 || got.stdout != "{}\n" {
		t.Errorf("from standard input: %+v", got)
	}
	e.says(`{"name":"Pot","price":0,"tags":[]}`+"\n", "call", "products.example/products/1")
	e.refuses(1, "415 Unsupported Media Type", "call", "-H", "Content-Type: text/csv", "products.example/products", "[]")
}

func TestCall_Shows(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	calculator := e.serveCalculator()
	e.serveProducts()
	got := e.busline(0, "call", "-i", "calculator.example/add", "x=1").stdout
	for _, want := range []string{"HTTP/1.1 200 OK\nBus-From-Host: calculator.example\nBus-From-Id: " + calculator.ID() + "\n", "\nContent-Type: application/json\n\n{\"sum\":1}\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("-i shows\n%swant\n%s", got, want)
		}
	}
	e.refuses(1, "404 Not Found: no product has the id 7: not found\n  who      products.example/products/7 ", "call", "products.example/products/7")
	problem := e.busline(1, "call", "--json", "products.example/products/7")
	var told struct {
		Status int
		Host   string
	}
	if err := json.Unmarshal([]byte(problem.stderr), &told); err != nil || told.Status != 404 || told.Host != "products.example" || problem.stdout != "" {
		t.Errorf("--json shows %+v, %v", problem, err)
	}
	if got := e.busline(1, "call", "--raw", "products.example/products/7"); !strings.HasPrefix(got.stdout, `{"type":"about:blank"`) || got.stderr != "" {
		t.Errorf("--raw shows %+v", got)
	}
	if got := e.busline(1, "call", "-i", "products.example/products/7"); !strings.HasPrefix(got.stdout, "HTTP/1.1 404 Not Found\n") || got.stderr != "" {
		t.Errorf("-i shows %+v", got)
	}
	e.refuses(1, "405 Method Not Allowed: /add is served under GET, HEAD, POST, not DELETE", "call", "-X", "DELETE", "calculator.example/add")
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
		if len(lines) != len(ids) || lines[i] != id+".messaging.example  200  NoQueue "+id {
			t.Fatalf("--all prints %q", lines)
		}
		e.says("DefaultQueue "+id+"\n", "call", "--instance", id, "messaging.example/default-queue")
		e.says("DefaultQueue "+id+"\n", "call", id+".messaging.example/default-queue")
	}
	var one struct {
		Host, ID, Body string
		Status         int
	}
	first, _, _ := strings.Cut(e.busline(0, "call", "--all", "--json", "messaging.example/no-queue").stdout, "\n")
	if err := json.Unmarshal([]byte(first), &one); err != nil || one.Status != 200 || one.Body != "NoQueue "+one.ID || one.Host != "messaging.example" {
		t.Errorf("--json prints %s, %v", first, err)
	}
	if got := e.busline(0, "call", "--all", "-i", "messaging.example/no-queue").stdout; strings.Count(got, "HTTP/1.1 200 OK\n") != 3 {
		t.Errorf("-i prints\n%s", got)
	}
	if got := e.busline(0, "call", "--all", "-i", "--raw", "messaging.example/no-queue").stdout; strings.Count(got, "HTTP/1.1 200 OK\n") != 3 {
		t.Errorf("-i --raw prints\n%s", got)
	}
	if got := e.busline(0, "call", "--all", "all:888/ping").stdout; strings.Count(got, `"host":"messaging.example"`) != 3 {
		t.Errorf("all answer a ping:\n%s", got)
	}
	if got := e.busline(1, "call", "--all", "messaging.example/cache-load"); !strings.Contains(got.stdout, "  400  {\"type\"") || !strings.Contains(got.stderr, "1 of 1 answers report a failure") {
		t.Errorf("--all that fails: %+v", got)
	}
	const queued = "busline: messaging.example has 3 instances, of which one answered: a queue gives each call of this endpoint to one of them; --instance chooses it\n"
	if got := e.busline(0, "call", "--all", "messaging.example/default-queue"); got.stderr != queued {
		t.Errorf("--all of an endpoint with a queue says %q", got.stderr)
	}
	for _, address := range []string{ids[0] + ".messaging.example/default-queue", "messaging.example/no-queue"} {
		if got := e.busline(0, "call", "--all", address); got.stderr != "" {
			t.Errorf("--all of %s says %q", address, got.stderr)
		}
	}
	e.refuses(3, "messaging.example has no instance nobody; it has "+strings.Join(ids, ", "), "call", "--instance", "nobody", "messaging.example/home")
}
