package main

import (
	"io"
	"net/http"

	"github.com/busline/busline/bus"
)

// workerPage registers service workers that would control all pages of the origin, and one that controls its own.
const workerPage = `<!DOCTYPE html><link rel="icon" href="data:,"><script>
const registers = (script, scope) => navigator.serviceWorker.register(script, {scope}).then(() => "taken", () => "refused");
Promise.all([registers("/worker.example/worker.js", "/"), registers("/worker.example", "/"), registers("/worker.example:443?x", "/portal/"),
	registers("/worker.example/worker.js", "/worker.example/")]).then((all) => { document.body.innerText = all.join(); });
</script>`

// startWorker starts a service with a page, and a script for all other paths.
func (s *stage) startWorker() error {
	conn, err := s.join("worker.example")
	if err != nil {
		return err
	}
	return conn.Handle(http.MethodGet, "/{path+}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Service-Worker-Allowed", "/")
		if r.URL.Path == "/page" {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, workerPage)
			return
		}
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = io.WriteString(w, "addEventListener('fetch', () => {});")
	}), bus.Undocumented())
}

// working opens the page of a service that wants to control all others.
func working(v *visit) error {
	return do(v.startWorker, v.opens("../worker.example/page"), v.sees("body", "refused,refused,refused,taken"))
}
