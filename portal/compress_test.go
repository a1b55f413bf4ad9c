package portal_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"github.com/busline/busline/portal"
)

func TestCompression(t *testing.T) {
	t.Parallel()
	door := open(t)
	long := strings.Repeat("The bus is a bus is a bus. ", 100)
	door.serve("text.example", 443, func(w http.ResponseWriter, r *http.Request) {
		header, query := w.Header(), r.URL.Query()
		header.Set("Content-Type", "text/plain; charset=utf-8")
		header.Set("ETag", `W/"one"`)
		maps.Copy(header, query)
		if r.URL.Path == "/part" {
			w.WriteHeader(http.StatusPartialContent)
		}
		if r.URL.Path != "/short" {
			fmt.Fprint(w, long)
		}
	})
	tests := []struct {
		path, accept string
		encoding     string
		vary         string
	}{
		{"/", "gzip", "gzip", "Accept-Encoding"},
		{"/", "br", "br", "Accept-Encoding"},
		{"/", "gzip, br", "br", "Accept-Encoding"},
		{"/", "gzip, br;q=0", "gzip", "Accept-Encoding"},
		{"/", "*", "br", "Accept-Encoding"},
		{"/", "", "", "Accept-Encoding"},
		{"/", "deflate", "", "Accept-Encoding"},
		{"/", "gzip;q=0", "", "Accept-Encoding"},
		{"/", "gzip;q=0.5, br;q=0.4", "gzip", "Accept-Encoding"},
		{"/", "br;q=0, *", "gzip", "Accept-Encoding"},
		{"/", "*;q=0.1, gzip ; Q=0.2", "gzip", "Accept-Encoding"},
		{"/", "*, br;q=0.1, gzip;q=0", "br", "Accept-Encoding"},
		{"/", "GZIP", "gzip", "Accept-Encoding"},
		{"/", "gzip;q=much, br;q", "", "Accept-Encoding"},
		{"/?Vary=Cookie", "gzip", "gzip", "Cookie, Accept-Encoding"},
		{"/?Content-Type=application/json", "gzip", "gzip", "Accept-Encoding"},
		{"/?Content-Type=application/problem%2Bjson", "gzip", "gzip", "Accept-Encoding"},
		{"/?Content-Type=image/svg%2Bxml", "gzip", "gzip", "Accept-Encoding"},
		{"/?Content-Type=image/png", "gzip", "", ""},
		{"/?Content-Type=text/event-stream", "gzip", "", ""},
		{"/?Content-Encoding=zstd", "gzip", "zstd", ""},
		{"/?Cache-Control=no-transform", "gzip", "", ""},
		{"/?Cache-Control=private,%20NO-Transform", "gzip", "", ""},
		{"/?Cache-Control=private&Cache-Control=no-transform", "gzip", "", ""},
		{"/?Cache-Control=no-transforms", "gzip", "gzip", "Accept-Encoding"},
		{"/?Etag=%22one%22", "gzip", "", ""},
		{"/?Accept-Ranges=bytes", "gzip", "", ""},
		{"/?Accept-Ranges=None", "gzip", "gzip", "Accept-Encoding"},
		{"/?Content-Digest=sha-256%3D:AAAA:", "gzip", "", ""},
		{"/?Repr-Digest=sha-256%3D:AAAA:", "gzip", "", ""},
		{"/?Digest=sha-256%3DAAAA", "gzip", "", ""},
		{"/part", "gzip", "", ""},
		{"/short", "gzip", "", ""},
	}
	for _, test := range tests {
		for _, method := range []string{"GET", "HEAD"} {
			got := door.send(method+" /text.example"+test.path+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAccept-Encoding: "+test.accept+"\r\n\r\n", method)
			name := fmt.Sprintf("%s %s accepting %q", method, test.path, test.accept)
			if encoding := got.Header.Get("Content-Encoding"); encoding != test.encoding {
				t.Errorf("%s: Content-Encoding %q, want %q", name, encoding, test.encoding)
			}
			if vary := strings.Join(got.Header.Values("Vary"), ", "); vary != test.vary {
				t.Errorf("%s: Vary %q, want %q", name, vary, test.vary)
			}
			compressed := test.encoding == "br" || test.encoding == "gzip"
			if tag := got.Header.Get("ETag"); strings.HasPrefix(tag, "W/") == strings.Contains(test.path, "Etag") {
				t.Errorf("%s: ETag %s", name, tag)
			}
			if known := got.ContentLength >= 0; method == "HEAD" && known == compressed {
				t.Errorf("%s: Content-Length %d", name, got.ContentLength)
			}
			if text := decompress(t, got); method == "GET" && test.path != "/short" && text != long {
				t.Errorf("%s: the body is %.100q", name, text)
			}
		}
	}
}

// TestCompressorsAreUsedAgain has many clients, each of which gets a text of its own.
func TestCompressorsAreUsedAgain(t *testing.T) {
	t.Parallel()
	door := open(t)
	text := func(number string) string { return strings.Repeat("This is for "+number+". ", 1000) }
	door.serve("text.example", 443, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, text(r.URL.RawQuery))
	})
	for number := range 20 {
		for _, coding := range []string{"br", "gzip"} {
			number := fmt.Sprint(coding, number)
			t.Run(number, func(t *testing.T) {
				t.Parallel()
				request := "GET /text.example/?" + number + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAccept-Encoding: " + coding + "\r\n\r\n"
				got := sendTo(t, door.server.Listener.Addr().String(), request, http.MethodGet)
				if got.Header.Get("Content-Encoding") != coding || decompress(t, got) != text(number) {
					t.Errorf("in %q: %.40q", got.Header.Get("Content-Encoding"), decompress(t, got))
				}
			})
		}
	}
}

// TestHeadTakesNoCompressor: nobody would give it back, as there is no body that ends.
func TestHeadTakesNoCompressor(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]bool{http.MethodGet: true, http.MethodHead: false} {
		r, w := httptest.NewRequest(method, "/", http.NoBody), httptest.NewRecorder()
		r.Header.Set("Accept-Encoding", "gzip")
		if takes := portal.TakesCompressor(w, r); takes != want || w.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s takes a compressor: %t, with the header %v", method, takes, w.Header())
		}
	}
}

// decompress returns the body as the service wrote it.
func decompress(t *testing.T, got answer) string {
	t.Helper()
	if got.text == "" {
		return ""
	}
	body := io.Reader(strings.NewReader(got.text))
	switch got.Header.Get("Content-Encoding") {
	case "br":
		body = brotli.NewReader(body)
	case "gzip":
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			t.Fatal(err)
		}
		body = unzipped
	}
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
