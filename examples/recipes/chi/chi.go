// Package chi puts an app with a chi router on the bus. docs/recipes/chi.md explains it.
package chi

import (
	"fmt"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/busline/busline/bus"
)

// NewRouter returns the app, which knows nothing of Busline.
func NewRouter() http.Handler {
	router := chi.NewRouter()
	router.Use(middleware.SetHeader("X-App", "library"))
	router.Get("/api/books/{id}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "book %s\n", chi.URLParam(r, "id"))
	})
	return router
}

// Serve puts the app on the bus. It is live when Serve returns.
func Serve(conn *bus.Conn, app http.Handler) error {
	return conn.Handle("*", "/api/{path+}", app, bus.Description("The API of the library."))
}
