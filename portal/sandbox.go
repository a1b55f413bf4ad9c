package portal

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// sandboxPolicy is a Content-Security-Policy under which a browser gives a page an opaque origin, which has no storage,
// no cookies and no access to other pages (https://html.spec.whatwg.org/#sandboxing).
const sandboxPolicy = "sandbox allow-downloads allow-forms allow-popups allow-scripts"

// confine adds the policy of [WithSandbox] to what a browser may show as a page. A policy that the service has set holds
// as well. The portal's own page keeps its origin, where it stores tokens.
func (c *ingressConfig) confine(to *url.URL, response *http.Response) {
	if c.sandboxes(to, response) {
		response.Header.Add("Content-Security-Policy", sandboxPolicy)
	}
}

// sandboxes reports whether [WithSandbox] applies to a response.
func (c *ingressConfig) sandboxes(to *url.URL, response *http.Response) bool {
	return c.sandbox && to.Hostname() != hostPortal && mayScript(response)
}

// mayScript reports whether a browser may run scripts in a response when it shows it as a page. Browsers know more types
// of XML than any list, so all types count but those that are known not to be pages. A type that is missing or malformed
// counts, because browsers read types less strictly, and so does 304, whose header replaces that of the page in the
// browser's cache.
func mayScript(response *http.Response) bool {
	return len(response.Header.Values("Content-Type")) > 1 || response.StatusCode == http.StatusNotModified ||
		!isPassive(mediaType(response.Header))
}

// isPassive reports whether a browser shows a media type without running scripts in it, or saves it as a file. PDF is one
// of them, because its viewer does not run in a sandbox.
func isPassive(kind string) bool {
	family, name, _ := strings.Cut(kind, "/")
	if strings.HasSuffix(name, "xml") {
		return false
	}
	switch family {
	case "audio", "font", "image", "video":
		return true
	case "text":
		return slices.Contains([]string{"calendar", "css", "csv", "event-stream", "javascript", "markdown", "plain", "vcard"}, name)
	case "application":
		return strings.HasSuffix(name, "json") || strings.HasSuffix(name, "+zip") ||
			slices.Contains([]string{"gzip", "javascript", "jsonl", "octet-stream", "pdf", "wasm", "yaml", "x-ndjson", "zip"}, name)
	default:
		return false
	}
}
