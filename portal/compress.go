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
	header, length := w.Header(), response.Header.Get("Content-Length")
	if !worthCompressing(response.Header, response.StatusCode, length) {
		return plainBody(w, length)
	}
	header.Add("Vary", "Accept-Encoding")
	coding := preferredCoding(r.Header)
	if coding == nil {
		return plainBody(w, length)
	}
	header.Set("Content-Encoding", coding.name)
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

type uncompressed struct{ io.Writer }

func (uncompressed) Close() error { return nil }

func plainBody(w http.ResponseWriter, length string) io.WriteCloser {
	w.Header().Set("Content-Length", length)
	return uncompressed{w}
}
