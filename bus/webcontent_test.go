package bus_test

import (
	"net/http"
	"testing"
)

// TestContentTypeAsGuessed compares with what net/http does when a handler does not say which type its body has.
func TestContentTypeAsGuessed(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		conn := w.connect("web.example")
		const zipped = "\x1f\x8b\x08\x00"
		for path, test := range map[string]struct {
			handler http.HandlerFunc
			want    []string
		}{
			"/text":   {func(w http.ResponseWriter, _ *http.Request) { body(w) }, []string{"text/plain; charset=utf-8"}},
			"/zipped": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(zipped)) }, []string{"application/x-gzip"}},
			"/encoded": {func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write([]byte(zipped))
			}, nil},
			"/nil":     {func(w http.ResponseWriter, _ *http.Request) { w.Header()["Content-Type"] = nil; body(w) }, nil},
			"/set":     {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "a/b"); body(w) }, []string{"a/b"}},
			"/nothing": {func(http.ResponseWriter, *http.Request) {}, nil},
		} {
			if err := conn.Handle(http.MethodGet, path, test.handler); err != nil {
				t.Fatal(err)
			}
			response, _ := do(t, conn, http.MethodGet, "https://web.example"+path, "", "")
			if got := response.Header["Content-Type"]; len(got) != len(test.want) || len(got) > 0 && got[0] != test.want[0] {
				t.Errorf("%s: %q, want %q", path, got, test.want)
			}
		}
	})
}

// empty has functions and web methods with statuses that have no content.
type empty struct{}

func (empty) Function(status int) (text string, httpStatusCode int) { return "text", status }

func (empty) Web(w http.ResponseWriter, r *http.Request) {
	status := map[string]int{"204": 204, "205": 205, "304": 304}[r.URL.Query().Get("status")]
	w.WriteHeader(status)
	body(w)
}

// TestStatusesWithoutContent answers with statuses that have no body, whatever a handler returns or writes.
func TestStatusesWithoutContent(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		conn := w.connect("empty.example")
		serve(t, conn, empty{})
		for _, status := range []string{"204", "205", "304"} {
			for _, path := range []string{"/function", "/web"} {
				response, text := do(t, conn, http.MethodGet, "https://empty.example"+path+"?status="+status, "", "")
				if response.Status[:3] != status || text != "" || response.Header.Get("Content-Type") != "" {
					t.Errorf("%s: %s %v %q", path, response.Status, response.Header, text)
				}
			}
		}
	})
}

// TestLengthOfHead tells a client that asks with HEAD how long the body is that it does not get, as net/http does.
func TestLengthOfHead(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		conn := w.connect("web.example")
		if err := conn.Handle(http.MethodGet, "/text", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { body(w) })); err != nil {
			t.Fatal(err)
		}
		_, text := do(t, conn, http.MethodGet, "https://web.example/text", "", "")
		head, nothing := do(t, conn, http.MethodHead, "https://web.example/text", "", "")
		if head.ContentLength != int64(len(text)) || nothing != "" {
			t.Errorf("length %d, body %q, want the length of %q and no body", head.ContentLength, nothing, text)
		}
	})
}
