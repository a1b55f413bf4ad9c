package portal_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/busline/busline/portal"
)

// files returns the content of the page's files by name.
func files(t *testing.T) map[string]string {
	t.Helper()
	read := make(map[string]string)
	entries, err := fs.ReadDir(portal.PageFiles, "page")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		content, err := fs.ReadFile(portal.PageFiles, "page/"+entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		read[entry.Name()] = string(content)
	}
	return read
}

func TestPage(t *testing.T) {
	t.Parallel()
	door := open(t)
	door.register()
	types := map[string]string{
		".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
		".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}
	for name, content := range files(t) {
		path := "/portal/" + name
		if name == "index.html" {
			path = "/portal/"
		}
		got := door.get(path)
		if got.StatusCode != http.StatusOK || got.text != content {
			t.Errorf("%s: status %d, %d bytes, want 200 and %d", path, got.StatusCode, len(got.text), len(content))
		}
		if kind := got.Header.Get("Content-Type"); kind != types[name[strings.LastIndexByte(name, '.'):]] {
			t.Errorf("%s: Content-Type %q", path, kind)
		}
		again := door.get(path, "If-None-Match: "+got.Header.Get("ETag"))
		if again.StatusCode != http.StatusNotModified || again.text != "" {
			t.Errorf("%s: asked again: status %d, %d bytes", path, again.StatusCode, len(again.text))
		}
		checkSecurity(t, path, got.Header)
	}
	if got := door.get("/portal/main.js", "Accept-Encoding: gzip"); got.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("main.js is sent as %v", got.Header)
	}
	checkSecurity(t, "openapi.json", door.get("/portal/openapi.json").Header)
}

func checkSecurity(t *testing.T, path string, header http.Header) {
	t.Helper()
	policy := header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'self';") || strings.Contains(policy, "unsafe") {
		t.Errorf("%s: Content-Security-Policy %q", path, policy)
	}
	if got := header.Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("%s: X-Content-Type-Options %q", path, got)
	}
}

func TestNotOfThePage(t *testing.T) {
	t.Parallel()
	door := open(t)
	door.register()
	for _, path := range []string{
		"/portal/index.html", "/portal/page/main.js", "/portal/../main.js", "/portal/..%2fmain.js", "/portal/%2e%2e%5cmain.js",
		"/portal/%00", "/portal//etc/passwd", "/portal/main.js/", "/portal/page.go",
	} {
		if got := door.get(path); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d: %.80s", path, got.StatusCode, got.text)
		}
	}
	got := door.send("POST /portal/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", "POST")
	if got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: status %d, Allow %q", got.StatusCode, got.Header.Get("Allow"))
	}
}

func TestPage_UnderPrefix(t *testing.T) {
	t.Parallel()
	door := open(t)
	door.register()
	w := httptest.NewRecorder()
	http.StripPrefix("/bus", door.ingress).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/bus/portal/", http.NoBody))
	if w.Code != http.StatusOK || w.Body.String() != files(t)["index.html"] {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// TestNothingFromElsewhere holds that the page works without any other host, under any prefix, and that nothing which
// a service says can become part of it.
func TestNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	const namespace = "http://www.w3.org/2000/svg"
	forbidden := map[string]*regexp.Regexp{
		"another host":       regexp.MustCompile(`(?i)(https?:)?//[a-z0-9.-]+\.[a-z]|\b(?-i:url)\(|@import`),
		"an absolute link":   regexp.MustCompile(`(?i)(src|href)="/`),
		"text taken as code": regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|srcdoc`),
		"inline code":        regexp.MustCompile(`(?i)<script>|<style|\sstyle="|\son[a-z]+="|javascript:`),
	}
	for name, content := range files(t) {
		content = strings.ReplaceAll(content, namespace, "")
		for what, pattern := range forbidden {
			if found := pattern.FindString(content); found != "" {
				t.Errorf("%s has %s: %s", name, what, found)
			}
		}
	}
}
