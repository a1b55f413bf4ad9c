package server_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

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

// oracle returns the most specific of the routes that match.
func oracle(routes []string, method, path string) string {
	var matching []string
	for _, route := range routes {
		verb, pattern, _ := strings.Cut(route, " ")
		if (verb == "*" || verb == method || verb == "GET" && method == "HEAD") && matches(strings.Split(pattern, "/"), strings.Split(path, "/")) {
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
		if err := routes.Add(verb, path); err != nil {
			t.Fatal(err)
		}
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
	return t.router.Add([]*server.Endpoint{{Name: mapped.Name, Path: path, Port: subject.PublicPort, Routes: mapped.Routes, Queue: true, Web: true}})
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
