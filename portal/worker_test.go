package portal_test

import (
	"net/http"
	"testing"
)

func TestWorkers(t *testing.T) {
	t.Parallel()
	door := open(t)
	door.serve("web.example", 443, echo)
	const asked = "Service-Worker: script"
	for _, path := range []string{"/web.example/", "/web.example/worker.js", "/web.example:443/a/worker.js"} {
		if got := door.get(path, asked); got.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d: %s", path, got.StatusCode, got.text)
		}
	}
	for _, path := range []string{"/web.example", "/WEB.example:443", "/web.example?a/b"} {
		if got := door.get(path); got.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d: %s", path, got.StatusCode, got.text)
		}
		if told := door.get(path, asked).problem(t); told.Status != http.StatusForbidden {
			t.Errorf("%s: %+v", path, told)
		}
	}
	const want = "a service worker at /web.example would control the pages of all services; give it a path below /web.example/"
	if told := door.get("/web.example", asked).problem(t); told.Detail != want || told.Executed != "no" {
		t.Errorf("%+v, want %s, executed no", told, want)
	}
}
