package portal

import (
	"net/http"
	"net/url"
	"strings"
)

// sandboxPolicy is a Content-Security-Policy under which a browser gives a page an opaque origin, which has no storage,
// no cookies and no access to other pages (https://html.spec.whatwg.org/#sandboxing).
const sandboxPolicy = "sandbox allow-downloads allow-forms allow-popups allow-scripts"

// confine adds the policy of [WithSandbox] to what a browser may show as a page. A policy that the service has set holds
// as well. The portal's own page keeps its origin, where it stores tokens.
func (c *ingressConfig) confine(to *url.URL, response *http.Response) {
	if c.sandbox && to.Hostname() != hostPortal && mayScript(response) {
		response.Header.Add("Content-Security-Policy", sandboxPolicy)
	}
}

// mayScript says whether a browser may run scripts in a response when it shows it as a page. A type that is missing or
// malformed counts, because browsers read types less strictly, and so does 304, whose header replaces that of the page
// in the browser's cache.
func mayScript(response *http.Response) bool {
	kind := mediaType(response.Header)
	return kind == "" || len(response.Header.Values("Content-Type")) > 1 || response.StatusCode == http.StatusNotModified ||
		kind == "text/html" || kind == "text/xml" || kind == "text/xsl" || kind == "application/xml" ||
		strings.HasSuffix(kind, "+xml") || strings.HasPrefix(kind, "multipart/")
}
