package portal_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
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
		{"/", "zstd", "zstd", "Accept-Encoding"},
		{"/", "gzip, zstd", "gzip", "Accept-Encoding"},
		{"/", "gzip, zstd;q=0", "gzip", "Accept-Encoding"},
		{"/", "", "", "Accept-Encoding"},
		{"/", "deflate, br", "", "Accept-Encoding"},
		{"/", "gzip;q=0", "", "Accept-Encoding"},
		{"/", "gzip;q=0.4, zstd;q=0.5", "zstd", "Accept-Encoding"},
		{"/", "gzip;q=0.5, zstd;q=0.4", "gzip", "Accept-Encoding"},
		{"/", "*", "", "Accept-Encoding"}, // gzhttp compresses only in what is named
		{"/", "zstd;q=0, *", "", "Accept-Encoding"},
		{"/", "*, zstd;q=0.1, gzip;q=0", "zstd", "Accept-Encoding"},
		{"/", "*;q=0.1, gzip ; Q=0.2", "gzip", "Accept-Encoding"},
		{"/", "GZIP", "gzip", "Accept-Encoding"},
		{"/", "gzip;q=much, br;q", "", "Accept-Encoding"},
		{"/?Vary=Cookie", "gzip", "gzip", "Cookie, Accept-Encoding"},
		{"/?Content-Type=application/json", "gzip", "gzip", "Accept-Encoding"},
		{"/?Content-Type=application/problem%2Bjson", "gzip", "gzip", "Accept-Encoding"},
		{"/?Content-Type=image/svg%2Bxml", "gzip", "gzip", "Accept-Encoding"},
		{"/?Content-Type=image/png", "gzip", "", ""},
		{"/?Content-Type=text/event-stream", "gzip", "", ""},
		{"/?Content-Encoding=br", "gzip", "br", ""},
		{"/?No-Gzip-Compression=1", "gzip", "gzip", "Accept-Encoding"},
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
			compressed := test.encoding == "zstd" || test.encoding == "gzip"
			want := test.encoding
			if method == "HEAD" && compressed {
				want = ""
			}
			if encoding := got.Header.Get("Content-Encoding"); encoding != want {
				t.Errorf("%s: Content-Encoding %q, want %q", name, encoding, want)
			}
			if vary := strings.Join(got.Header.Values("Vary"), ", "); vary != test.vary {
				t.Errorf("%s: Vary %q, want %q", name, vary, test.vary)
			}
			if tag := got.Header.Get("ETag"); strings.HasPrefix(tag, "W/") == strings.Contains(test.path, "Etag") {
				t.Errorf("%s: ETag %s", name, tag)
			}
			// the length of the text is not that of a body which may be compressed
			if known := got.ContentLength >= 0; method == "HEAD" && known == strings.Contains(test.vary, "Accept-Encoding") {
				t.Errorf("%s: Content-Length %d", name, got.ContentLength)
			}
			if method == "GET" && test.path != "/short" && test.encoding != "br" && decompress(t, got) != long {
				t.Errorf("%s: the body is %.100q", name, decompress(t, got))
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
		for _, coding := range []string{"zstd", "gzip"} {
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

// decompress returns the body as the service wrote it.
func decompress(t *testing.T, got answer) string {
	t.Helper()
	if got.text == "" {
		return ""
	}
	body := io.Reader(strings.NewReader(got.text))
	switch got.Header.Get("Content-Encoding") {
	case "zstd":
		decoder, err := zstd.NewReader(body)
		if err != nil {
			t.Fatal(err)
		}
		defer decoder.Close()
		body = decoder
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
