package portal

import (
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

// minCompressed is the size in bytes below which compression saves nothing: a smaller body fits into one packet.
const minCompressed = 1400

// compressed makes a handler compress its responses in gzip or zstd, as the client likes, gzip if it likes both as much: gzip makes less of
// a document of 20 KB.
// Responses without a body, below minCompressed, or to HEAD stay as they are.
//
//nolint:gochecknoglobals // does not change
var compressed = func() func(http.Handler) http.HandlerFunc {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressed), gzhttp.ContentTypeFilter(gzhttp.CompressAllContentTypeFilter),
		gzhttp.SetContentType(false), gzhttp.KeepAcceptRanges(), gzhttp.PreferZstd(false))
	if err != nil {
		panic(err) // cannot happen: the options do not change
	}
	return wrap
}()

// writeResponse writes a response from the bus, which always has a Content-Length, and compresses its body if that is
// worthwhile. The header is complete but for that field.
func writeResponse(w http.ResponseWriter, r *http.Request, response *http.Response) {
	length := response.Header.Get("Content-Length")
	write := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(response.StatusCode)
		if r.Method != http.MethodHead {
			_, _ = io.Copy(w, response.Body) // fails only if the client has gone
		}
	}
	worthwhile := worthCompressing(response.Header, response.StatusCode, length)
	if r.Method != http.MethodHead || !worthwhile && mediaType(response.Header) != problemType {
		w.Header().Set("Content-Length", length) // else that of the body of a GET (RFC 9110, 8.6), which may have another
	}
	if worthwhile {
		w.Header().Del(gzhttp.HeaderNoCompression) // a service's own would switch compression off
		write = compressed(http.HandlerFunc(write))
	}
	write(w, r)
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
