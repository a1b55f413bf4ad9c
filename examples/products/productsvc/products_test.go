package productsvc_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/exampletest"
	"github.com/busline/busline/examples/products/productapi"
	"github.com/busline/busline/examples/products/productsvc"
)

// overBoth runs a test with each kind of store.
func overBoth(t *testing.T, test func(t *testing.T, b *bustest.Bus)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, bustest.New(t))
	})
	t.Run("JetStream", func(t *testing.T) {
		t.Parallel()
		test(t, bustest.New(t, broker.JetStream(t.TempDir())))
	})
}

// start puts an instance on the bus.
func start(t *testing.T, b *bustest.Bus) *bus.Conn {
	t.Helper()
	conn, _ := startKept(t, b)
	return conn
}

// startKept says where the instance keeps products, too.
func startKept(t *testing.T, b *bustest.Bus) (conn *bus.Conn, kept string) {
	t.Helper()
	conn = b.Connect(productapi.Host)
	store, err := productsvc.OpenStore(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	if err := productsvc.Serve(conn, store); err != nil {
		t.Fatal(err)
	}
	return conn, store.String()
}

func open(t *testing.T, b *bustest.Bus) *exampletest.Service {
	t.Helper()
	start(t, b)
	return exampletest.Open(t, b.Connect("caller.example"), "https://products.example")
}

func TestLife(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, b *bustest.Bus) {
		products := open(t, b)
		products.Check("GET /products", "", 200, `[]`)
		products.Check("POST /products", `{"name":"Tea","price":4.5}`, 201, `{"id":1}`)
		products.Check("POST /products", `{"name":"Cup","price":0,"tags":["blue","new"]}`, 201, `{"id":2}`)
		products.Check("GET /products/1", "", 200, `{"name":"Tea","price":4.5,"tags":[]}`)
		products.Check("GET /products/2", "", 200, `{"name":"Cup","price":0,"tags":["blue","new"]}`)
		products.Check("PUT /products/1", `{"name":"Green tea","price":5,"tags":["new"]}`, 200, `{}`)
		products.Check("GET /products/1", "", 200, `{"name":"Green tea","price":5,"tags":["new"]}`)
		products.Check("DELETE /products/1", "", 200, `{}`)
		products.Check("GET /products", "", 200, `[{"name":"Cup","price":0,"tags":["blue","new"]}]`)
		products.Check("POST /products", `{"name":"Pot","price":20}`, 201, `{"id":3}`) // no id is used twice
		created, _ := products.Send(http.MethodPost, "/products", `{"name":"Mug","price":8}`)
		products.Check("GET "+created.Header.Get("Location"), "", 200, `{"name":"Mug","price":8,"tags":[]}`)
	})
}

func TestWhatIsNotThere(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, b *bustest.Bus) {
		products := open(t, b)
		products.Check("POST /products", `{"name":"Tea","price":4.5}`, 201, `{"id":1}`)
		products.Check("DELETE /products/1", "", 200, `{}`)
		products.Check("DELETE /products/1", "", 404, "no product has the id 1")
		products.Check("GET /products/1", "", 404, "no product has the id 1")
		products.Check("PUT /products/1", `{"name":"Tea","price":4.5}`, 404, "no product has the id 1")
		products.Check("GET /products/-1", "", 404, "no product has the id -1")
		products.Check("GET /products/tea", "", 400, "id")
	})
}

func TestWhatIsNoProduct(t *testing.T) {
	t.Parallel()
	products := open(t, bustest.New(t))
	products.Check("POST /products", `{"name":"Tea","price":4.5}`, 201, `{"id":1}`)
	for _, bad := range []struct {
		body   string
		status int
		text   string
	}{
		{`{"price":4.5}`, 422, "name (body): is missing"},
		{`{"name":"","price":-1}`, 422,
			`name (body): expects at least 1 character; name (body): expects text that matches \S; price (body): expects at least 0`},
		{`{"name":"Tea","tags":["green","` + strings.Repeat("x", 201) + `"]}`, 422,
			"tags[1] (body): expects at most 200 characters"},
		{`{"name":" ","price":4.5}`, 422, `name (body): expects text that matches \S`},
		{`{"name":"Tea","price":-0.5}`, 422, "price (body): expects at least 0"},
		{`{"name":"Tea","price":"dear"}`, 400, "price"},
		{`{"name":"Tea",`, 400, "JSON"},
	} {
		products.Check("POST /products", bad.body, bad.status, bad.text)
		products.Check("PUT /products/1", bad.body, bad.status, bad.text)
	}
	products.Check("GET /products/1", "", 200, `{"name":"Tea","price":4.5,"tags":[]}`)
}

func TestList(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, b *bustest.Bus) {
		products := open(t, b)
		tea, cup, pot := `{"name":"Tea","price":4.5,"tags":["new"]}`, `{"name":"Cup","price":7,"tags":[]}`, `{"name":"Pot","price":4.5,"tags":["blue"]}`
		for i, product := range []string{tea, cup, pot} {
			products.Check("POST /products", product, 201, fmt.Sprintf(`{"id":%d}`, i+1))
		}
		list := func(query string, listed ...string) {
			t.Helper()
			products.Check("GET /products"+query, "", 200, "["+join(listed)+"]")
		}
		list("", tea, cup, pot)
		list("?sortBy=name", cup, pot, tea)
		list("?sortBy=-name", tea, pot, cup)
		list("?sortBy=price", tea, pot, cup) // equal ones in the order of their ids
		list("?sortBy=-price", cup, tea, pot)
		list("?sortBy=tags", cup, pot, tea)
		list("?sortBy=price&limit=1&offset=1", pot)
		list("?limit=0&offset=1", cup, pot)
		list("?limit=9223372036854775807&offset=2", pot)
		list("?offset=3")
		list("?offset=9223372036854775807")
		products.Check("GET /products?sortBy=colour", "", 400, `sortBy is "colour"; use name, price or tags`)
		products.Check("GET /products?sortBy=-", "", 400, `sortBy is "-"`)
		products.Check("GET /products?limit=-1", "", 400, "limit is -1")
		products.Check("GET /products?offset=-1", "", 400, "offset is -1")
		products.Check("GET /products?limit=few", "", 400, "limit")
	})
}

// TestForm sends a form, in which a number can be none.
func TestForm(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	start(t, b)
	client := &http.Client{Transport: b.Connect("caller.example")}
	for price, status := range map[string]int{"4.5": 201, "-0.5": 422, "NaN": 400, "Inf": 400, "dear": 400} {
		response, err := client.PostForm("https://products.example/products", url.Values{"name": {"Tea"}, "price": {price}})
		if err != nil {
			t.Fatal(err)
		}
		if response.Body.Close(); response.StatusCode != status {
			t.Errorf("price %s: status %d, want %d", price, response.StatusCode, status)
		}
	}
}

// TestInstances has two instances create products at once, and then delete each of them at once.
func TestInstances(t *testing.T) {
	t.Parallel()
	const products = 20
	b := bustest.New(t, broker.JetStream(t.TempDir()))
	start(t, b)
	start(t, b)
	caller := b.Connect("caller.example")

	ids := make([]int, products)
	together(products, func(i int) {
		var created struct {
			ID int `json:"id"`
		}
		arguments := bus.Args{"name": "Tea", "price": 4.5}
		if err := caller.Call(t.Context(), "https://products.example/products", arguments, &created); err != nil {
			t.Error(err)
		}
		ids[i] = created.ID
	})
	slices.Sort(ids)
	for i, id := range ids {
		if id != i+1 {
			t.Fatalf("created ids %v, want 1 to %d", ids, products)
		}
	}

	var found, missed atomic.Int64
	together(2*products, func(i int) {
		switch err := caller.Call(t.Context(), fmt.Sprintf("DELETE https://products.example/products/%d", i/2+1), nil,
			nil); bus.StatusOf(err) {
		case http.StatusOK:
			found.Add(1)
		case http.StatusNotFound:
			missed.Add(1)
		default:
			t.Error(err)
		}
	})
	if found.Load() != products || missed.Load() != products {
		t.Errorf("%d deletions found a product and %d none, want %d each", found.Load(), missed.Load(), products)
	}
}

// together calls a function with 0 up to n-1, at once.
func together(n int, call func(i int)) {
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { call(i) })
	}
	calls.Wait()
}

func TestKept(t *testing.T) {
	t.Parallel()
	if _, kept := startKept(t, bustest.New(t)); kept != "in memory" {
		t.Errorf("without JetStream: kept %s", kept)
	}
	b := bustest.New(t, broker.JetStream(t.TempDir()))
	if _, kept := startKept(t, b); kept != "in the JetStream bucket "+b.Plane()+"_products" {
		t.Errorf("with JetStream: kept %s", kept)
	}
}

func join(products []string) string { return strings.Join(products, ",") }

func TestNames(t *testing.T) {
	t.Parallel()
	bustest.CheckNames[productapi.Products](t, &productsvc.Products{})
}

func TestAPI(t *testing.T) {
	t.Parallel()
	bustest.LockAPI[productapi.Products](t, "testdata/products.api.json", &productsvc.Products{})
}
