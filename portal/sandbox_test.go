package portal_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/busline/busline/portal"
)

func TestSandbox(t *testing.T) {
	t.Parallel()
	const own, sandbox = "default-src 'self'", "sandbox allow-downloads allow-forms allow-popups allow-scripts"
	typed := func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", own)
		for _, kind := range r.URL.Query()["type"] {
			header.Add("Content-Type", kind)
		}
		if r.URL.Path == "/unchanged" {
			w.WriteHeader(http.StatusNotModified)
		}
	}
	confined, free := open(t, portal.WithSandbox()), open(t)
	for _, door := range []*testIngress{confined, free} {
		door.serve("web.example", 443, typed)
		door.serve("portal.example", 443, typed)
	}
	tests := []struct {
		path      string
		sandboxed bool
	}{
		{"/web.example/?type=text/html", true},
		{"/web.example:443/?type=TEXT/HTML%3Bcharset=utf-8", true},
		{"/portal.example/?type=text/html", true},
		{"/web.example/?type=application/xhtml%2Bxml", true},
		{"/web.example/?type=image/svg%2Bxml", true},
		{"/web.example/?type=application/xml", true},
		{"/web.example/?type=text/xml", true},
		{"/web.example/?type=text/xsl", true},
		{"/web.example/?type=text/rdf", true},
		{"/web.example/?type=Text/RDF%3Bcharset=utf-8", true},
		{"/web.example/?type=application/rdf", true},
		{"/web.example/?type=application/rdf%2Bxml", true},
		{"/web.example/?type=APPLICATION/ATOM%2BXML%3Btype=entry", true},
		{"/web.example/?type=model/x%2Bxml", true},
		{"/web.example/?type=application/vnd.mozilla.xul%2Bxml", true},
		{"/web.example/?type=application/mathml", true},
		{"/web.example/?type=text/vtt", true}, // any type that is not listed
		{"/web.example/?type=unknown/unknown", true},
		{"/web.example/?type=*/*", true},
		{"/web.example/?type=multipart/x-mixed-replace", true},
		{"/web.example/", true},
		{"/web.example/?type=text/html%3Bcharset", true}, // malformed for Go, HTML for browsers
		{"/web.example/?type=application/json,text/html", true},
		{"/web.example/?type=application/json&type=text/html", true},
		{"/web.example/unchanged?type=application/json", true},
		{"/web.example/?type=application/json", false},
		{"/web.example/?type=application/problem%2Bjson", false},
		{"/web.example/?type=text/plain", false},
		{"/web.example/?type=text/csv%3Bcharset=utf-8", false},
		{"/web.example/?type=image/png", false},
		{"/web.example/?type=video/mp4", false},
		{"/web.example/?type=application/octet-stream", false},
		{"/web.example/?type=application/zip", false},
		{"/web.example/?type=application/pdf", false}, // its viewer does not run in a sandbox
	}
	for _, test := range tests {
		want := []string{own}
		if got := free.get(test.path).Header.Values("Content-Security-Policy"); !slices.Equal(got, want) {
			t.Errorf("%s: without the option the policies are %q", test.path, got)
		}
		if test.sandboxed {
			want = append(want, sandbox)
		}
		if got := confined.get(test.path).Header.Values("Content-Security-Policy"); !slices.Equal(got, want) {
			t.Errorf("%s: the policies are %q, want %q", test.path, got, want)
		}
	}
	confined.register()
	if got := confined.get("/portal/").Header.Values("Content-Security-Policy"); len(got) != 1 || got[0] == sandbox {
		t.Errorf("the page's policies are %q", got)
	}
}
