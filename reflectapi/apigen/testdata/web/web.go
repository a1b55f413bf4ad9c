// Package web has methods that are handlers.
package web

import (
	"context"
	"net/http"
)

//go:generate go run github.com/busline/busline/reflectapi/apigen -type Site

// Site has pages.
type Site interface {
	// Home is a page.
	Home(w http.ResponseWriter, r *http.Request)
	// Visits counts visits.
	Visits(ctx context.Context) (count int, err error)
	// Upload is a handler with an error.
	Upload(http.ResponseWriter, *http.Request) error
}
