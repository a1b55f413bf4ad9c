package cli_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/restmap/openapi"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveCalculator()
	e.serveProducts()
	e.serveParcels()
	e.serveStock()
	e.serveTrouble()
	payroll, keys := e.servePayroll()
	for _, host := range []string{"calculator", "products", "parcels", "stock", "trouble", "payroll"} {
		golden(t, "describe-"+host+".txt", e.busline(0, "describe", host+".example").stdout)
	}
	e.env["BUS_TOKEN"] = e.token(keys, `{"roles":["hr"],"level":3}`)
	golden(t, "describe-payroll-hr.txt", e.busline(0, "describe", "payroll.example").stdout)
	e.says(`{"amount":5200}`+"\n", "call", "payroll.example/salary", "employee=ada")
	for _, scheme := range []string{"Bearer ", " bearer  "} {
		e.says(`{"amount":5200}`+"\n", "--token", scheme+e.env["BUS_TOKEN"]+"\n", "call", "payroll.example/salary",
			"employee=ada")
	}
	e.refuses(1, "401 Unauthorized: a token is required; send it as", "--token", " ", "call", "payroll.example/salary",
		"employee=ada")
	e.refuses(1,
		"hint      a service accepts only tokens signed by a key in its BUS_JWKS; busline token makes both for tests",
		"--token", "Bearer x", "describe", "payroll.example")

	delete(e.env, "BUS_TOKEN")
	one := e.busline(0, "describe", "products.example/products/{id}").stdout
	assert.Equal(t, 3, strings.Count(one, "products.example/products/{id}\n"))
	assert.NotContains(t, one, "instance")
	e.says(one, "describe", "https://products.example/products/7")
	e.says(e.busline(0, "describe", "parcels.example:444/internal").stdout, "describe", "parcels.example/internal")
	got := e.busline(0, "describe", "parcels.example:444").stdout
	assert.NotContains(t, got, "/send")
	assert.Contains(t, got, "port 444,")
	if got := e.busline(0, "describe", payroll.ID()+".payroll.example").stdout; !strings.Contains(got,
		"POST payroll.example/headcount") {
		t.Errorf("one instance:\n%s", got)
	}
	var described []struct {
		Method, Address, Path, Signature string
		Token                            bool
		Arguments                        []struct {
			Name, In, Type, Description string
			Required                    bool
			Demands                     []string
		}
	}
	err := json.Unmarshal([]byte(e.busline(0, "describe", "--json", "products.example/products").stdout), &described)
	require.NoError(t, err, "as JSON")
	require.Len(t, described, 2, "as JSON")
	assert.Equal(t, "https://products.example:443/products", described[1].Address, "as JSON")
	assert.Equal(t, "array of string", described[1].Arguments[2].Type, "as JSON")
	name := described[1].Arguments[0]
	assert.True(t, name.Required, "what is asked of a name, as JSON")
	assert.Equal(t, []string{"1 to 200 characters", `pattern \S`}, name.Demands, "what is asked of a name, as JSON")
}

// Grades has a list of choices, of which null is one.
type Grades struct{}

// Rate rates something.
func (Grades) Rate(rating Rating) (grade *string) { return rating.Grade }

// Rating may be without a grade.
type Rating struct {
	Grade *string `json:"grade" jsonschema:"enum=good,enum=bad"`
}

// TestDescribe_Different describes a host that two programs serve.
func TestDescribe_Different(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	grades := func(conn *bus.Conn) error { return bus.Serve(conn, Grades{}) }
	instances := []string{e.serve("grades.example", grades).ID(), e.serve("grades.example", grades).ID()}
	if got := e.busline(0, "describe", "grades.example").stdout; strings.Contains(got, "different") {
		t.Errorf("two of a kind:\n%s", got)
	}
	other := e.serve("grades.example", func(conn *bus.Conn) error { return bus.Serve(conn, Stock{}) },
		bus.WithVersion("0.9")).ID()
	got := e.busline(0, "describe", "grades.example").stdout
	if !strings.HasPrefix(got, "grades.example  versions 0.9 and 1, 3 instances, port 443,") {
		t.Errorf("two versions:\n%s", got)
	}
	slices.Sort(instances)
	same := strings.Join(instances, ", ")
	shown := "\n2 different documents of port 443: %s / %s (busline describe "
	if !strings.Contains(got, fmt.Sprintf(shown, same, other)) && !strings.Contains(got, fmt.Sprintf(shown, other, same)) {
		t.Errorf("two programs:\n%s", got)
	}
	got = e.busline(0, "describe", other+".grades.example").stdout
	assert.NotContains(t, got, "different")
	assert.Contains(t, got, "/stocks/{sku}")
}

func TestDescribe_Null(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serve("grades.example", func(conn *bus.Conn) error { return bus.Serve(conn, Grades{}) })
	if got := e.busline(0, "describe", "grades.example").stdout; !strings.Contains(got, " one of good, bad, null\n") {
		t.Errorf("null among the choices:\n%s", got)
	}
}

func TestDocs(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveCalculator()
	e.serveParcels()
	paths := func(arguments ...string) (title string, paths int) {
		text := e.busline(0, append([]string{"docs"}, arguments...)...).stdout
		document, err := openapi.Parse([]byte(text))
		if err != nil || strings.Count(text, "\n") != 1 {
			t.Fatalf("%v: %v\n%s", arguments, err, text)
		}
		return document.Info.Title, len(document.Paths)
	}
	for _, row := range []struct {
		title     string
		paths     int
		arguments []string
	}{
		{"calculator.example", 3, []string{"calculator.example"}},
		{"calculator.example", 3, []string{"https://calculator.example:443/"}},
		{"parcels.example", 5, []string{"parcels.example"}},
		{"parcels.example", 4, []string{"parcels.example:443"}},
		{"parcels.example", 1, []string{"parcels.example:444"}},
		{"Services on the bus", 7, nil}, // put together, without what is internal
	} {
		t.Run(row.title, func(t *testing.T) {
			title, count := paths(row.arguments...)
			assert.Equal(t, row.title, title, row.arguments)
			assert.Equal(t, row.paths, count, row.arguments)
		})
	}
	e.serve("nothing.example", e.serveNothing)
	e.refuses(1, "nothing.example has no document (seen without a token)", "docs", "nothing.example")
	e.refuses(1, "nothing.example has no document (seen without a token)", "describe", "nothing.example")
	e.bus.Connect("caller.example")
	e.refuses(1, "caller.example has no document, as it serves nothing: it only calls, or subscribes to events",
		"describe", "caller.example")
	if got := e.busline(0, "docs"); !strings.Contains(got.stderr,
		"nothing.example is left out: nothing.example has no document") {
		t.Errorf("what is left out: %s", got.stderr)
	}
	e.servePortal()
	title, count := paths()
	assert.Equal(t, "Services on the bus", title)
	assert.Equal(t, 7, count)
	for _, arguments := range [][]string{{"docs"}, {"docs", "portal"}, {"docs", "parcels.example"},
		{"docs", "parcels.example:444"}} {
		for address, want := range map[string]string{"https://api.example.com/": "https://api.example.com",
			"http://a:81/bus": "http://a:81/bus"} {
			text := e.busline(0, append(arguments, "--base-url", address)...).stdout
			document, err := openapi.Parse([]byte(text))
			require.NoError(t, err, "%v --base-url %s", arguments, address)
			require.Len(t, document.Servers, 1, "%v --base-url %s", arguments, address)
			assert.Equal(t, want, document.Servers[0].URL, "%v --base-url %s", arguments, address)
			assert.NotEmpty(t, document.Paths, "%v --base-url %s", arguments, address)
		}
	}
	if title, _ := paths("portal"); title != "Services on the bus" {
		t.Errorf("the portal's document is %s", title)
	}
	e.refuses(1, "the document of portal does not describe the host itself; busline docs portal prints all of it",
		"describe", "portal")
}

// TestDescribe_Results reads them as programs do.
func TestDescribe_Results(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveCalculator()
	e.serveTrouble()
	e.serve("grades.example", func(conn *bus.Conn) error { return bus.Serve(conn, Grades{}) })
	e.serveProducts()
	for address, want := range map[string]string{
		"calculator.example/add":      `[{"name":"sum","type":"integer"}]`,
		"grades.example/rate":         `[{"name":"grade","type":"string"}]`,
		"products.example/products":   `[{"type":"array of Product_out"}]`,
		"trouble.example/panic":       "[]",
		"products.example/products/7": "[]",
	} {
		var described []struct{ Results json.RawMessage }
		text := e.busline(0, "describe", "--json", address).stdout
		require.NoError(t, json.Unmarshal([]byte(text), &described))
		if !slices.ContainsFunc(described, func(one struct{ Results json.RawMessage }) bool {
			return string(one.Results) == want
		}) {
			t.Errorf("%s: %s, want %s", address, text, want)
		}
	}
}
