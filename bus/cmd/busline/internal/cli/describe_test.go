package cli_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

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
		e.says(`{"amount":5200}`+"\n", "--token", scheme+e.env["BUS_TOKEN"]+"\n", "call", "payroll.example/salary", "employee=ada")
	}
	e.refuses(1, "401 Unauthorized: a token is required; send it as", "--token", " ", "call", "payroll.example/salary", "employee=ada")
	e.refuses(1, "hint      a service accepts only tokens signed by a key in its BUS_JWKS; busline token makes both for tests", "--token", "Bearer x", "describe", "payroll.example")

	delete(e.env, "BUS_TOKEN")
	one := e.busline(0, "describe", "products.example/products/{id}").stdout
	if strings.Count(one, "products.example/products/{id}\n") != 3 || strings.Contains(one, "instance") {
		t.Errorf("one path:\n%s", one)
	}
	e.says(one, "describe", "https://products.example/products/7")
	e.says(e.busline(0, "describe", "parcels.example:444/internal").stdout, "describe", "parcels.example/internal")
	if got := e.busline(0, "describe", "parcels.example:444").stdout; strings.Contains(got, "/send") || !strings.Contains(got, "port 444,") {
		t.Errorf("one port:\n%s", got)
	}
	if got := e.busline(0, "describe", payroll.ID()+".payroll.example").stdout; !strings.Contains(got, "POST payroll.example/headcount") {
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
	if err != nil || len(described) != 2 || described[1].Address != "https://products.example:443/products" || described[1].Arguments[2].Type != "array of string" {
		t.Errorf("as JSON: %+v, %v", described, err)
	}
	if name := described[1].Arguments[0]; !name.Required || !slices.Equal(name.Demands, []string{"1 to 200 characters", `pattern \S`}) {
		t.Errorf("what is asked of a name, as JSON: %+v", name)
	}
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
	other := e.serve("grades.example", func(conn *bus.Conn) error { return bus.Serve(conn, Stock{}) }, bus.WithVersion("0.9")).ID()
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
	if got := e.busline(0, "describe", other+".grades.example").stdout; strings.Contains(got, "different") || !strings.Contains(got, "/stocks/{sku}") {
		t.Errorf("one of them:\n%s", got)
	}
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
		if title, count := paths(row.arguments...); title != row.title || count != row.paths {
			t.Errorf("%v: %s has %d paths", row.arguments, title, count)
		}
	}
	e.serve("nothing.example", e.serveNothing)
	e.refuses(1, "nothing.example has no document (seen without a token)", "docs", "nothing.example")
	e.refuses(1, "nothing.example has no document (seen without a token)", "describe", "nothing.example")
	e.bus.Connect("caller.example")
	e.refuses(1, "caller.example has no document, as it serves nothing: it only calls, or subscribes to events", "describe", "caller.example")
	if got := e.busline(0, "docs"); !strings.Contains(got.stderr, "nothing.example is left out: nothing.example has no document") {
		t.Errorf("what is left out: %s", got.stderr)
	}
	e.servePortal()
	if title, count := paths(); title != "Services on the bus" || count != 7 {
		t.Errorf("the portal's %s has %d paths", title, count)
	}
	for _, arguments := range [][]string{{"docs"}, {"docs", "portal"}, {"docs", "parcels.example"}, {"docs", "parcels.example:444"}} {
		for address, want := range map[string]string{"https://api.example.com/": "https://api.example.com", "http://a:81/bus": "http://a:81/bus"} {
			text := e.busline(0, append(arguments, "--base-url", address)...).stdout
			document, err := openapi.Parse([]byte(text))
			if err != nil || len(document.Servers) != 1 || document.Servers[0].URL != want || len(document.Paths) == 0 {
				t.Errorf("%v --base-url %s: %v\n%s", arguments, address, err, text)
			}
		}
	}
	if title, _ := paths("portal"); title != "Services on the bus" {
		t.Errorf("the portal's document is %s", title)
	}
	e.refuses(1, "the document of portal does not describe the host itself; busline docs portal prints all of it", "describe", "portal")
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
		"products.example/products":   `[{"type":"array of Product"}]`,
		"trouble.example/panic":       "[]",
		"products.example/products/7": "[]",
	} {
		var described []struct{ Results json.RawMessage }
		text := e.busline(0, "describe", "--json", address).stdout
		if err := json.Unmarshal([]byte(text), &described); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(described, func(one struct{ Results json.RawMessage }) bool { return string(one.Results) == want }) {
			t.Errorf("%s: %s, want %s", address, text, want)
		}
	}
}
