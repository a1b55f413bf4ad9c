package portal

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/busline/busline/portal/internal/outside"
)

// serveDocument serves a JSON document, or 304 to a reader that has it already. The entity tag is weak, so that the
// ingress compresses the document.
func serveDocument(w http.ResponseWriter, r *http.Request, body []byte) {
	sum := sha256.Sum256(body)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	header := w.Header()
	header.Set("ETag", "W/"+tag)
	header.Set("Cache-Control", "private, no-cache") // the bus changes, and each caller sees something else
	if hasTag(r.Header, tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/json")
	}
	_, _ = w.Write(body) // the ResponseWriter of a bus handler does not fail here
}

// hasTag reports whether If-None-Match has this opaque tag. The comparison is weak (RFC 9110, 8.8.3.2). A tag of the
// portal has no comma.
func hasTag(header http.Header, tag string) bool {
	for one := range outside.Listed(header, "If-None-Match") {
		if one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}
