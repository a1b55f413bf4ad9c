package restmap_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
)

type product struct {
	Name  string   `json:"name"`
	Price float64  `json:"price"`
	Tags  []string `json:"tags"`
}

// ProductService is REST without a noun: the collection has the service's name.
type ProductService struct{}

func (ProductService) Create(httpRequestBody product) (id int, httpStatusCode int)       { return 1, 201 }
func (ProductService) Read(id int) (httpResponseBody product)                            { return }
func (ProductService) Update(id int, httpRequestBody product)                            {}
func (ProductService) Patch(id int, httpRequestBody map[string]any)                      {}
func (ProductService) Delete(id int)                                                     {}
func (ProductService) List(limit int) (httpResponseBody []product)                       { return }
func (ProductService) ListAll(sortBy string, limit, offset int) (httpResponseBody []int) { return }
func (ProductService) Count() (count int)                                                { return }
func (ProductService) Page(w http.ResponseWriter, r *http.Request)                       {}

// Shop has several collections, some of them REST.
type Shop struct{}

func (Shop) CreateOrderLine(httpRequestBody product) (id int)   { return }
func (Shop) GetOrderLine(key string) (httpResponseBody product) { return }
func (Shop) DeleteOrderLine(orderLine int)                      {}
func (Shop) ListOrderLines() (httpResponseBody []product)       { return }
func (Shop) ListAllOrderLines() (lines []product)               { return }
func (Shop) GetPerson(name string) (age int)                    { return }
func (Shop) ListPeople() (people []string)                      { return }
func (Shop) Listen(port int)                                    {}
func (Shop) LoadCityREST(zip string) (city string)              { return }
func (Shop) ReadREST(id int) (httpResponseBody product)         { return }
func (Shop) Read(id int) (result product)                       { return }
func (Shop) Echo(httpRequestBody any) (httpResponseBody any)    { return }
func (Shop) REST()                                              {}

func describe(t testing.TB, impl any, options ...reflectapi.Option) *reflectapi.Service {
	t.Helper()
	service, err := reflectapi.Describe(impl, options...)
	require.NoError(t, err)
	return service
}

// endpointOf returns the first endpoint of a method.
func endpointOf(t testing.TB, impl any, method string, options restmap.Options) *restmap.Endpoint {
	t.Helper()
	endpoints, err := restmap.Map(describe(t, impl), options)
	require.NoError(t, err)
	i := slices.IndexFunc(endpoints, func(e *restmap.Endpoint) bool { return e.Name == method })
	if i < 0 {
		t.Fatalf("no endpoint %s", method)
	}
	return endpoints[i]
}

// routesOf formats each endpoint as "Name Style GET /a, POST /a".
func routesOf(endpoints []*restmap.Endpoint) []string {
	var all []string
	for _, e := range endpoints {
		var routes []string
		for _, route := range e.Routes {
			routes = append(routes, route.String())
		}
		all = append(all, e.Name+" "+e.Style.String()+" "+strings.Join(routes, ", "))
	}
	return all
}

func TestMap(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		service any
		options restmap.Options
		want    []string
	}{
		{"REST under the service's name", ProductService{}, restmap.Options{}, []string{
			"Count RPC GET /count, POST /count",
			"Create REST POST /products",
			"Delete REST DELETE /products/{id}",
			"List REST GET /products",
			"ListAll REST GET /products",
			"Page Web * /page",
			"Patch REST PATCH /products/{id}",
			"Read REST GET /products/{id}",
			"Update REST PUT /products/{id}",
		}},
		{"several collections", Shop{}, restmap.Options{}, []string{
			"CreateOrderLine REST POST /order-lines",
			"DeleteOrderLine REST DELETE /order-lines/{orderLine}",
			"Echo RPC GET /echo, POST /echo",
			"GetOrderLine REST GET /order-lines/{key}",
			"GetPerson RPC GET /get-person, POST /get-person",
			"ListAllOrderLines REST GET /order-lines",
			"ListOrderLines REST GET /order-lines",
			"ListPeople RPC GET /list-people, POST /list-people",
			"Listen RPC GET /listen, POST /listen",
			"LoadCityREST REST GET /cities/{zip}",
			"REST RPC GET /rest, POST /rest",
			"Read RPC GET /read, POST /read",
			"ReadREST REST GET /shops/{id}",
		}},
		{"options", ProductService{}, restmap.Options{
			Resource: "v1/things/",
			Methods: map[string]restmap.MethodOptions{
				"Count":   {Both: true, Path: "/things/count", HTTPMethod: "GET"},
				"Create":  {Path: "/things/new"},
				"Delete":  {HTTPMethod: "POST"},
				"ListAll": {Both: true, Path: "/{limit}/things"},
				"Page":    {Path: "/pages/{path+}", HTTPMethod: "GET"},
			},
		}, []string{
			"Count RPC GET /count, POST /count",
			"Count REST GET /things/count",
			"Create REST POST /things/new",
			"Delete REST POST /v1/things/{id}",
			"List REST GET /v1/things",
			"ListAll RPC GET /list-all, POST /list-all",
			"ListAll REST GET /{limit}/things",
			"Page Web GET /pages/{path+}",
			"Patch REST PATCH /v1/things/{id}",
			"Read REST GET /v1/things/{id}",
			"Update REST PUT /v1/things/{id}",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			endpoints, err := restmap.Map(describe(t, test.service), test.options)
			require.NoError(t, err)
			got := routesOf(endpoints)
			if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("Map =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestMap_RoutesOfRPCByOption(t *testing.T) {
	t.Parallel()
	endpoints, err := restmap.Map(describe(t, Shop{}), restmap.Options{Methods: map[string]restmap.MethodOptions{
		"GetPerson": {Path: "/people/{name}"},
		"Listen":    {HTTPMethod: "*"},
	}})
	require.NoError(t, err)
	got := strings.Join(routesOf(endpoints), "\n")
	for _, want := range []string{"GetPerson RPC GET /people/{name}, POST /people/{name}", "Listen RPC * /listen"} {
		if !strings.Contains(got, want) {
			t.Errorf("Map =\n%s\nwant %s in it", got, want)
		}
	}
}

func TestMap_PostOnly(t *testing.T) {
	t.Parallel()
	endpoints, err := restmap.Map(describe(t, Shop{}),
		restmap.Options{PostOnly: true, Methods: map[string]restmap.MethodOptions{
			"GetPerson": {HTTPMethod: "GET"},
		}})
	require.NoError(t, err)
	for _, endpoint := range endpoints {
		for _, route := range endpoint.Routes {
			if want := endpoint.Style != restmap.RPC || endpoint.Name == "GetPerson"; route.Method != "POST" && !want {
				t.Errorf("%s is served under %s", endpoint.Name, route.Method)
			}
		}
		if endpoint.Name == "GetPerson" && endpoint.Routes[0].Method != "GET" {
			t.Errorf("GetPerson is served under %s", endpoint.Routes[0].Method)
		}
	}
}

// Broken has an error in every method but one.
type Broken struct{}

func (Broken) ArgumentREST(id int)                                                      {}
func (Broken) Both(w http.ResponseWriter, r *http.Request)                              {}
func (Broken) Fine()                                                                    {}
func (Broken) Get() (httpResponseBody product)                                          { return }
func (Broken) InPath(tags []string, httpRequestBody product)                            {}
func (Broken) Misspelt(httprequestbody int) (httpStatuscode int)                        { return }
func (Broken) Misplaced(httpStatusCode int, httpResponseBody int) (httpRequestBody int) { return }
func (Broken) Two(id int) (httpResponseBody product, etag string)                       { return }
func (Broken) Typed() (httpStatusCode string)                                           { return }
func (Broken) Web(w http.ResponseWriter, r *http.Request)                               {}

func TestMap_RefusesEverythingAtOnce(t *testing.T) {
	t.Parallel()
	_, err := restmap.Map(describe(t, Broken{}), restmap.Options{Methods: map[string]restmap.MethodOptions{
		"Both":    {Both: true},
		"InPath":  {Path: "/a/{tags}"},
		"Missing": {Path: "/missing"},
		"Web":     {HTTPMethod: "get"},
	}})
	if err == nil {
		t.Fatal("Map = nil, want errors")
	}
	want := strings.Join([]string{
		`method Missing: has options, but the service has no such method; it has ArgumentREST, Both, Fine, Get, InPath, Misplaced, Misspelt, Two, Typed, Web`,
		`method ArgumentREST: is served as REST, but its name does not start with a CRUD verb: give it a path and an HTTP method`,
		`method Both: a web endpoint is neither RPC nor REST; remove the option that serves it as both`,
		`method Get: needs an argument that identifies the item of /brokens, as in /brokens/{id}; or give it a path`,
		`method InPath: path /a/{tags}: argument tags is of type []string, which does not fit in a path; take a string or a number`,
		`method Misplaced: httpResponseBody is an argument; it has to be a result`,
		`httpStatusCode is an argument; it has to be a result`,
		`httpRequestBody is a result; it has to be an argument`,
		`method Misspelt: httprequestbody has no meaning in this spelling: write httpRequestBody`,
		`httpStatuscode has no meaning in this spelling: write httpStatusCode`,
		`method Two: httpResponseBody is the whole body, so there is no place for the result etag`,
		`method Typed: httpStatusCode is of type string; it has to be an int`,
		`method Web: HTTP method "get": write it in capital letters, or "*" for any`,
	}, "\n")
	if err.Error() != want {
		t.Errorf("Map =\n%v\nwant\n%s", err, want)
	}
}

func TestMap_RefusesPaths(t *testing.T) {
	t.Parallel()
	tests := []struct {
		options restmap.MethodOptions
		want    string
	}{
		{restmap.MethodOptions{Path: "things"}, `method Patch: path "things": does not start with a slash`},
		{restmap.MethodOptions{Path: "/things/{key}"}, `method Patch: path /things/{key}: the method has no argument "key"`},
		{restmap.MethodOptions{Path: "/{httpRequestBody}"},
			`method Patch: path /{httpRequestBody}: httpRequestBody is the body, it cannot be in the path`},
		{restmap.MethodOptions{HTTPMethod: "PU T"},
			`method Patch: HTTP method "PU T": write it in capital letters, or "*" for any`},
	}
	for _, test := range tests {
		_, err := restmap.Map(describe(t, ProductService{}),
			restmap.Options{Methods: map[string]restmap.MethodOptions{"Patch": test.options}})
		assert.EqualError(t, err, test.want, test.options)
	}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]string{"": "* /files/{path+}", "*": "* /files/{path+}",
		"GET": "GET /files/{path+}"} {
		endpoint, err := restmap.Handler(method, "/files/{path+}")
		if err != nil {
			t.Errorf("Handler(%q) = %v", method, err)
			continue
		}
		assert.Equal(t, want, endpoint.Name, "Handler(%q)", method)
		assert.Equal(t, want, endpoint.Routes[0].String(), "Handler(%q)", method)
		assert.Equal(t, restmap.Web, endpoint.Style, "Handler(%q)", method)
		assert.Nil(t, endpoint.Method, "Handler(%q)", method)
	}
	_, err := restmap.Handler("GET", "files")
	assert.EqualError(t, err, `path "files": does not start with a slash`)
	_, err = restmap.Handler("get", "/")
	assert.EqualError(t, err, `HTTP method "get": write it in capital letters, or "*" for any`)
}

func mustHandler(t testing.TB, method, path string) *restmap.Endpoint {
	t.Helper()
	endpoint, err := restmap.Handler(method, path)
	require.NoError(t, err)
	return endpoint
}

func TestKebab(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Add":          "add",
		"DefaultQueue": "default-queue",
		"HTTPStatus":   "http-status",
		"NoQueue":      "no-queue",
		"UserID":       "user-id",
		"UserIDs":      "user-ids",
		"IDsOfUsers":   "ids-of-users",
		"GetAs":        "get-as",
		"A":            "a",
		"ABTest":       "ab-test",
		"Base64Encode": "base64-encode",
		"V2Add":        "v2-add",
		"MD5":          "md5",
		"Do_It":        "do-it",
		"lowerCamel":   "lower-camel",
		"ÄnderePreis":  "ändere-preis",
		"":             "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := restmap.Kebab(name); got != want {
				t.Errorf("Kebab(%q) = %q, want %q", name, got, want)
			}
		})
	}
}
