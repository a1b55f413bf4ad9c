package portal

import (
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
)

// minCompressed is the size in bytes below which compressing saves nothing: what is less fits one packet.
const minCompressed = 1400

// newResponseBody returns what the response's body is to be written to: as it is, or compressed when that is worth it
// and the client accepts br or gzip. It completes the header, which is to be written next. A response of the bus always
// has a Content-Length.
func newResponseBody(w http.ResponseWriter, r *http.Request, response *http.Response) io.WriteCloser {
	header, length := w.Header(), response.Header.Get("Content-Length")
	if !worthCompressing(response.Header, response.StatusCode, length) {
		return plainBody(w, length)
	}
	header.Add("Vary", "Accept-Encoding")
	compressor := brotli.HTTPCompressor(w, r)
	if header.Get("Content-Encoding") == "" { // the client accepts neither
		return plainBody(w, length)
	}
	if tag := header.Get("ETag"); strings.HasPrefix(tag, `"`) {
		header.Set("ETag", "W/"+tag) // the same content in other bytes (RFC 9110, 8.8.1)
	}
	return compressor
}

// worthCompressing says whether a body is text of some size that may be transformed and is not encoded yet.
func worthCompressing(header http.Header, status int, length string) bool {
	size, err := strconv.Atoi(length)
	return err == nil && size >= minCompressed && status != http.StatusPartialContent &&
		header.Get("Content-Encoding") == "" &&
		!strings.Contains(header.Get("Cache-Control"), "no-transform") &&
		isText(mediaType(header))
}

// mediaType is that of a body, without its parameters: "text/html"; "" when there is none or it is malformed.
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

type uncompressed struct{ io.Writer }

func (uncompressed) Close() error { return nil }

func plainBody(w http.ResponseWriter, length string) io.WriteCloser {
	w.Header().Set("Content-Length", length)
	return uncompressed{w}
}
