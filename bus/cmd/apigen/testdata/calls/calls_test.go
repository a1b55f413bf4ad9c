// Package calls_test uses what was generated: it serves the interfaces and calls them.
package calls_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/cases/alias"
	"example.com/cases/calculator"
	"example.com/cases/declared"
	"example.com/cases/embedded"
	"example.com/cases/enums"
	"example.com/cases/events"
	"example.com/cases/hygiene"
	"example.com/cases/hygiene/bus"
	"example.com/cases/plain"
	"example.com/cases/products"
	"example.com/cases/routes"
	"example.com/cases/streams"
	"example.com/cases/tableonly"
	"example.com/cases/tagged"
	"example.com/cases/twoclients"
	"example.com/cases/types"
	"example.com/cases/web"

	busline "github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	busevents "github.com/busline/busline/bus/events"
	"github.com/busline/busline/reflectapi"
	"github.com/rs/zerolog"
)

// The signature tables are all that a description needs.
func TestTables(t *testing.T) {
	t.Parallel()
	for _, iface := range []reflect.Type{
		reflect.TypeFor[calculator.Calculator](), reflect.TypeFor[embedded.Store](), reflect.TypeFor[plain.OrderAPI](),
		reflect.TypeFor[products.Products](), reflect.TypeFor[tableonly.Clock](), reflect.TypeFor[tagged.Machine](),
		reflect.TypeFor[twoclients.Orders](), reflect.TypeFor[twoclients.Invoices](), reflect.TypeFor[types.Kinds](), reflect.TypeFor[web.Site](),
		reflect.TypeFor[hygiene.Clash](), reflect.TypeFor[alias.Counting](), reflect.TypeFor[events.Events](),
		reflect.TypeFor[routes.Orders](), reflect.TypeFor[declared.Shop](), reflect.TypeFor[streams.Feed](), reflect.TypeFor[streams.Ticks](),
	} {
		service, err := reflectapi.DescribeAs(iface, reflect.New(implementation(iface)).Elem().Interface(), reflectapi.RequirePortableNames())
		if err != nil {
			t.Errorf("%v: %v", iface, err)
			continue
		}
		for _, m := range service.Methods {
			if err := reflectapi.CheckNames(iface, reflect.New(implementation(iface)).Elem().Interface()); err != nil {
				t.Errorf("%v: %v", iface, err)
			}
			if len(m.Args)+len(m.Results) > 0 && m.Origin != "signature table" {
				t.Errorf("%v.%s has its names from %q", iface, m.Name, m.Origin)
			}
		}
	}
}

// clock has routes that none of its names tell.
type clock struct{ tableonly.Clock }

func (clock) Hour(string) int                    { return 12 }
func (clock) ForHost(host string) string         { return host }
func (clock) WindREST(int) error                 { return nil }
func (clock) Read(id string) (string, error)     { return "read " + id, nil }
func (clock) Get(id string) (string, error)      { return "got " + id, nil }
func (clock) Patch(httpRequestBody string) error { return nil }

func TestRoutesChosenWhenServed(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	server, caller := b.Connect("clock.example"), b.Connect("caller.example")
	err := busline.Serve[tableonly.Clock](server, clock{},
		busline.Method("WindREST", busline.Path("/spring"), busline.HTTPMethod("PUT")),
		busline.Method("Get", busline.Path("/got/{id}")),
		busline.Method("Patch", busline.Path("/all")))
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{"GET https://clock.example/clocks/1": "read 1", "GET https://clock.example/got/1": "got 1"} {
		var got string
		if err := caller.Call(t.Context(), address, nil, &got); err != nil || got != want {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
}

// desk has routes that its interface declares.
type desk struct{}

func (desk) Cancel(_ context.Context, id int, reason string) (bool, error) {
	return id == 1 && reason == "late", nil
}

func (desk) Line(_ context.Context, order string, line int) (string, error) {
	return fmt.Sprint(order, line), nil
}

func (desk) AddLine(_ context.Context, order string, httpRequestBody string) (int, error) {
	if order != "7" || httpRequestBody != "tea" {
		return 0, busline.Errorf(400, "%s %s", order, httpRequestBody)
	}
	return 201, nil
}

func (desk) Create(_ context.Context, httpRequestBody string) (int, error) {
	return len(httpRequestBody), nil
}

func (desk) Anyhow(context.Context, int) error { return nil }

func TestDeclaredRoutes(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	if err := busline.Serve[routes.Orders](b.Connect("orders"), desk{}); err != nil {
		t.Fatal(err)
	}
	ctx, caller := t.Context(), b.Connect("caller.example")
	client := routes.NewClient(caller)
	if cancelled, err := client.Cancel(ctx, 1, "late"); err != nil || !cancelled {
		t.Error(cancelled, err)
	}
	if item, err := client.Line(ctx, "a b", 2); err != nil || item != "a b2" {
		t.Error(item, err)
	}
	if status, err := client.AddLine(ctx, "7", "tea"); err != nil || status != 201 {
		t.Error(status, err)
	}
	if id, err := client.Create(ctx, "coffee"); err != nil || id != 6 {
		t.Error(id, err)
	}
	if err := client.Anyhow(ctx, 1); err != nil {
		t.Error(err)
	}
	for address, status := range map[string]int{
		"POST https://orders/orders/1/cancel?reason=late": 0, "GET https://orders/orders/7/lines/1": 0,
		"GET https://orders/orders/1/cancel": 405, "POST https://orders/cancel": 404, "DELETE https://orders/anyhow?id=1": 0,
	} {
		if err := caller.Call(ctx, address, nil, nil); err != nil && busline.StatusOf(err) != status || err == nil && status != 0 {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// shop answers with what it was given.
type shop struct{ filter, order string }

func (*shop) Create(_ context.Context, item declared.Item) (int, error) {
	if item.Name == "taken" {
		return 0, declared.TakenError(declared.Taken{ID: 7}, "%s has the name %s already", "item 7", item.Name)
	}
	return item.ID + 1, nil
}

func (s *shop) List(_ context.Context, filter string, limit int, order string) ([]string, error) {
	s.filter, s.order = filter, order
	return make([]string, limit), nil
}

func (*shop) Order(_ context.Context, id, amount int) error {
	if id == 0 {
		return declared.OutOfStockError(declared.OutOfStock{Left: 3}, "%d are too many", amount)
	}
	return nil
}

func (*shop) Drop(context.Context) error { return nil }

func TestDeclared(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	served := &shop{}
	must(t, busline.Serve[declared.Shop](b.Connect("shop.example"), served))
	caller := b.Connect("caller.example")
	c := declared.NewClient(caller)

	id, err := c.Create(t.Context(), declared.Item{ID: 5, Name: "tea"})
	check(t, "Create", "1 <nil>", id, err) // the ID of an item is no input
	_, err = c.Create(t.Context(), declared.Item{Name: "taken"})
	taken, ok := declared.AsTaken(err)
	check(t, "Taken", "409 {7} true", busline.StatusOf(err), taken, ok)
	_, ok = declared.AsOutOfStock(err)
	check(t, "of another kind", "false", ok)

	list, err := c.List(t.Context(), "", 0, "")
	check(t, "List", "20 <nil>  name", len(list), err, served.filter, served.order) // the defaults
	list, err = c.List(t.Context(), "tea", 3, "price")
	check(t, "List", "3 <nil> tea price", len(list), err, served.filter, served.order)
	_, err = c.List(t.Context(), "TEA", 101, "age")
	check(t, "List", "422", busline.StatusOf(err))
	for _, want := range []string{`filter (query): expects text that matches ^[a-z ]+$`, "limit (query): expects at most 100", "order (query): expects one of name, price"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}

	check(t, "Order", "<nil>", c.Order(t.Context(), 1, 0))
	err = c.Order(t.Context(), 0, 5)
	left, ok := declared.AsOutOfStock(err)
	check(t, "OutOfStock", "{3} true", left, ok)
	err = caller.Call(t.Context(), "POST https://shop.example:446/goods/{id}/order", busline.Args{"id": 1}, nil)
	check(t, "no amount", "422", busline.StatusOf(err))

	check(t, "Drop", "<nil>", c.Drop(t.Context()))
}

func TestDeclared_Status(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	must(t, busline.Serve[declared.Shop](b.Connect("shop.example"), &shop{}))
	client := &http.Client{Transport: b.Connect("caller.example")}
	for _, test := range []struct{ method, url, body, want string }{
		{"POST", "https://shop.example:445/goods", `{"name":"tea"}`, `201 {"id":1}`},
		{"GET", "https://shop.example:445/goods?limit=", "", "200 [" + strings.TrimSuffix(strings.Repeat(`"",`, 20), ",") + "]"},
		{"GET", "https://shop.example:445/goods?limit=1&filter=", "", `200 [""]`},
		{"DELETE", "https://shop.example:445/drop", "", "204 "},
	} {
		request, err := http.NewRequestWithContext(t.Context(), test.method, test.url, strings.NewReader(test.body))
		must(t, err)
		if test.body != "" {
			request.Header.Set("Content-Type", "application/json")
		}
		response, err := client.Do(request)
		must(t, err)
		body, err := io.ReadAll(response.Body)
		must(t, err)
		must(t, response.Body.Close())
		check(t, test.method+" "+test.url, test.want, response.StatusCode, string(body))
	}
}

// reports collects what is reported to a test.
type reports struct {
	testing.TB
	all []string
}

func (r *reports) Error(arguments ...any) { r.all = append(r.all, fmt.Sprint(arguments...)) }

// wrong is an interceptor that answers an order with what the interface does not declare.
func wrong(next busline.CallFunc) busline.CallFunc {
	return func(ctx context.Context, call *busline.Exchange) error {
		err := next(ctx, call)
		switch call.Request.Header.Get("Answer") {
		case "":
			return err
		case "200":
			call.Response.Status = 200
			return nil
		case "404":
			return busline.Errorf(404, "no item")
		default:
			return busline.ErrorWithDetails(busline.Errorf(409, "gone"), call.Request.Header.Get("Answer"), nil)
		}
	}
}

// A bus for tests refuses a status or a problem that the interface does not declare.
func TestDeclared_Wrong(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ method, url, body, answer, want string }{
		{"POST", "https://shop.example:445/goods", `{"name":"tea"}`, "", ""},
		{"POST", "https://shop.example:445/goods", `{"name":""}`, "", ""},
		{"POST", "https://shop.example:445/goods", `{"name":"tea"}`, "200",
			"Shop.Create (POST /goods on shop.example) answered 200, which does not fit its OpenAPI document: it has no such status, but 201"},
		{"POST", "https://shop.example:445/goods", `{"name":"taken"}`, "", ""},
		{"POST", "https://shop.example:445/goods", `{"name":"tea"}`, "gone", "type: value must be 'taken'"},
		{"POST", "https://shop.example:446/goods/1/order", `{"amount":1}`, "404",
			"type: value must be 'no-item'\nreturn a problem that the method declares for this status, or declare this one with //busline:problem"},
		{"POST", "https://shop.example:446/goods/1/order", `{"amount":1}`, "out-of-stock", "the body: missing property 'left'"},
		{"DELETE", "https://shop.example:445/drop", "", "200", "it has no such status, but 204"},
	} {
		reported := &reports{TB: t}
		b := bustest.New(reported)
		must(t, busline.Serve[declared.Shop](b.Connect("shop.example"), &shop{}, busline.Intercept(wrong)))
		request, err := http.NewRequestWithContext(t.Context(), test.method, test.url, strings.NewReader(test.body))
		must(t, err)
		if test.body != "" {
			request.Header.Set("Content-Type", "application/json")
		}
		request.Header.Set("Answer", test.answer)
		response, err := b.Connect("caller.example").Do(request)
		must(t, err)
		must(t, response.Body.Close())
		all := strings.Join(reported.all, "\n")
		if !strings.Contains(all, test.want) || (all == "") != (test.want == "") {
			t.Errorf("%s %s, %s: %s", test.method, test.url, test.answer, all)
		}
	}
}

// An option must not move a method away from its clients.
func TestDrift(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	for _, test := range []struct {
		name   string
		option busline.ServeOption
		want   string
	}{
		{"path", busline.Method("Add", busline.Path("/plus")), "method Add: an option serves it as GET /plus on port 443, but its generated client calls POST /add on port 443: leave the option out, or declare it in the interface with //busline:route GET /plus and run go generate"},
		{"HTTP method", busline.Method("Add", busline.HTTPMethod("GET")), "method Add: an option serves it as GET /add on port 443, but its generated client calls POST /add on port 443"},
		{"port", busline.Port(444), "method Add: an option serves it as GET /add on port 444, but its generated client calls POST /add on port 443: leave the option out, or declare it in the interface with //busline:port 444 and run go generate"},
		{"port of a method", busline.Method("Sum", busline.Port(444)), "method Sum: an option serves it as GET /sum on port 444"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := busline.Serve[calculator.Calculator](b.Connect("calculator.example"), implementationOf[calculator.Calculator](), test.option)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
	for name, option := range map[string]busline.ServeOption{
		"POST alone": busline.PostOnly(), "the same port": busline.Port(443), "one left out": busline.ExcludeMethods("Add"),
		"both styles": busline.Method("Add", busline.RPCAndREST(), busline.Path("/sums"), busline.HTTPMethod("POST")),
	} {
		if err := busline.Serve[calculator.Calculator](b.Connect("calculator.example"), implementationOf[calculator.Calculator](), option); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func implementationOf[T any]() T {
	value, _ := reflect.New(implementation(reflect.TypeFor[T]())).Elem().Interface().(T)
	return value
}

// A client whose interface is another than that of the service says so.
func TestDrift_ToldToTheCaller(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	conn := b.Connect("calculator.example")
	must(t, busline.Serve(conn, other{}, busline.Method("Add", busline.HTTPMethod("GET"))))
	must(t, busline.Serve(conn, other{}, busline.Port(444), busline.Method("Add", busline.Path("/plus"))))
	c := calculator.NewClient(b.Connect("caller.example"))
	_, err := c.Add(t.Context(), 1, 2)
	want := "/add is served under GET, HEAD, not POST; calculator.Calculator.Add is POST /add for the caller, and the service serves Add as GET /add on port 443 and POST /plus on port 444: let both use one version of the interface"
	if err == nil || !strings.Contains(err.Error(), want) || busline.StatusOf(err) != 405 {
		t.Errorf("%v\nwant %s", err, want)
	}
	err = c.Clear(t.Context())
	want = "calculator.example serves nothing at /clear on port 443; calculator.Calculator.Clear is POST /clear for the caller, and the service serves no method Clear: let both use one version of the interface"
	if err == nil || !strings.Contains(err.Error(), want) || busline.StatusOf(err) != 404 {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// other has another version of Add.
type other struct{}

func (other) Add(x, y int) (sum int) { return x + y }

func TestDeclaredRoutesStay(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	err := busline.Serve[routes.Orders](b.Connect("orders"), desk{}, busline.Method("Cancel", busline.Path("/cancel/{id}")))
	want := "method Cancel: its interface declares POST /orders/{id}/cancel, which its clients call: leave out bus.Path and bus.HTTPMethod"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}

// implementation is a type that embeds the interface.
func implementation(iface reflect.Type) reflect.Type {
	switch iface {
	case reflect.TypeFor[calculator.Calculator]():
		return reflect.TypeFor[struct{ calculator.Calculator }]()
	case reflect.TypeFor[declared.Shop]():
		return reflect.TypeFor[struct{ declared.Shop }]()
	case reflect.TypeFor[embedded.Store]():
		return reflect.TypeFor[struct{ embedded.Store }]()
	case reflect.TypeFor[events.Events]():
		return reflect.TypeFor[struct{ events.Events }]()
	case reflect.TypeFor[plain.OrderAPI]():
		return reflect.TypeFor[struct{ plain.OrderAPI }]()
	case reflect.TypeFor[products.Products]():
		return reflect.TypeFor[struct{ products.Products }]()
	case reflect.TypeFor[routes.Orders]():
		return reflect.TypeFor[struct{ routes.Orders }]()
	case reflect.TypeFor[streams.Feed]():
		return reflect.TypeFor[struct{ streams.Feed }]()
	case reflect.TypeFor[streams.Ticks]():
		return reflect.TypeFor[struct{ streams.Ticks }]()
	case reflect.TypeFor[tableonly.Clock]():
		return reflect.TypeFor[struct{ tableonly.Clock }]()
	case reflect.TypeFor[tagged.Machine]():
		return reflect.TypeFor[struct{ tagged.Machine }]()
	case reflect.TypeFor[twoclients.Orders]():
		return reflect.TypeFor[struct{ twoclients.Orders }]()
	case reflect.TypeFor[twoclients.Invoices]():
		return reflect.TypeFor[struct{ twoclients.Invoices }]()
	case reflect.TypeFor[types.Kinds]():
		return reflect.TypeFor[struct{ types.Kinds }]()
	case reflect.TypeFor[alias.Counting]():
		return reflect.TypeFor[struct{ alias.Counting }]()
	case reflect.TypeFor[web.Site]():
		return reflect.TypeFor[struct{ web.Site }]()
	}
	return reflect.TypeFor[struct{ hygiene.Clash }]()
}

type mailer struct{ told chan string }

func (m mailer) OnOrdered(_ context.Context, number int, at time.Time, items ...events.Item) error {
	m.told <- fmt.Sprint(number, at.Year(), items)
	return nil
}

func (m mailer) OnHTTPFailure(_ context.Context, c, method string) error {
	m.told <- c + " " + method
	return errors.New("not today")
}

func (m mailer) OnNight() error {
	m.told <- "night"
	return nil
}

func TestEvents_AreFired(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	m := mailer{make(chan string, 10)}
	if err := busevents.Subscribe[events.Events](b.Connect("mailer.example", busline.WithLogger(zerolog.Nop())), events.Host, m); err != nil {
		t.Fatal(err)
	}
	source, err := events.NewPublisher(b.Connect(events.Host))
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		source.OnOrdered(t.Context(), 7, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), events.Item{Name: "Tea"}),
		source.OnHTTPFailure(t.Context(), "a", "b"), source.OnNight())
	if err != nil {
		t.Fatal(err)
	}
	got := []string{<-m.told, <-m.told, <-m.told}
	slices.Sort(got)
	if want := []string{"7 2026 [{Tea}]", "a b", "night"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for response, err := range source.Outcomes().OnHTTPFailure(t.Context(), "a", "b") {
		if response.Host != "mailer.example" || busline.StatusOf(err) != 500 {
			t.Errorf("%+v, %v", response, err)
		}
	}
}

type sums struct{ calculator.Calculator }

func (sums) Add(_ context.Context, x, y int) (int, error) { return x + y, nil }

func (sums) Sum(_ context.Context, start int, more ...int) (int, error) {
	for _, number := range more {
		start += number
	}
	return start, nil
}

func (sums) Divide(_ context.Context, x, y int) (int, int, error) {
	if y == 0 {
		return 0, 0, errors.New("division by zero")
	}
	return x / y, x % y, nil
}

func (sums) Remember(_ context.Context, p calculator.Point) error {
	if p.Y != 2 {
		return fmt.Errorf("remembered %v", p)
	}
	return nil
}

func (sums) Clear(context.Context) error { return nil }

func (sums) HTTPStatus(_ context.Context, id, url string) (string, error) { return id + " " + url, nil }

func TestRPC(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	server := b.Connect(calculator.Host)
	must(t, busline.Serve[calculator.Calculator](server, sums{}))
	client := calculator.NewClient(b.Connect("caller.example"))
	for name, c := range map[string]calculator.Calculator{
		"host": client, "instance": client.ForInstance(server.ID()), "other": alias.NewClient(b.Connect("caller.example")).ForHost(calculator.Host),
	} {
		sum, err := c.Sum(t.Context(), 1, 2, 3)
		check(t, name, "6 <nil>", sum, err)
		quotient, remainder, err := c.Divide(t.Context(), 7, 3)
		check(t, name, "2 1 <nil>", quotient, remainder, err)
		check(t, name, "<nil>", c.Remember(t.Context(), calculator.Point{Y: 2}))
		check(t, name, "<nil>", c.Clear(t.Context()))
		text, err := c.HTTPStatus(t.Context(), "7", "/a")
		check(t, name, "7 /a <nil>", text, err)
		_, _, err = c.Divide(t.Context(), 7, 0)
		if failed, ok := errors.AsType[*busline.Error](err); !ok || failed.Status != 500 {
			t.Errorf("%s: division by zero: %v", name, err)
		}
	}
	for response, err := range client.Multicast().Add(t.Context(), 1, 2) {
		check(t, "multicast", server.ID()+" 3 <nil>", response.ID, response.Results.Sum, err)
	}
}

type shelf struct{ products.Products }

func (shelf) Create(_ context.Context, p products.Product) (int, int, error) {
	return len(p.Name), 201, nil
}

func (shelf) Read(_ context.Context, id int) (products.Product, error) {
	return products.Product{Name: "Tea", Price: float64(id)}, nil
}

func (shelf) Update(_ context.Context, id int, p products.Product) error {
	return fmt.Errorf("%d is %s", id, p.Name)
}

func (shelf) Patch(_ context.Context, id int, changes map[string]any) (products.Status, error) {
	return products.Status(200 + id), nil
}

func (shelf) ListAll(_ context.Context, sortBy string, limit, offset int) ([]products.Product, error) {
	return []products.Product{{Name: sortBy, Price: float64(limit + offset)}}, nil
}

func (shelf) ReadOrderLine(_ context.Context, order string, line int) (int, *products.Product, error) {
	return 203, &products.Product{Name: order, Price: float64(line)}, nil
}

func (shelf) Count(context.Context) (int, error) { return 5, nil }

func TestREST(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	must(t, busline.Serve[products.Products](b.Connect("products.example"), shelf{}))
	c := products.NewClient(b.Connect("caller.example"))
	id, status, err := c.Create(t.Context(), products.Product{Name: "Tea"})
	check(t, "Create", "3 201 <nil>", id, status, err)
	product, err := c.Read(t.Context(), 7)
	check(t, "Read", "{Tea 7} <nil>", product, err)
	if err := c.Update(t.Context(), 7, products.Product{Name: "Mate"}); err == nil {
		t.Error("Update: no error")
	}
	patched, err := c.Patch(t.Context(), 5, map[string]any{"name": "Tea"})
	check(t, "Patch", "205 <nil>", patched, err)
	all, err := c.ListAll(t.Context(), "-price", 3, 4)
	check(t, "ListAll", "[{-price 7}] <nil>", all, err)
	status, line, err := c.ReadOrderLine(t.Context(), "a/b c", 4)
	check(t, "ReadOrderLine", "203 {a/b c 4} <nil>", status, *line, err)
	count, err := c.Count(t.Context())
	check(t, "Count", "5 <nil>", count, err)
	for response, err := range c.Multicast().Read(t.Context(), 2) {
		check(t, "multicast", "{Tea 2} <nil>", response.Results, err)
	}
}

type clashes struct{ hygiene.Clash }

func (clashes) Receiver(_ context.Context, c, m int, text string) (int, string, error) {
	return c + m, text, nil
}

func (clashes) Type(_ context.Context, x, upper, ctx int) (string, error) {
	return fmt.Sprint(x, upper, ctx), nil
}

func (clashes) Result(_ context.Context, result, err string) (string, error) {
	return result + err, nil
}

func (clashes) Conn(_ context.Context, arguments int) (int, error) { return arguments, nil }

func (clashes) Host(x, y int) (bus.Line, error) { return bus.Line{Number: x + y}, nil }

func TestHygiene(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	must(t, busline.Serve[hygiene.Clash](b.Connect("clash"), clashes{}))
	c := hygiene.NewClient(b.Connect("caller.example"))
	number, text, err := c.Receiver(t.Context(), 1, 2, "text")
	check(t, "Receiver", "3 text <nil>", number, text, err)
	text, err = c.Type(t.Context(), 1, 2, 3)
	check(t, "Type", "1 2 3 <nil>", text, err)
	text, err = c.Result(t.Context(), "a", "b")
	check(t, "Result", "ab <nil>", text, err)
	number, err = c.Conn(t.Context(), 4)
	check(t, "Conn", "4 <nil>", number, err)
	line, err := c.Host(1, 2)
	check(t, "Host", "{3} <nil>", line, err)
}

type orders struct{}

func (orders) Place(item string, count ...uint8) (int, error) { return len(item) + len(count), nil }
func (orders) Cancel(id, kanji string) error                  { return nil }
func (orders) Names() ([]string, error)                       { return []string{"a"}, nil }
func (orders) Ping() error                                    { return nil }

func TestPlain(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	must(t, busline.Serve[plain.OrderAPI](b.Connect("order-api"), orders{}))
	c := plain.NewClient(b.Connect("caller.example"))
	number, err := c.Place("tea", 1, 2)
	check(t, "Place", "5 <nil>", number, err)
	names, err := c.Names()
	check(t, "Names", "[a] <nil>", names, err)
	check(t, "Cancel", "<nil>", c.Cancel("1", "世"))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, what, want string, values ...any) {
	t.Helper()
	text := fmt.Sprintln(values...)
	if text != want+"\n" {
		t.Errorf("%s: %swant %s", what, text, want)
	}
}

type paints struct{}

func (paints) Mix(_ context.Context, colour, base, second enums.Colour, sizes []enums.Size) ([]enums.Colour, error) {
	return slices.DeleteFunc([]enums.Colour{colour, base, second}, func(c enums.Colour) bool { return c == "" }), nil
}

// Constants of a type are its only values, and a client leaves out an optional one that it does not give.
func TestEnums(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect("paints.example")
	if err := busline.Serve[enums.Paints](conn, paints{}); err != nil {
		t.Fatal(err)
	}
	client := enums.NewClient(conn)
	mixed, err := client.Mix(t.Context(), enums.Red, "", "", []enums.Size{enums.Small, enums.Large})
	if want := []enums.Colour{enums.Red, enums.Blue}; err != nil || !slices.Equal(mixed, want) {
		t.Errorf("got %v, %v", mixed, err)
	}
	if _, err := client.Mix(t.Context(), "green", "green", enums.Red, nil); err != nil {
		t.Error(err)
	}
	for _, call := range []func() ([]enums.Colour, error){
		func() ([]enums.Colour, error) { return client.Mix(t.Context(), "yellow", "", "", nil) },
		func() ([]enums.Colour, error) { return client.Mix(t.Context(), "red", "yellow", "", nil) },
		func() ([]enums.Colour, error) { return client.Mix(t.Context(), "red", "", "", []enums.Size{3}) },
	} {
		if _, err := call(); busline.StatusOf(err) != http.StatusUnprocessableEntity && busline.StatusOf(err) != http.StatusBadRequest {
			t.Errorf("got %v", err)
		}
	}
}
