package main_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/busline/busline/portal/ingress"
)

// TestRouter has a client on the bus use the app's chi router: its routes, its parameters, its middlewares.
func TestRouter(t *testing.T) {
	t.Parallel()
	l := open(t)
	caller := l.connect("caller.example")
	for _, step := range []struct {
		operation string
		status    int
		answer    string
	}{
		{"GET /api/books", 200, `"title":"Emma"`}, // no route of chi's: see below
		{"GET /api/books/", 200, `"title":"Emma"`},
		{"GET /api/books/dune", 200, `{"id":"dune","title":"Dune","copies":3}`},
		{"POST /api/books/dune/loans", 200, `{"left":2}`},
		{"GET /api/books/x", 404, `there is no book "x"`},
		{"GET /api/books/a%2Fb", 404, `there is no book "a%2Fb"`}, // chi takes a path as it is spelled
		{"DELETE /api/books/dune", 405, ""},
		{"GET /api/shelves", 404, "404 page not found"},
		{"GET /else", 404, "library.example serves nothing at /else"},
	} {
		method, path, _ := strings.Cut(step.operation, " ")
		response, answer := send(t, caller, method, "https://library.example"+path)
		if response.StatusCode != step.status || !strings.Contains(answer, step.answer) {
			t.Errorf("%s\nanswered %d %s\nexpected %d %s", step.operation, response.StatusCode, answer, step.status, step.answer)
		}
	}
	response, _ := send(t, caller, "GET", "https://library.example/api/books/emma", "X-Request-Id: mine")
	if got := response.Header.Get(middleware.RequestIDHeader); got != "mine" {
		t.Errorf("the middlewares answer with the ID %q", got)
	}
	line := l.log.await(t, "path=/api/books/emma")
	if want := "from=" + caller.ID() + ".caller.example:0 id=mine"; !strings.Contains(line, want) {
		t.Errorf("the app logs %s, want %s", line, want)
	}
}

// TestRouterBehindRouter has a chi router around the ingress, which leads to a chi router on the bus. Neither sees the
// other's route, although both keep it in the context of a request.
func TestRouterBehindRouter(t *testing.T) {
	t.Parallel()
	l := open(t)
	handler, err := ingress.New(l.connect("ingress"))
	if err != nil {
		t.Fatal(err)
	}
	outer := chi.NewRouter()
	outer.Mount("/outer", http.StripPrefix("/outer", handler))
	server := httptest.NewServer(outer)
	t.Cleanup(server.Close)
	way := &http.Transport{DisableKeepAlives: true}
	if _, answer := send(t, way, "GET", server.URL+"/outer/library.example/api/books/emma"); !strings.Contains(answer,
		`"id":"emma"`) {
		t.Errorf("answered %s", answer)
	}
	if response, _ := send(t, way, "GET", server.URL+"/outer/"); response.Header.Get("Location") != "/outer/portal/" {
		t.Errorf("/outer/ leads to %q", response.Header.Get("Location"))
	}
}

// TestCall_ToItself makes the router call itself, within the process.
func TestCall_ToItself(t *testing.T) {
	t.Parallel()
	l := open(t)
	l.Mux().HandleFunc("GET /again/{id}", func(w http.ResponseWriter, r *http.Request) {
		request, err := http.NewRequestWithContext(r.Context(), http.MethodGet,
			"https://library.example/api/books/"+r.PathValue("id"), http.NoBody)
		if err != nil {
			t.Error(err)
			return
		}
		response, err := l.Client().Do(request)
		if err != nil {
			t.Error(err)
			return
		}
		defer response.Body.Close()
		w.WriteHeader(response.StatusCode)
	})
	outer := chi.NewRouter()
	outer.Handle("/again/{id}", l.Mux())
	answer := httptest.NewRecorder()
	outer.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/again/dune", http.NoBody))
	if answer.Code != http.StatusOK {
		t.Errorf("answered %d", answer.Code)
	}
}
