package server_test

import (
	"cmp"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/restmap"
)

// FuzzRouter compares the router with an oracle that tries every route. A table is written "GET /a/{x}\n…".
func FuzzRouter(f *testing.F) {
	f.Add("GET /a/{x}\nGET /a/b\n* /a/{rest+}\nPOST /{x}/b", "GET", "/a/b")
	f.Add("GET /{x}/b/c\nGET /a/{y}/d\n* /{z+}", "GET", "/a/b/c")
	f.Add("GET /a/{x}\nPOST /a/b\nGET /", "GET", "/a/b")
	f.Add("GET /a//b\nGET /a/{x}/b\nGET /a/{x+}", "HEAD", "/a//b")
	f.Fuzz(func(t *testing.T, table, method, path string) {
		routes := newTable()
		var known []string
		for line := range strings.Lines(table) {
			line = strings.TrimSuffix(line, "\n")
			verb, pattern, _ := strings.Cut(line, " ")
			if verb == "" || strings.Contains(pattern, "%") || routes.Add(verb, pattern) != nil {
				continue // not a route, or a conflict
			}
			known = append(known, line)
		}
		if strings.Contains(path, "%") || !strings.HasPrefix(path, "/") {
			return // bus/subject tests escapes
		}
		got, _ := routes.Find(method, path)
		if want := oracle(known, method, path); got != want {
			t.Errorf("%q answered by %q, want %q, of %q", method+" "+path, got, want, known)
		}
	})
}

// FuzzRouter_ServeMux compares the router with that of net/http, where both take the same routes: net/http refuses some
// tables, cleans paths, and has an empty rest.
func FuzzRouter_ServeMux(f *testing.F) {
	f.Add("GET /a/{x}\nGET /a/b\n* /c/{rest+}\nPOST /{x}/b", "GET", "/a/b")
	f.Add("GET /{x}/b/c\nGET /a/b/{y}\n* /{z+}", "GET", "/a/b/c")
	f.Add("GET /a/{x}\nPOST /a/b\nGET /a/{x}/c", "HEAD", "/a/b")
	f.Fuzz(func(t *testing.T, table, method, target string) {
		routes, mux := newTable(), http.NewServeMux()
		names := make(map[string]string) // of routes, by the pattern of net/http
		for line := range strings.Lines(table) {
			verb, pattern, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			route := strings.TrimSpace(strings.TrimPrefix(verb, "*") + " " + strings.ReplaceAll(pattern, "+}", "...}"))
			if verb == "" || strings.ContainsAny(pattern, "%$") || path.Clean(pattern) != pattern || pattern == "/" ||
				!handles(mux, route) {
				return
			}
			if routes.Add(verb, pattern) != nil {
				return
			}
			names[route] = verb + " " + pattern
		}
		request, err := http.NewRequestWithContext(t.Context(), method, "http://h"+target, http.NoBody)
		if err != nil || request.URL.Path != target || path.Clean(target) != target || target == "/" ||
			method == http.MethodConnect {
			return
		}
		got, _ := routes.Find(method, target)
		if _, pattern := mux.Handler(request); got != names[pattern] {
			t.Errorf("%q answered by %q, and by %q of net/http, of %q", method+" "+target, got, pattern, table)
		}
	})
}

// handles registers a route with net/http, which panics for one that it does not take.
func handles(mux *http.ServeMux, route string) (taken bool) {
	defer func() { taken = recover() == nil }()
	mux.Handle(route, http.NotFoundHandler())
	return true
}

// oracle returns the most specific of the routes that match.
func oracle(routes []string, method, path string) string {
	var matching []string
	for _, route := range routes {
		verb, pattern, _ := strings.Cut(route, " ")
		if (verb == "*" || verb == method || verb == "GET" && method == "HEAD") &&
			matches(strings.Split(pattern, "/"), strings.Split(path, "/")) {
			matching = append(matching, route)
		}
	}
	if len(matching) == 0 {
		return ""
	}
	return slices.MinFunc(matching, func(a, b string) int { return slices.Compare(ranks(a, method), ranks(b, method)) })
}

func matches(pattern, path []string) bool {
	for i, segment := range pattern {
		switch {
		case strings.HasSuffix(segment, "+}"):
			return len(path) > i
		case len(path) <= i:
			return false
		case strings.HasPrefix(segment, "{"):
			if path[i] == "" {
				return false
			}
		case segment != path[i]:
			return false
		}
	}
	return len(pattern) == len(path)
}

// ranks returns how specific a route is: less is more specific.
func ranks(route, method string) []int {
	verb, pattern, _ := strings.Cut(route, " ")
	var ranked []int
	for segment := range strings.SplitSeq(pattern, "/") {
		switch {
		case strings.HasSuffix(segment, "+}"):
			ranked = append(ranked, 2)
		case strings.HasPrefix(segment, "{"):
			ranked = append(ranked, 1)
		default:
			ranked = append(ranked, 0)
		}
	}
	byVerb := map[string]int{method: 0, "GET": 1, "*": 2}[verb]
	return append(ranked, cmp.Or(byVerb, 0))
}

func TestRouter_Methods(t *testing.T) {
	t.Parallel()
	routes := newTable()
	for _, route := range []string{"GET /products/{id}", "PUT /products/{id}", "POST /products/search", "* /any/{rest+}"} {
		verb, path, _ := strings.Cut(route, " ")
		require.NoError(t, routes.Add(verb, path))
	}
	for path, want := range map[string]string{
		"/products/1":      "GET HEAD PUT",
		"/products/search": "GET HEAD POST PUT",
		"/products/":       "",
		"/any/thing":       "DELETE GET HEAD OPTIONS PATCH POST PUT",
		"/nothing":         "",
		"/%zz":             "",
	} {
		if got := strings.Join(routes.Methods(path), " "); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// table is a router of web endpoints on one port.
type table struct{ router *server.Router }

func newTable() *table { return &table{server.NewRouter()} }

// Add adds a route on port 443.
func (t *table) Add(method, path string) error {
	mapped, err := restmap.Handler(method, path)
	if err != nil {
		return err
	}
	return t.router.Add([]*server.Endpoint{{Name: mapped.Name, Path: path, Port: subject.PublicPort, Routes: mapped.Routes,
		Queue: true, Web: true}})
}

// Find returns the name of the route for an address, "" for none, and the values of its parameters.
func (t *table) Find(method, path string) (name string, values []string) {
	found := t.router.Find(subject.Address{Port: subject.PublicPort, Method: method, Path: path})
	if !found.IsFound() {
		return "", nil
	}
	for _, segment := range found.Route.Pattern.Segments() {
		if segment.Name != "" {
			values = append(values, found.Value(segment.Name))
		}
	}
	return found.Endpoint.Name, values
}

// Methods returns the methods of a path.
func (t *table) Methods(path string) []string { return t.router.Methods(subject.PublicPort, path) }

func TestRouter_Add_AllOrNone(t *testing.T) {
	t.Parallel()
	router := server.NewRouter()
	named := func(name, method, path string) *server.Endpoint {
		return newEndpoint(t, method, path, func(e *server.Endpoint) { e.Name = name })
	}
	require.NoError(t, router.Add([]*server.Endpoint{named("A", "GET", "/a/{x}"), named("B", "*", "/b")}))
	added := []*server.Endpoint{named("C", "GET", "/c"), named("D", "GET", "/a/{other}"), named("B", "*", "/b"),
		named("C2", "GET", "/c")}
	const want = `D and A both serve GET /a/{other}, such as /a/1, on port 443: serve it once, or give one of them another path
B is served by this connection already, as any method /b on port 443: serve it once, or give one of them another path
C2 and C both serve GET /c on port 443: serve it once, or give one of them another path`
	err := router.Add(added)
	assert.EqualError(t, err, want)
	find := func(path string) server.Match {
		return router.Find(subject.Address{Port: subject.PublicPort, Method: "GET", Path: path})
	}
	if found := find("/c"); found.IsFound() {
		t.Errorf("%s is added in spite of the error", found.Endpoint.Name)
	}
	for path, name := range map[string]string{"/a/1": "A", "/b": "B"} {
		found := find(path)
		assert.True(t, found.IsFound(), path)
		assert.Equal(t, name, found.Endpoint.Name, path)
	}
	if err := router.Add([]*server.Endpoint{named("D", "GET", "/a/{other+}"), named("E", "POST", "/b"),
		named("F", "PUT", "/a/{x}")}); err != nil {
		t.Errorf("less specific patterns and other methods conflict: %v", err)
	}
}

func TestRouter_Remove(t *testing.T) {
	t.Parallel()
	router := server.NewRouter()
	onPort := func(port int) func(*server.Endpoint) { return func(e *server.Endpoint) { e.Port = port } }
	first, second := newEndpoint(t, "GET", "/a/{x+}", onPort(80)), newEndpoint(t, "POST", "/a/{x+}", onPort(80))
	other, control := newEndpoint(t, "GET", "/a/{x}/b", onPort(44)), newEndpoint(t, "GET", "/c",
		onPort(subject.ControlPort))
	require.NoError(t, router.Add([]*server.Endpoint{first, second, other, control}))
	for _, test := range []struct {
		removed *server.Endpoint
		ports   []int // that are left
	}{
		{control, []int{44, 80}}, {first, []int{44, 80}}, {first, []int{44, 80}}, {second, []int{44}}, {other, []int{}},
	} {
		router.Remove([]*server.Endpoint{test.removed})
		if ports := router.ServedPorts(); !slices.Equal(ports, test.ports) {
			t.Errorf("after the removal of %s: %v, want %v", test.removed.Name, ports, test.ports)
		}
		if test.removed == first && !slices.Equal(router.Methods(80, "/a/1"), []string{"POST"}) {
			t.Errorf("methods: %q", router.Methods(80, "/a/1"))
		}
	}
}

// webEndpoint returns a web endpoint that requires claims, unless they are "".
func webEndpoint(t *testing.T, method, path, claims string) *server.Endpoint {
	t.Helper()
	return newEndpoint(t, method, path, func(e *server.Endpoint) {
		e.Web, e.Secured, e.Claims = true,
			claims != "", claims
	})
}

func TestRouter_BypassesClaims(t *testing.T) {
	t.Parallel()
	router := server.NewRouter()
	method := newEndpoint(t, "GET", "/rpc/{path+}")
	require.NoError(t, router.Add([]*server.Endpoint{
		webEndpoint(t, "GET", "/files/{path+}", ""), webEndpoint(t, "GET", "/files/private/{path+}", "admin"),
		webEndpoint(t, "GET", "/files/private/open/{path+}", ""), webEndpoint(t, "GET", "/files/folder/", "admin"),
		webEndpoint(t, "GET", "/same/{path+}", "admin"), webEndpoint(t, "GET", "/same/deep/{path+}", "admin"),
		method, webEndpoint(t, "GET", "/rpc/private/{path+}", "admin"),
	}))
	for path, want := range map[string]bool{
		"/files/a":                     false,
		"/files/private/x":             false,
		"/files//a":                    false,
		"/files//private/x":            true,
		"/files/./private/x":           true,
		"/files/a/../private/x":        true,
		"/files/%2e/private/x":         true,
		"/files/a%2f..%2fprivate/x":    true,
		"/files//private/open/x":       false,
		"/files/private/open/../x":     true,
		"/files/private//open/x":       false, // to an endpoint with fewer claims
		"/files//folder":               true,
		"/files//folder/":              true,
		"/files/a//files/private/x":    false,
		"/files/a/../../same/x":        true,
		"/same//deep/x":                false, // the same claims
		"/rpc//private/x":              false, // not a web endpoint
		"/files/%2e%2e/files/private/": true,
	} {
		if got := router.BypassesClaims(subject.Address{Port: subject.PublicPort, Method: "GET", Path: path}); got != want {
			t.Errorf("%s: %t, want %t", path, got, want)
		}
	}
}

func TestRouter_OpenMethods(t *testing.T) {
	t.Parallel()
	secured := func(e *server.Endpoint) { e.Secured, e.Claims = true, "admin" }
	for _, test := range []struct {
		name  string
		other *server.Endpoint
		want  []string
	}{
		{"any method, wider", webEndpoint(t, "*", "/a/{path+}", ""), []string{"DELETE", "OPTIONS", "PATCH", "POST", "PUT"}},
		{"one method, wider", webEndpoint(t, "POST", "/a/{x}", ""), []string{"POST"}},
		{"other claims", webEndpoint(t, "POST", "/a/{x}", "user"), []string{"POST"}},
		{"the same claims", webEndpoint(t, "POST", "/a/{x}", "admin"), nil},
		{"the same path", webEndpoint(t, "POST", "/a/b", ""), nil},
		{"GET", webEndpoint(t, "GET", "/a/{x}", ""), nil},
		{"not a web endpoint", newEndpoint(t, "POST", "/a/{x}"), nil},
		{"another path", webEndpoint(t, "POST", "/c/{x}", ""), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			router, e := server.NewRouter(), newEndpoint(t, "GET", "/a/b", secured)
			require.NoError(t, router.Add([]*server.Endpoint{e, test.other}))
			open := router.OpenMethods(e)
			if !slices.Equal(open[test.other], test.want) || test.want == nil && len(open) != 0 {
				t.Errorf("%s: %v, want %q", test.name, open, test.want)
			}
		})
	}
}
