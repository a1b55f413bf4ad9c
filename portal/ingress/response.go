package ingress

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzhttp"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/portal/internal/outside"
)

// minCompressed is the size in bytes below which compression saves nothing: a smaller body fits into one packet.
const minCompressed = 1400

// compressed makes a handler compress its responses in gzip or zstd, as the client likes, gzip if it likes both as
// much: gzip makes less of a document of 20 KB. Responses without a body, below minCompressed, or to HEAD stay as they
// are.
//
//nolint:gochecknoglobals // does not change
var compressed = func() func(http.Handler) http.HandlerFunc {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressed),
		gzhttp.ContentTypeFilter(gzhttp.CompressAllContentTypeFilter),
		gzhttp.SetContentType(false), gzhttp.KeepAcceptRanges(), gzhttp.PreferZstd(false))
	if err != nil {
		panic(err) // cannot happen: the options do not change
	}
	return wrap
}()

// writeResponse writes a response from the bus, and compresses its body if that is worthwhile. A response has a
// Content-Length if it can have a body, and to HEAD if the service has announced one. The header is complete but for
// that field.
func (i *Handler) writeResponse(w http.ResponseWriter, r *http.Request, response *http.Response) {
	length := response.Header.Get("Content-Length")
	write := func(w http.ResponseWriter, r *http.Request) {
		mergeVary(w.Header())
		w.WriteHeader(response.StatusCode)
		switch {
		case r.Method == http.MethodHead:
		case response.Trailer != nil:
			i.relayStream(w, r, response)
		default:
			_, err := io.Copy(&heldWriter{client: w}, response.Body) // fails only if the client has gone, or is too slow
			i.noteUnread(r, err)
		}
	}
	worthwhile := !isStream(response) && worthCompressing(response.Header, response.StatusCode, length)
	if length != "" && (r.Method != http.MethodHead || !worthwhile &&
		outside.MediaType(response.Header) != outside.ProblemType) {
		w.Header().Set("Content-Length", length) // else that of the body of a GET (RFC 9110, 8.6), which may have another
	}
	if worthwhile {
		w.Header().Del(gzhttp.HeaderNoCompression) // a service's own would switch compression off
		write = compressed(http.HandlerFunc(write))
	}
	write(w, r)
}

// mergeVary makes one field of those that the service, the ingress and the compression have set, with each name once.
func mergeVary(header http.Header) {
	if len(header["Vary"]) == 0 {
		return
	}
	var names []string
	for name := range outside.Listed(header, "Vary") {
		isSame := func(other string) bool { return strings.EqualFold(other, name) }
		if name != "" && !slices.ContainsFunc(names, isSame) {
			names = append(names, name)
		}
	}
	switch {
	case slices.Contains(names, "*"): // it stands for all others (RFC 9110, 12.5.5)
		header.Set("Vary", "*")
	case len(names) > 0:
		header.Set("Vary", strings.Join(names, ", "))
	default:
		header.Del("Vary")
	}
}

// worthCompressing reports whether a body is text, large enough, not encoded yet, and may be in other bytes.
func worthCompressing(header http.Header, status int, length string) bool {
	size, err := strconv.Atoi(length)
	return err == nil && size >= minCompressed && status != http.StatusPartialContent &&
		header.Get("Content-Encoding") == "" && !hasToken(header, "Cache-Control", "no-transform") &&
		!describesBytes(header) && isText(outside.MediaType(header))
}

// describesBytes reports whether the client learns something of the body's bytes: that it can ask for some of them, a
// tag that stands for exactly these (RFC 9110, 8.8.1), or their digest (RFC 9530).
func describesBytes(header http.Header) bool {
	ranges := header.Get("Accept-Ranges")
	return ranges != "" && !strings.EqualFold(ranges, "none") || strings.HasPrefix(header.Get("ETag"), `"`) ||
		header.Get("Content-Digest") != "" || header.Get("Repr-Digest") != "" || header.Get("Digest") != ""
}

// hasToken reports whether a field that is a list has a token, in any case.
func hasToken(header http.Header, name, token string) bool {
	for one := range outside.Listed(header, name) {
		if strings.EqualFold(one, token) {
			return true
		}
	}
	return false
}

func isText(kind string) bool {
	switch kind {
	case "application/json", "application/javascript", "application/xml", "application/wasm", "application/yaml":
		return true
	default:
		return strings.HasPrefix(kind, "text/") && kind != eventStreamType ||
			strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
	}
}

// sandboxPolicy is a Content-Security-Policy under which a browser gives a page an opaque origin, which has no storage,
// no cookies and no access to other pages (https://html.spec.whatwg.org/#sandboxing).
const sandboxPolicy = "sandbox allow-downloads allow-forms allow-popups allow-scripts"

// applySandboxCSP adds the policy of [WithSandbox] to what a browser may show as a page. A policy that the service has
// set holds as well. The portal's own page keeps its origin, where it stores tokens.
func (c *config) applySandboxCSP(to *url.URL, response *http.Response) {
	if c.needsSandbox(to, response) {
		response.Header.Add("Content-Security-Policy", sandboxPolicy)
	}
}

// needsSandbox reports whether [WithSandbox] applies to a response.
func (c *config) needsSandbox(to *url.URL, response *http.Response) bool {
	return c.sandbox && to.Hostname() != outside.HostPortal && mayScript(response)
}

// mayScript reports whether a browser may run scripts in a response when it shows it as a page. Browsers know more
// types of XML than any list, so all types count but those that are known not to be pages. A type that is missing or
// malformed counts, because browsers read types less strictly, and so does 304, whose header replaces that of the page
// in the browser's cache.
func mayScript(response *http.Response) bool {
	return len(response.Header.Values("Content-Type")) > 1 || response.StatusCode == http.StatusNotModified ||
		!isPassive(outside.MediaType(response.Header))
}

// isPassive reports whether a browser shows a media type without running scripts in it, or saves it as a file. PDF is
// one of them, because its viewer does not run in a sandbox.
func isPassive(kind string) bool {
	family, name, _ := strings.Cut(kind, "/")
	if strings.HasSuffix(name, "xml") {
		return false
	}
	switch family {
	case "audio", "font", "image", "video":
		return true
	case "text":
		return slices.Contains([]string{"calendar", "css", "csv", "event-stream", "javascript", "markdown", "plain", "vcard"},
			name)
	case "application":
		return strings.HasSuffix(name, "json") || strings.HasSuffix(name, "+zip") ||
			slices.Contains([]string{"gzip", "javascript", "jsonl", "octet-stream", "pdf", "wasm", "yaml", "x-ndjson", "zip"},
				name)
	default:
		return false
	}
}

// servicePlace is the place at which a client sees a service. Paths that the service writes are valid on the bus;
// outside they lie below a prefix that neither a router nor net/http, which makes every redirect an absolute path,
// knows.
type servicePlace struct {
	prefix string              // of the ingress: "/bus", or ""
	paths  *publicPaths        // of the ingress
	public *outside.PublicPath // through which the service was called; nil if its host was
	name   string              // of the service, as the client has spelled it: "Library.example:443"
	path   string              // that was called, with the prefix: "/bus/library.example/a"
	called *url.URL            // the address on the bus, with the host in canonical form: "library.example:443"
	from   string              // the host that has responded, without the instance that may have been addressed
	bare   bool                // the path that was called ends with the name, "/library.example", or with the public path
	// the host and the path that were called by plain HTTP, if a redirect there may be meant to be to https; else ""
	plain string
}

// placeOf returns the place to which the path of a request leads.
func (i *Handler) placeOf(from *forwarding, path string, to *url.URL, public *outside.PublicPath,
	response *http.Response) servicePlace {
	place := servicePlace{prefix: from.prefix, paths: &i.config.paths, public: public, name: to.Host,
		path: from.prefix + path, called: to, from: response.Header.Get("Bus-From-Host")}
	if public == nil {
		name, _, slash := outside.CutFirst(path)
		place.name, place.bare = name, !slash
	} else {
		place.bare = len(path) == len(public.Prefix)
	}
	return place
}

// root returns the path of the service as clients see it, without a slash at the end: "/bus/library.example".
func (p *servicePlace) root() string {
	if p.public != nil {
		return p.prefix + p.public.Prefix
	}
	return p.prefix + "/" + p.name
}

// noteCalled notes a URL that was called by plain HTTP. A service that redirects to the same URL with https wants no
// plain HTTP: a path would lead back to it for ever. A redirect by which a form leads back to itself may have any
// scheme, so it does not count.
func (p *servicePlace) noteCalled(r *http.Request, from *forwarding, path string, response *http.Response) {
	repeats := r.Method == http.MethodGet || r.Method == http.MethodHead ||
		response.StatusCode != http.StatusFound && response.StatusCode != http.StatusSeeOther
	if from.proto != "http" || !repeats || len(response.Header["Location"])+len(response.Header["Refresh"]) == 0 {
		return
	}
	p.plain = from.host + from.prefix + path
	if r.URL.RawQuery != "" {
		p.plain += "?" + r.URL.RawQuery
	}
}

// adaptLocations rewrites the headers of a response that refer to a place within the service to what the client can
// use, as a reverse proxy does.
func (p *servicePlace) adaptLocations(response *http.Response) {
	for _, name := range []string{"Location", "Content-Location"} {
		values := response.Header[name]
		for at, value := range values {
			values[at] = p.outside(value)
		}
	}
	for at, value := range response.Header["Refresh"] {
		if parts := refreshTo.FindStringSubmatch(value); parts != nil {
			response.Header["Refresh"][at] = parts[1] + p.outside(parts[2])
		}
	}
}

// refreshTo splits what browsers take for a Refresh to another place, "0; url=/a", before that.
var refreshTo = regexp.MustCompile(`(?i)^(\s*[\d.]+\s*[;,\s]\s*(?:url\s*=\s*)?)["']?([^"']+)`)

// outside rewrites a reference (RFC 9110, 10.2.2) for clients. It changes paths, and URLs of the same service;
// references to other places stay as they are. So does a path relative to the request if it leads clients to the same
// place: the path that they called may have fewer folders, and other services in them.
func (p *servicePlace) outside(reference string) string {
	if strings.HasPrefix(reference, `\`) { // which browsers take for a slash
		reference = "/" + reference[1:]
	}
	if name, path, ok := p.ownURL(reference); ok {
		return p.upgrade(reference, p.below(name, path))
	}
	path, behind := cutQuery(reference)
	first, _, _ := strings.Cut(path, "/")
	switch {
	case path == "", strings.HasPrefix(path, "//"), strings.Contains(first, ":"):
		return reference
	case path[0] == '/':
		return p.below(p.name, reference)
	}
	seen := p.seen(p.name, removeDots(folderOf(p.called.EscapedPath())+path))
	if seen == removeDots(folderOf(p.path)+path) {
		return reference
	}
	return seen + behind
}

func folderOf(path string) string { return path[:strings.LastIndexByte(path, '/')+1] }

// removeDots returns an absolute path without segments of dots (RFC 3986, 5.2.4), as browsers understand them.
func removeDots(path string) string {
	var kept []string
	dotted := false
	segments := strings.Split(strings.ReplaceAll(path, `\`, "/"), "/")[1:]
	plain := strings.NewReplacer("%2e", ".", "%2E", ".", "\t", "")
	for at, segment := range segments {
		switch plain.Replace(segment) {
		case "..":
			kept = kept[:max(len(kept)-1, 0)]
		case ".":
		default:
			kept = append(kept, segment)
			continue
		}
		if dotted = true; at == len(segments)-1 {
			kept = append(kept, "")
		}
	}
	if !dotted {
		return path
	}
	return "/" + strings.Join(kept, "/")
}

// upgrade returns a rewritten reference, with https if that is all in which it differs from the URL that was called.
func (p *servicePlace) upgrade(reference, rewritten string) string {
	scheme, _, _ := strings.Cut(reference, "//")
	if host, hasPath := strings.CutSuffix(p.plain, rewritten); hasPath && !strings.Contains(host, "/") &&
		strings.EqualFold(scheme, "https:") {
		return "https://" + p.plain
	}
	return rewritten
}

// below returns an absolute path of the service as clients see it. A path that already has the prefix and the host
// stays: the service may know it. So do a query and a fragment.
func (p *servicePlace) below(name, reference string) string {
	path, behind := cutQuery(reference)
	path = removeDots(path)
	if rest, ok := strings.CutPrefix(path, p.prefix+"/"); ok && p.paths.Of("/"+rest) == nil {
		segment, _ := cutReference(rest)
		if to, err := outside.AddressOf("/"+segment, p.paths.open); err == nil && p.isOwn(to.Hostname()) {
			return path + behind
		}
	}
	return p.seen(name, path) + behind
}

// seen returns where clients see a path on the bus.
func (p *servicePlace) seen(name, path string) string {
	if p.public != nil {
		if seen, ok := p.paths.seen(p.public, name, path); ok {
			return p.prefix + seen
		}
	}
	if p.paths.Of("/"+name+path) != nil { // which has the place
		name = p.called.Host
	}
	return p.prefix + "/" + name + path
}

// cutQuery splits a reference behind its path.
func cutQuery(reference string) (path, behind string) {
	if at := strings.IndexAny(reference, "?#"); at >= 0 {
		return reference[:at], reference[at:]
	}
	return reference, ""
}

// ownURL returns the name and the path of a URL that refers to the service itself; ok is false for any other.
func (p *servicePlace) ownURL(reference string) (name, path string, ok bool) {
	scheme, rest, ok := strings.Cut(reference, "//")
	if scheme = strings.ToLower(scheme); !ok || scheme != "" && scheme != "https:" && scheme != "http:" {
		return "", "", false
	}
	host, path := cutReference(rest)
	host, port, hasPort := strings.Cut(subject.LowerHost(host), ":")
	calledPort := p.called.Port()
	switch {
	case hasPort:
	case scheme == "http:": // the service may not know of TLS in front of the ingress; it means the port that was called
		port = calledPort
	default:
		port = "443"
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	switch {
	case !p.isOwn(host), !slices.ContainsFunc(p.paths.open, func(open int) bool { return port == strconv.Itoa(open) }):
		return "", "", false
	case host+":"+port == p.called.Host:
		return p.name, path, true
	default:
		return host + ":" + port, path, true
	}
}

func (p *servicePlace) isOwn(host string) bool {
	return host != "" && (host == p.from || p.called.Hostname() == host)
}

// cutReference splits a reference before the path, the query and the fragment.
func cutReference(text string) (before, rest string) {
	if at := strings.IndexAny(text, `/?#\`); at >= 0 {
		return text[:at], text[at:]
	}
	return text, ""
}
