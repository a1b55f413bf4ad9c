package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
)

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
	return `{"path":"` + path + `","preview":` + preview + `,"item":{"sku":"` + sku + `","count":0,"price":0,"weight":0,"codes":[],"draft":"` +
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
	e.refuses(2, "argument sku is part of the body, which is already given as a whole", "call", "-X", "PUT", item, "sku=TEA-2", "{}")
	e.refuses(2, "argument sku is given more than once", "call", "-X", "PUT", items, "sku=TEA-2", "sku=TEA-3")
	e.refuses(2, "argument draft is a boolean, not \"x\"", "call", "-X", "PUT", item, "sku=TEA-2", "draft=x")
	e.refuses(2, "there is no argument skus: stock.example/items/TEA-2 takes sku, draft, codes, count", "call", "-X", "PUT", item, "skus=TEA-2")
}

// TestAnyName gives members to bodies of which no names are told.
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
	for address, shelf := range map[string]string{"shelves/{shelf}": "a/b c/%3F", "shelves/{shelf+}": "a//b", "shelves/x": "x", "shelves/x/y": "x/y"} {
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
	e.refuses(2, `argument rests.0.span is a time such as 1.5s or a number of nanoseconds, not "1 day"`, "call", "stock.example/wait", "rests.0.span=1 day")
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
		if got := e.run(t.Context(), typed, arguments...); got.status != 0 || !strings.Contains(got.stdout, row.want) {
			t.Errorf("%v: %+v, want %s", row.arguments, got, row.want)
		}
	}
	e.says("PUT /files/a application/x-www-form-urlencoded x=a+b%0A", "call", "-X", "PUT", "parcels.example/files/a", "x=@"+text)
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
	e.refuses(2, "standard input is already used for something else", "call", "-X", "PUT", "stock.example/items/A", "draft=@-", "photo=@-")
}
