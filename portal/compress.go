package portal

import (
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// minCompressed is the size in bytes below which compression saves nothing: a smaller body fits into one packet.
const minCompressed = 1400

// newResponseBody returns the writer for the response's body, which compresses it if that is worthwhile and the client
// accepts br or gzip. It completes the header, which has to be written next. A response from the bus always has a
// Content-Length.
func newResponseBody(w http.ResponseWriter, r *http.Request, response *http.Response) io.WriteCloser {
	length := response.Header.Get("Content-Length")
	if worthCompressing(response.Header, response.StatusCode, length) {
		if body := compressedBody(w, r); body != nil {
			return body
		}
	}
	w.Header().Set("Content-Length", length)
	return plainBody{w}
}

// compressedBody returns a writer that compresses a body in the way that the client likes best, nil if it accepts none. The body
// of a HEAD goes nowhere, so it takes no compressor.
func compressedBody(w http.ResponseWriter, r *http.Request) io.WriteCloser {
	w.Header().Add("Vary", "Accept-Encoding")
	coding := preferredCoding(r.Header)
	if coding == nil {
		return nil
	}
	w.Header().Set("Content-Encoding", coding.name)
	if r.Method == http.MethodHead {
		return plainBody{io.Discard}
	}
	return coding.compress(w)
}

// worthCompressing says whether a body is text, large enough, not encoded yet, and may be in other bytes.
func worthCompressing(header http.Header, status int, length string) bool {
	size, err := strconv.Atoi(length)
	return err == nil && size >= minCompressed && status != http.StatusPartialContent &&
		header.Get("Content-Encoding") == "" && !hasToken(header, "Cache-Control", "no-transform") &&
		!namesBytes(header) && isText(mediaType(header))
}

// namesBytes says whether the client learns something of the body's bytes: that it can ask for some of them, a tag that
// stands for exactly these (RFC 9110, 8.8.1), or their digest (RFC 9530).
func namesBytes(header http.Header) bool {
	ranges := header.Get("Accept-Ranges")
	return ranges != "" && !strings.EqualFold(ranges, "none") || strings.HasPrefix(header.Get("ETag"), `"`) ||
		header.Get("Content-Digest") != "" || header.Get("Repr-Digest") != "" || header.Get("Digest") != ""
}

// hasToken says whether a field that is a list has a token, in any case.
func hasToken(header http.Header, name, token string) bool {
	for one := range listed(header, name) {
		if strings.EqualFold(one, token) {
			return true
		}
	}
	return false
}

// mediaType returns the media type of a body without parameters, such as "text/html"; "" if there is none or it is
// malformed.
func mediaType(header http.Header) string {
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

func isText(kind string) bool {
	switch kind {
	case "application/json", "application/javascript", "application/xml", "application/wasm", "application/yaml":
		return true
	default:
		return strings.HasPrefix(kind, "text/") && kind != "text/event-stream" ||
			strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
	}
}

type plainBody struct{ io.Writer }

func (plainBody) Close() error { return nil }

// compressing is a response whose body is compressed.
type compressing struct {
	http.ResponseWriter

	body io.Writer
}

func (c compressing) Write(text []byte) (int, error) { return c.body.Write(text) }

// compressed makes a handler compress its responses, which have to be long texts.
func compressed(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if body := compressedBody(w, r); body != nil {
			defer func() { _ = body.Close() }() // fails only if the client has gone
			w = compressing{w, body}
		}
		handle(w, r)
	}
}
