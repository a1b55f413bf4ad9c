package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

// newRouter returns the API of the app, which knows nothing of Busline.
func newRouter(logger *slog.Logger, shelf *Shelf, fines fines) http.Handler {
	routes := routes{logger, shelf, fines}
	router := chi.NewRouter()
	router.Use(middleware.RequestID, routes.access)
	router.Route("/api/books", func(books chi.Router) {
		books.Get("/", routes.list)
		books.Get("/{id}", routes.read)
		books.Post("/{id}/loans", routes.lend)
		books.Get("/{id}/fine", routes.fine)
	})
	return router
}

type routes struct {
	logger *slog.Logger
	shelf  *Shelf
	fines  fines
}

// access is a middleware: it logs each request under its ID, and returns that ID to the client.
func (s routes) access(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := middleware.GetReqID(r.Context())
		w.Header().Set(middleware.RequestIDHeader, id)
		s.logger.Info("request", "method", r.Method, "path", r.URL.Path, "from", r.RemoteAddr, "id", id)
		next.ServeHTTP(w, r)
	})
}

func (s routes) list(w http.ResponseWriter, _ *http.Request) { s.answer(w, s.shelf.Books(), nil) }

func (s routes) read(w http.ResponseWriter, r *http.Request) {
	book, err := s.shelf.Book(chi.URLParam(r, "id"))
	s.answer(w, book, err)
}

func (s routes) lend(w http.ResponseWriter, r *http.Request) {
	left, err := s.shelf.Lend(chi.URLParam(r, "id"))
	s.answer(w, map[string]int{"left": left}, err)
}

func (s routes) fine(w http.ResponseWriter, r *http.Request) {
	if _, err := s.shelf.Book(chi.URLParam(r, "id")); err != nil {
		s.answer(w, nil, err)
		return
	}
	days, err := strconv.Atoi(r.FormValue("days"))
	if err != nil {
		s.answer(w, nil, refusal{http.StatusBadRequest, "days has to be a number"})
		return
	}
	cents, err := s.fines.of(r.Context(), days)
	s.answer(w, map[string]int{"cents": cents}, err)
}

// answer sends a result as JSON, or an error as text.
func (s routes) answer(w http.ResponseWriter, result any, err error) {
	if err != nil {
		refused := refusal{http.StatusInternalServerError, "the reason is in the log"}
		if !errors.As(err, &refused) {
			s.logger.Error("request", "error", err)
		}
		http.Error(w, refused.text, refused.status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(result); err != nil {
		s.logger.Warn("answer", "error", err)
	}
}
