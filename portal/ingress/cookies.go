package ingress

import (
	"cmp"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/portal/internal/outside"
)

// Limits of cookies. All services share the origin of the ingress, and browsers send whatever cookies match a path:
// what exceeds the limit of a request's header is refused.
const (
	maxCookie        = 4 << 10  // bytes of one Set-Cookie line, as browsers limit a cookie
	maxSetCookies    = 8 << 10  // bytes of all Set-Cookie lines of a response
	maxCookieLines   = 32       // of a response
	maxClientCookies = 32 << 10 // bytes of the cookies of a client, half of the limit of the header
)

// cookieRefusal is a reason for dropping a cookie.
type cookieRefusal int

const (
	cookieKept cookieRefusal = iota
	cookieMalformed
	cookieHostPrefix
	cookieTooLarge
	cookieTooMany
	cookieSandboxed
	cookieRefusals // how many there are
)

// String returns the reason as the metric has it.
func (c cookieRefusal) String() string {
	return [...]string{"", "malformed", "host_prefix", "too_large", "too_many", "sandboxed"}[c]
}

// explain returns the reason for the log.
func (c cookieRefusal) explain() string {
	return [...]string{
		"", "it is malformed", "its name begins with __Host-, so it would need the Path /, which all services share",
		"it is longer than 4 KiB", "a response may set 32 cookies of 8 KiB in all, and a client may have 32 KiB",
		"it is of a page in a sandbox (ingress.WithSandbox)",
	}[c]
}

// droppedCookies counts dropped cookies by reason. It is safe for concurrent use.
type droppedCookies [cookieRefusals]atomic.Int64

// writeTo adds the counts to metrics.
func (d *droppedCookies) writeTo(text *metrics.Text, labels []metrics.Label) {
	for refusal := cookieKept + 1; refusal < cookieRefusals; refusal++ {
		text.Counter("busline_ingress_dropped_cookies_total", "Cookies of services that were dropped.",
			float64(d[refusal].Load()),
			append(slices.Clip(labels), metrics.Label{Name: "reason", Value: refusal.String()})...)
	}
}

// filterCookies restricts the cookies of a response to the service's own path and to a bounded size, and drops those of
// pages in a sandbox.
func (i *Handler) filterCookies(r *http.Request, place *servicePlace, to *url.URL, response *http.Response) {
	jar := &cookieFilter{
		place: place, sandboxed: i.config.needsSandbox(to, response),
		left: maxSetCookies, clientLeft: maxClientCookies - len(strings.Join(r.Header.Values("Cookie"), "; ")),
	}
	var kept []string
	for name, lines := range response.Header {
		if textproto.CanonicalMIMEHeaderKey(name) != "Set-Cookie" {
			continue
		}
		for _, line := range lines {
			confined, refusal := jar.confine(line)
			if refusal == cookieKept {
				kept = append(kept, confined)
				continue
			}
			i.noteDroppedCookie(to.Host, line, refusal)
		}
		delete(response.Header, name)
	}
	if kept != nil {
		response.Header["Set-Cookie"] = kept
	}
}

// noteDroppedCookie counts a dropped cookie, and logs the first one of each reason.
func (i *Handler) noteDroppedCookie(from, line string, refusal cookieRefusal) {
	if i.cookies[refusal].Add(1) > 1 {
		return
	}
	name, _, _ := strings.Cut(line, "=")
	logger := i.conn.Logger()
	logger.Warn().Str("service", from).Str("cookie", name[:min(len(name), 80)]).Str("reason", refusal.explain()).
		Msg("a cookie of a service was dropped; busline_ingress_dropped_cookies_total counts others with this reason")
}

// cookieFilter confines the cookies of one response.
type cookieFilter struct {
	place      *servicePlace
	sandboxed  bool
	lines      int // kept so far
	left       int // bytes for the lines of this response
	clientLeft int // bytes until the client has too many
}

// confine returns a Set-Cookie line as the client may have it, or the reason for dropping it.
func (f *cookieFilter) confine(line string) (string, cookieRefusal) {
	if f.sandboxed {
		return "", cookieSandboxed
	}
	cookie, err := http.ParseSetCookie(line)
	if err != nil || strings.Contains(f.place.root(), ";") {
		return "", cookieMalformed
	}
	const hostPrefix = "__Host-" // browsers ignore its case
	if len(cookie.Name) >= len(hostPrefix) && strings.EqualFold(cookie.Name[:len(hostPrefix)], hostPrefix) {
		return "", cookieHostPrefix
	}
	line = f.place.cookie(line)
	size := len(line)
	switch {
	case size > maxCookie:
		return "", cookieTooLarge
	case f.lines == maxCookieLines, size > f.left, size > f.clientLeft && !expires(cookie):
		return "", cookieTooMany
	}
	f.lines++
	f.left -= size
	f.clientLeft -= size
	return line, cookieKept
}

// expires reports whether a cookie removes one from the client.
func expires(cookie *http.Cookie) bool {
	return cookie.MaxAge < 0 || cookie.MaxAge == 0 && !cookie.Expires.IsZero() && cookie.Expires.Before(time.Now())
}

// cookie returns a Set-Cookie line without Domain, whose Path is that of the service or below. All other attributes
// stay, also those that this code does not know.
func (p *servicePlace) cookie(line string) string {
	pair, attributes, _ := strings.Cut(line, ";")
	kept, path := []string{strings.TrimSpace(pair)}, ""
	for attribute := range strings.SplitSeq(attributes, ";") {
		attribute = strings.TrimSpace(attribute)
		name, value, _ := strings.Cut(attribute, "=")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "path":
			path = strings.TrimSpace(value) // the last one counts (RFC 6265, 5.3)
		case "domain", "":
		default:
			kept = append(kept, attribute)
		}
	}
	if path = p.cookiePath(path); path != "" {
		kept = append(kept, "Path="+path)
	}
	return strings.Join(kept, "; ")
}

// cookiePath returns the path of a cookie as clients see it. A browser chooses one if there is none that begins with a
// slash: the directory of the request, which lies outside the service if the path was bare. A path that holds all that
// clients can call there becomes the root of the service.
func (p *servicePlace) cookiePath(path string) string {
	rooted, whole := strings.HasPrefix(path, "/"), ""
	if p.public != nil {
		whole = p.public.Path
	}
	_, holdsAll := outside.CutPath(whole, strings.TrimSuffix(path, "/"))
	switch {
	case !rooted && !p.bare:
		return ""
	case !rooted, holdsAll:
		return cmp.Or(p.root(), "/")
	default:
		return p.below(p.name, path)
	}
}
