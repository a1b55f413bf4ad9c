package portal_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestWhoAnswered holds that a client learns which instance has answered, and that a service's own word stays.
func TestWhoAnswered(t *testing.T) {
	t.Parallel()
	door := open(t)
	conn := door.bus.Connect("web.example")
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Proxy-Status", "inner; error=x") })
	if err := conn.Handle("GET", "/{rest+}", handler); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/web.example/x", "/" + conn.ID() + ".web.example/x"} {
		got := door.get(path).Header.Values("Proxy-Status")
		want := regexp.MustCompile(`^busline; next-hop="` + conn.ID() + `\.web\.example"; msg-id="[A-Za-z0-9_-]{22,}"$`)
		if len(got) != 2 || got[0] != "inner; error=x" || !want.MatchString(got[1]) {
			t.Errorf("%s: Proxy-Status %q", path, got)
		}
	}
	if got := door.get("/nobody.example/"); got.Header.Get("Proxy-Status") != "" {
		t.Errorf("nobody: Proxy-Status %q", got.Header.Get("Proxy-Status"))
	}
}

// TestAway holds that a person is told in words when the page cannot be had, and a program as ever.
func TestAway(t *testing.T) {
	t.Parallel()
	door := open(t)
	got := door.get("/portal/", "Accept: text/html,application/xhtml+xml,*/*;q=0.8")
	policy := got.Header.Get("Content-Security-Policy")
	if got.StatusCode != 503 || got.Header.Get("Content-Type") != "text/html; charset=utf-8" ||
		!strings.Contains(got.text, "The bus is out of reach") || !strings.HasPrefix(policy, "default-src 'none'") {
		t.Errorf("status %d %v: %s", got.StatusCode, got.Header, got.text)
	}
	for path, accept := range map[string]string{"/portal/": "*/*", "/portal/main.js": "text/html", "/nobody.example/": "text/html"} {
		if told := door.get(path, "Accept: "+accept).problem(t); told.Status != 503 {
			t.Errorf("%s: %+v", path, told)
		}
	}
}
