package main_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/busline/busline/examples/internal/exampletest"
)

// TestPrefix holds that the ingress knows where it is mounted, and that the app's mux keeps its other routes.
func TestPrefix(t *testing.T) {
	t.Parallel()
	l := open(t)
	l.calculate()
	for _, step := range []struct {
		path     string
		status   int
		location string
		answer   string // a part of it
	}{
		{"/", 200, "", "The library has 3 books, and lent 0"},
		{"/api/books/dune", 200, "", `{"id":"dune","title":"Dune","copies":3}`},
		{"/portal/", 404, "", "404 page not found"},
		{"/-/ready", 404, "", "404 page not found"},
		{"/library.example/books", 404, "", "404 page not found"},
		{"/bus", 307, "/bus/", ""},
		{"/bus/", 302, "/bus/portal/", ""},
		{"/bus/portal", 302, "/bus/portal/", ""},
		{"/bus/portal/", 200, "", `src="main.js"`},
		{"/bus/portal/main.js", 200, "", "import"},
		{"/bus/-/ready", 200, "", "ready"},
		{"/bus/library.example/book?id=emma", 200, "", `{"book":{"id":"emma","title":"Emma","copies":1}}`},
		{"/bus/library.example/book?id=x", 404, "",
			`"detail":"there is no book \"x\"","instance":"/bus/library.example/book"`},
		{"/bus/library.example/api/books/emma", 200, "", `{"id":"emma","title":"Emma","copies":1}`},
		{"/bus/calculator.example/add?x=5&y=6", 200, "", `{"sum":11}`},
		{"/bus/nobody.example/x", 503, "", "no instance serves nobody.example"},
	} {
		response, answer := l.get(step.path)
		if response.StatusCode != step.status || response.Header.Get("Location") != step.location ||
			!strings.Contains(answer, step.answer) {
			t.Errorf("%s\nanswered %d %s %s\nexpected %d %s %s", step.path,
				response.StatusCode, response.Header.Get("Location"), answer, step.status, step.location, step.answer)
		}
	}
}

// TestDocuments holds that what the documents say can be called where they say, under the prefix.
func TestDocuments(t *testing.T) {
	t.Parallel()
	l := open(t)
	way := &http.Transport{DisableKeepAlives: true}
	service := exampletest.Open(t, way, l.server.URL+"/bus/library.example")
	service.Check("POST /book", `{"id":"dune"}`, 200, `{"book":{"id":"dune","title":"Dune","copies":3}}`)
	service.Check("POST /lend", `{"id":"emma"}`, 200, `{"left":0}`)
	service.Check("POST /lend", `{"id":"emma"}`, 409, "Emma is lent out")

	_, document := l.get("/bus/portal/openapi.json")
	var all struct {
		Servers []struct{ URL string }
		Paths   map[string]any
	}
	if err := json.Unmarshal([]byte(document), &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Servers) != 1 || all.Servers[0].URL != l.server.URL+"/bus" ||
		all.Paths["/library.example:443/lend"] == nil {
		t.Errorf("the document of all services: %s", document)
	}
}
