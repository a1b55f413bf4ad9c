// Package web has methods that are handlers.
package web

import (
	"context"
	"net/http"
)

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Site

// Site has pages.
type Site interface {
	// Home is a page.
	Home(w http.ResponseWriter, r *http.Request)
	// Visits counts visits.
	Visits(ctx context.Context) (count int, err error)
	// Upload is a handler with an error.
	//
	//busline:route POST /upload
	//busline:field title string required maxLength=80 title of the page
	//busline:field photos []image/png,image/jpeg what the page shows
	Upload(http.ResponseWriter, *http.Request) error
}
