package cli_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
	"github.com/busline/busline/examples/payroll/payrollsvc"
	"github.com/busline/busline/examples/products/productsvc"
	"github.com/busline/busline/examples/trouble/troublesvc"
	"github.com/busline/busline/msgsvc"
	"github.com/busline/busline/portal"
)

var update = flag.Bool("update", false, "write golden files, and the sessions in docs/reference/command.md")

// terminal is a bus on which to run the command.
type terminal struct {
	t   *testing.T
	bus *bustest.Bus
	env map[string]string
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	return &terminal{t, bustest.New(t), map[string]string{"BUSLINE_CONFIG": filepath.Join(t.TempDir(), "contexts.json")}}
}

// result is the result of a command line.
type result struct {
	status         int
	stdout, stderr string
}

// environment returns an environment whose output goes to buffers.
func (e *terminal) environment(stdout, stderr *bytes.Buffer) cli.Environment {
	return cli.Environment{
		Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr,
		Getenv:  func(name string) string { return e.env[name] },
		Setenv:  func(name, value string) error { e.env[name] = value; return nil },
		Connect: e.bus.Options(),
	}
}

// run runs a command line; change may modify its environment.
func (e *terminal) run(ctx context.Context, change func(*cli.Environment), arguments ...string) result {
	var stdout, stderr bytes.Buffer
	environment := e.environment(&stdout, &stderr)
	if change != nil {
		change(&environment)
	}
	status := cli.Run(ctx, environment, arguments)
	return result{status, stdout.String(), stderr.String()}
}

// busline runs a command line, and fails the test unless it ends with the given status.
func (e *terminal) busline(status int, arguments ...string) result {
	e.t.Helper()
	got := e.run(e.t.Context(), nil, arguments...)
	if got.status != status {
		e.t.Errorf("busline %s: exit status %d, want %d\n%s%s", strings.Join(arguments, " "), got.status, status,
			got.stdout, got.stderr)
	}
	return got
}

// says runs a command line, and fails the test unless it succeeds and prints exactly this.
func (e *terminal) says(want string, arguments ...string) {
	e.t.Helper()
	got := e.busline(0, arguments...)
	assert.Equal(e.t, want, got.stdout, strings.Join(arguments, " "))
	assert.Empty(e.t, got.stderr, strings.Join(arguments, " "))
}

// refuses runs a command line, and fails the test unless it fails with exactly this on standard error.
func (e *terminal) refuses(status int, want string, arguments ...string) {
	e.t.Helper()
	got := e.busline(status, arguments...)
	assert.Contains(e.t, got.stderr, want, strings.Join(arguments, " "))
	assert.Empty(e.t, got.stdout, strings.Join(arguments, " "))
}

// serve connects a host and serves something on it.
func (e *terminal) serve(host string, serve func(*bus.Conn) error, options ...bus.ConnectOption) *bus.Conn {
	e.t.Helper()
	conn := e.bus.Connect(host, append([]bus.ConnectOption{bus.WithVersion("1")}, options...)...)
	require.NoError(e.t, serve(conn))
	return conn
}

func (e *terminal) serveCalculator() *bus.Conn {
	return e.serve("calculator.example", calculatorsvc.Serve)
}

func (e *terminal) serveTrouble() *bus.Conn { return e.serve("trouble.example", troublesvc.Serve) }

func (e *terminal) serveProducts() *bus.Conn {
	return e.serve("products.example", func(conn *bus.Conn) error {
		store, err := productsvc.OpenStore(e.t.Context(), conn)
		if err != nil {
			return err
		}
		return productsvc.Serve(conn, store)
	})
}

func (e *terminal) servePortal() *bus.Conn {
	return e.serve("portal", func(conn *bus.Conn) error { return portal.Register(conn) })
}

func (e *terminal) serveMessaging() *bus.Conn {
	return e.serve("messaging.example", func(conn *bus.Conn) error {
		service, err := msgsvc.New(e.t.Context(), conn)
		if err == nil {
			e.t.Cleanup(func() { _ = service.Close(context.Background()) })
		}
		return err
	})
}

// servePayroll serves a payroll that trusts the key set in a directory, where busline token creates it.
func (e *terminal) servePayroll() (conn *bus.Conn, keys string) {
	e.t.Helper()
	keys = e.t.TempDir()
	e.token(keys, "{}")
	verifier, err := claims.Open(e.t.Context(), claims.Config{KeySet: filepath.Join(keys, "dev.jwks")})
	require.NoError(e.t, err)
	e.t.Cleanup(verifier.Close)
	return e.serve("payroll.example", payrollsvc.Serve, bus.WithVerifier(verifier)), keys
}

// token returns a token signed with the key in a directory.
func (e *terminal) token(keys, said string) string {
	e.t.Helper()
	output := e.busline(0, "token", "--claims", said, "--key", filepath.Join(keys, "dev.key"), "--jwks",
		filepath.Join(keys, "dev.jwks"))
	return strings.TrimSpace(output.stdout)
}

// golden compares a text with a file, or writes that with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	if got != string(want) {
		t.Errorf("%s is\n%s\nwant\n%s\ngo test -update writes it anew", path, got, want)
	}
}

// Stock is a collection whose items have members that are called like other arguments.
type Stock struct{}

// Item is a thing in stock.
type Item struct {
	SKU    string        `json:"sku" jsonschema:"pattern=^[A-Z]{3}-[0-9]+$"`
	Count  uint16        `json:"count" jsonschema:"maximum=1000"`
	Price  float64       `json:"price" jsonschema:"exclusiveMinimum=-1"`
	Weight float64       `json:"weight" jsonschema:"exclusiveMinimum=-1,exclusiveMaximum=50,multipleOf=0.5"`
	Kind   string        `json:"kind,omitempty" jsonschema:"enum=food,enum=tool,description=Food has to be cooled and leaves first of all that are ordered together"`
	Codes  []string      `json:"codes" jsonschema:"maxItems=3,uniqueItems=true,minLength=2,maxLength=2"`
	Draft  string        `json:"draft"`
	Photo  []byte        `json:"photo"`
	More   [][]byte      `json:"more"`
	Keeps  time.Duration `json:"keeps" jsonschema:"description=nanoseconds that it keeps"`
	Extra  any           `json:"extra"`
}

// Put puts an item.
func (Stock) Put(sku string, draft bool, httpRequestBody Item) (path string, preview bool, item Item) {
	return sku, draft, httpRequestBody
}

// Get returns what it is asked for.
func (Stock) Get(sku string) (path string) { return sku }

// Patch changes what is given.
func (Stock) Patch(sku string, httpRequestBody map[string]any) (path string, changes map[string]any) {
	return sku, httpRequestBody
}

// Count counts things by their names.
func (Stock) Count(httpRequestBody map[string]int) (httpResponseBody map[string]int) {
	return httpRequestBody
}

// Look looks into a shelf.
func (Stock) Look(shelf string) (found string) { return shelf }

// Nothing takes nothing.
func (Stock) Nothing() {}

// Rest is a time to rest.
type Rest struct {
	Span time.Duration `json:"span" jsonschema:"description=nanoseconds"`
	Nano int64         `json:"nano"`
}

// Wait takes times.
func (Stock) Wait(rests []Rest) (total int64) {
	for _, each := range rests {
		total += each.Span.Nanoseconds()
	}
	return total
}

func (e *terminal) serveStock() *bus.Conn {
	e.t.Helper()
	return e.serve("stock.example", func(conn *bus.Conn) error {
		return bus.Serve(conn, Stock{},
			bus.Method("Put", bus.Path("/items/{sku}"), bus.HTTPMethod("PUT")),
			bus.Method("Get", bus.Path("/items/{sku}"), bus.HTTPMethod("GET")),
			bus.Method("Patch", bus.Path("/items/{sku}"), bus.HTTPMethod("PATCH")),
			bus.Method("Look", bus.Path("/shelves/{shelf+}"), bus.HTTPMethod("GET")))
	})
}

// put is what Put answers with these in it.
func put(path, preview, sku, draft string) string {
	return `{"path":"` + path + `","preview":` + preview + `,"item":{"sku":"` + sku +
		`","count":0,"price":0,"weight":0,"codes":[],"draft":"` +
		draft + `","photo":"","more":[],"keeps":0,"extra":null}}` + "\n"
}

// TestSharedNames gives values that a path or a query and the body have one name for.
func TestSharedNames(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveStock()
	const item, items = "stock.example/items/TEA-2", "stock.example/items/{sku}"
	e.says(put("TEA-2", "false", "TEA-2", ""), "call", "-X", "PUT", item, "sku=TEA-2")
	e.says(put("TEA-2", "false", "TEA-3", ""), "call", "-X", "PUT", item, "sku=TEA-3")
	e.says(put("TEA-2", "false", "TEA-2", ""), "call", "-X", "PUT", items, "sku=TEA-2")
	e.says(put("TEA-2", "true", "TEA-3", "x"), "call", "-X", "PUT", item+"?draft=true", "sku=TEA-3", "draft=x")
	e.says(put("TEA-2", "true", "TEA-2", "true"), "call", "-X", "PUT", items, "sku=TEA-2", "draft=true")
	e.says(put("TEA-2", "true", "TEA-3", ""), "call", "-X", "PUT", items, "sku=TEA-2", "draft=true", `{"sku":"TEA-3"}`)
	e.says(`{"path":"TEA-2"}`+"\n", "call", items, "sku=TEA-2")
	e.says(`{"path":"TEA-2","changes":{"sku":"TEA-3"}}`+"\n", "call", "-X", "PATCH", item, "sku=TEA-3")
	e.says(`{"path":"TEA-2","changes":{}}`+"\n", "call", "-X", "PATCH", items, "sku=TEA-2")
	e.refuses(2, "argument sku: its value is already in the path", "call", "-X", "GET", item, "sku=TEA-2")
	e.refuses(2, item+" has the methods PUT, PATCH; choose one with -X", "call", item, "sku=TEA-2")
	e.refuses(2, "argument sku is part of the body, which is already given as a whole", "call", "-X", "PUT", item,
		"sku=TEA-2", "{}")
	e.refuses(2, "argument sku is given more than once", "call", "-X", "PUT", items, "sku=TEA-2", "sku=TEA-3")
	e.refuses(2, "argument draft is a boolean, not \"x\"", "call", "-X", "PUT", item, "sku=TEA-2", "draft=x")
	e.refuses(2, "there is no argument skus: stock.example/items/TEA-2 takes sku, draft, codes, count", "call", "-X",
		"PUT", item, "skus=TEA-2")
}

// TestAnyName gives members to bodies whose documents name none.
func TestAnyName(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveStock()
	e.says(`{"path":"TEA-2","changes":{"a":{"b":{"c":[1]}},"name":"5","number":5}}`+"\n",
		"call", "-X", "PATCH", "stock.example/items/TEA-2", "name=5", "number:=5", "a.b.c:=[1]")
	e.says(`{"cup":3,"tea":2}`+"\n", "call", "stock.example/count", "tea=2", "cup=3")
	e.says(`{}`+"\n", "call", "stock.example/count")
	e.refuses(2, "argument tea is an integer", "call", "stock.example/count", "tea=a")
	e.refuses(2, "there is no argument x: stock.example/nothing takes none", "call", "stock.example/nothing", "x=1")
}

func TestRestOfPath(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveStock()
	for address, shelf := range map[string]string{"shelves/{shelf}": "a/b c/%3F", "shelves/{shelf+}": "a//b",
		"shelves/x": "x", "shelves/x/y": "x/y"} {
		arguments := []string{"call", "stock.example/" + address}
		if strings.Contains(address, "{") {
			arguments = append(arguments, "shelf="+shelf)
		}
		e.says(`{"found":"`+shelf+`"}`+"\n", arguments...)
	}
}

// TestDuration writes times as people do where the document says that an integer has nanoseconds.
func TestDuration(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveStock()
	for want, arguments := range map[string][]string{
		"1500000000":  {"rests.0.span=1.5s"},
		"61000000005": {"rests.0.span=1m", "rests.1.span=1s", "rests.2.span=5"},
		"-2000":       {"rests.0.span=-2µs"},
		"0":           {"rests.0.span=0"},
		"7":           {"rests.0.span:=7"},
	} {
		e.says(`{"total":`+want+"}\n", append([]string{"call", "stock.example/wait"}, arguments...)...)
	}
	e.refuses(2, `argument rests.0.span is a time such as 1.5s or a number of nanoseconds, not "1 day"`, "call",
		"stock.example/wait", "rests.0.span=1 day")
	e.refuses(2, `argument rests.0.nano is an integer, not "1s"`, "call", "stock.example/wait", "rests.0.nano=1s")
}

// TestFiles reads values from files.
func TestFiles(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveStock()
	e.serveParcels()
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bytes, text, number := write("bytes", "[\xff"), write("text", "a b\n"), write("number", "7\n")
	typed := func(environment *cli.Environment) { environment.Stdin = strings.NewReader("[1]") }
	for _, row := range []struct {
		want      string
		arguments []string
	}{
		{`"photo":"W/8="`, []string{"photo=@" + bytes}},
		{`"photo":"WzFd"`, []string{"photo=@-"}},
		{`"photo":"Ww=="`, []string{"photo=Ww=="}},
		{`"more":["W/8=","YSBiCg=="]`, []string{"more=@" + bytes, "more=@" + text}},
		{`"draft":"a b\n"`, []string{"draft=@" + text}},
		{`"draft":"@`, []string{"draft=@@" + text}},
		{`"draft":"a@b"`, []string{"draft=a@b"}},
		{`"count":7`, []string{"count=@" + number}},
		{`"extra":"7\n"`, []string{"extra=@" + number}},
		{`"extra":7}`, []string{"extra:=@" + number}},
		{`"extra":[1]}`, []string{"extra:=@-"}},
	} {
		arguments := append([]string{"call", "-X", "PUT", "stock.example/items/A?draft=1", "sku=TEA-1"}, row.arguments...)
		got := e.run(t.Context(), typed, arguments...)
		assert.Zero(t, got.status, row.arguments)
		assert.Contains(t, got.stdout, row.want, row.arguments)
	}
	e.says("PUT /files/a application/x-www-form-urlencoded x=a+b%0A", "call", "-X", "PUT",
		"parcels.example/files/a", "x=@"+text)
	for want, argument := range map[string]string{
		"argument draft: open " + text + ".not: ":               "draft=@" + text + ".not",
		"; for a text that begins with @, write draft=@@":       "draft=@" + text + ".not",
		"argument draft: @ has to be followed by the path of a": "draft=@",
		"argument draft is a string, but the file is not":       "draft=@" + bytes,
		"extra: the value after := has to be JSON":              "extra:=@" + text,
		"argument count is an integer, not \"a b":               "count=@" + text,
		`argument draft is a string, but "a\xff" is not text`:   "draft=a\xff",
		`argument photo is a string (byte), but "\xff" is not`:  "photo=\xff",
	} {
		e.refuses(2, want, "call", "-X", "PUT", "stock.example/items/A?draft=1", argument)
	}
	e.refuses(2, "standard input is already used for something else", "call", "-X", "PUT", "stock.example/items/A",
		"draft=@-", "photo=@-")
}
