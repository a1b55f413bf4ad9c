// Package web serves a page and static files. docs/recipes/web.md explains it.
package web

import (
	"embed"
	"fmt"
	"html"
	"io/fs"
	"net/http"

	"github.com/busline/busline/bus"
)

//go:embed files
var files embed.FS

// Serve puts the site on the bus. It is live when Serve returns.
func Serve(conn *bus.Conn) error {
	static, err := fs.Sub(files, "files")
	if err != nil {
		return err
	}
	if err := conn.Handle("GET", "/hello", http.HandlerFunc(hello)); err != nil {
		return err
	}
	for _, path := range []string{"/", "/{path+}"} {
		if err := conn.Handle("GET", path, http.FileServerFS(static)); err != nil {
			return err
		}
	}
	return nil
}

// hello greets a visitor by name.
func hello(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<p>Hello, %s!</p>\n", html.EscapeString(r.FormValue("name")))
}
