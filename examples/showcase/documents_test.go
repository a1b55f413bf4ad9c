package main_test

import (
	"net/http"
	"testing"

	"github.com/busline/busline/examples/internal/exampletest"
)

// TestDocuments holds what comes through the ingress to the documents that come through it too.
func TestDocuments(t *testing.T) {
	t.Parallel()
	show := start(t, "")
	way := &http.Transport{DisableKeepAlives: true}
	open := func(host string) *exampletest.Service { return exampletest.Open(t, way, show.baseURL+"/"+host) }

	calculator := open("calculator.example")
	calculator.Check("POST /add", `{"x":5,"y":6}`, 200, `{"sum":11}`)
	calculator.Check("POST /arithmetic", `{"x":5,"op":"^"}`, 400, "unknown operator")
	calculator.Check("POST /distance", `{"p1":{"x":3},"p2":{"y":4}}`, 200, `{"d":5}`)

	products := open("products.example")
	products.Check("POST /products", `{"name":"Tea","price":4.5}`, 201, `{"id":1}`)
	products.Check("POST /products", `{"name":"Tea","price":-1}`, 422, "price")
	products.Check("GET /products?sortBy=-name", "", 200, `[{"name":"Tea","price":4.5,"tags":[]}]`)
	products.Check("PUT /products/1", `{"name":"Tea","price":5}`, 200, `{}`)
	products.Check("DELETE /products/1", "", 200, `{}`)
	products.Check("GET /products/1", "", 404, "no product")

	payroll := open("payroll.example")
	payroll.Check("POST /headcount", `{}`, 200, `{"count":2}`)

	trouble := open("trouble.example")
	trouble.Check("POST /sleep", `{"ms":1}`, 200, `{"slept":1}`)
	trouble.Check("POST /panic", `{}`, 500, "the log")
	trouble.Check("POST /exit", `{}`, 500, "the log")
	trouble.Check("POST /echo", `"echo"`, 200, `"echo"`)

	messaging := open("messaging.example")
	messaging.Check("GET /cache-load", "", 400, "key")
	messaging.Check("GET /cache-store?key=k", "", 400, "value")

	_, document := ask(t, "GET", show.baseURL+"/portal/openapi.json", "", "")
	exampletest.Valid(t, document)
	_, document = ask(t, "GET", show.baseURL+"/portal/openapi.json?version=3.1", "", "")
	exampletest.ValidNewer(t, document)
}
