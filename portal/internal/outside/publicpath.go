package outside

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// PublicPath is a path of the ingress that leads to a service, so that clients need not know the service's host.
type PublicPath struct {
	Prefix string // "/shop"; "" is all that has no other place
	Host   string // on the bus: "shop.example:443"
	Path   string // below which the service is called: "/api", or ""
}

// Name returns the path as the ingress's options have it.
func (p *PublicPath) Name() string { return cmp.Or(p.Prefix, "/") }

// Target returns the address on the bus to which the path leads.
func (p *PublicPath) Target() string { return "https://" + p.Host + p.Path }

// Holds reports whether a path is the public path or below it.
func (p *PublicPath) Holds(path string) bool {
	_, within := CutPath(LowerHostOf(path), LowerHostOf(p.Prefix))
	return within
}

// PublicPaths are all public paths of an ingress. They do not change once they are all there.
type PublicPaths struct {
	All      []*PublicPath // longest first
	Reserved []string      // "/mcp", which the ingress serves itself, or with all that begins so, "/.well-known/x*"
}

// Of is the rule of what the ingress does with a path from outside: it returns the public path to which the path
// belongs, nil if it is that of a host, or reserved. The first segment ignores case, as hosts do.
func (p *PublicPaths) Of(path string) *PublicPath {
	if len(p.All) == 0 || p.IsReserved(path) || HasPort(path) { // with the port, each host can always be reached
		return nil
	}
	for _, each := range p.All {
		if each.Holds(path) {
			if each.Prefix == "" && isDottedHost(path) {
				return nil
			}
			return each
		}
	}
	return nil
}

// isDottedHost reports whether a path goes on behind a host with a dot: "/shop.example/".
func isDottedHost(path string) bool {
	first, _, isBelow := CutFirst(path)
	return isBelow && strings.Contains(first, ".") && subject.CheckCalledHost(subject.LowerHost(first)) == nil
}

// IsReserved reports whether the ingress serves a path itself, or leaves it to the portal, so that no public path can
// take it.
func (p *PublicPaths) IsReserved(path string) bool {
	first, _, _ := CutFirst(path)
	return first == "-" || strings.EqualFold(first, HostPortal) || slices.ContainsFunc(p.Reserved, func(each string) bool {
		prefix, isPrefix := strings.CutSuffix(each, "*")
		return path == each || isPrefix && strings.HasPrefix(path, prefix)
	})
}

// Place returns where clients reach a path of a service by a public path that leads to it: "/shop/files/{name}" for
// "/files/{name}". With a rest, the last parameter takes all that follows, so that the public path may lead below it.
// ok is false if it does not lead there, or if something else has the place.
func (p *PublicPaths) Place(by *PublicPath, path string, rest bool) (place string, ok bool) {
	target, below := strings.Split(by.Path, "/")[1:], strings.Split(path, "/")[1:]
	for _, segment := range target {
		switch {
		case len(below) == 0, below[0] != segment && !isParameter(below[0]):
			return "", false
		case !rest || len(below) > 1 || !isParameter(below[0]): // else it takes the other segments, too
			below = below[1:]
		}
	}
	place = cmp.Or(strings.Join(append([]string{by.Prefix}, below...), "/"), "/")
	return place, p.Of(place) == by
}

func isParameter(segment string) bool { return strings.HasPrefix(segment, "{") }

// HeaderPublicPaths is the header in which the portal gets all public paths.
const HeaderPublicPaths = "X-Forwarded-Public-Paths"

// Text returns the public paths for [ParsePublicPaths], as a JSON object of the addresses to which they lead. What is
// reserved leads to "".
func (p *PublicPaths) Text() (string, error) {
	targets := make(map[string]string)
	for _, each := range p.Reserved {
		targets[each] = ""
	}
	for _, each := range p.All {
		targets[each.Name()] = each.Target()
	}
	text, err := json.Marshal(targets)
	return string(text), err
}

// ParsePublicPaths parses the text of public paths. None are there if it has none, or is malformed.
func ParsePublicPaths(text string) *PublicPaths {
	var targets map[string]string
	parsed := new(PublicPaths)
	if json.Unmarshal([]byte(text), &targets) != nil {
		return parsed
	}
	for name, target := range targets {
		to, isService := strings.CutPrefix(target, "https://")
		if !isService {
			parsed.Reserved = append(parsed.Reserved, name)
			continue
		}
		host, path, isBelow := strings.Cut(to, "/")
		if isBelow {
			path = "/" + path
		}
		parsed.All = append(parsed.All, &PublicPath{strings.TrimSuffix(name, "/"), host, path})
	}
	parsed.Sort()
	return parsed
}

// Sort sorts the public paths when all are there.
func (p *PublicPaths) Sort() {
	slices.SortFunc(p.All, func(a, b *PublicPath) int {
		return cmp.Or(len(b.Prefix)-len(a.Prefix), strings.Compare(a.Prefix, b.Prefix))
	})
}

// PathDocument is the path at which services, and the portal, have their document in OpenAPI.
const PathDocument = "/openapi.json"

// KeepPaths removes the paths that are not kept from a document in OpenAPI, which is in memory. All else is passed on
// unchanged.
func KeepPaths(response *http.Response, keep func(path string) bool) error {
	if response.StatusCode != http.StatusOK || MediaType(response.Header) != "application/json" {
		return nil
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	response.Body = wire.NewBody(body)
	if len(body) == 0 { // to HEAD
		response.Header.Del("Content-Length")
	}
	document, err := ParseObject(body)
	at := slices.IndexFunc(document, func(m member) bool { return m.name == "paths" })
	if err != nil || at < 0 {
		return nil //nolint:nilerr // it is none
	}
	paths, err := ParseObject(document[at].value)
	if err != nil {
		return nil //nolint:nilerr // it is none
	}
	document[at].value = slices.DeleteFunc(paths, func(m member) bool { return !keep(m.name) }).JSON()
	setBody(response, document.JSON())
	return nil
}

// CutPath returns what is below a prefix that ends without a slash: "", or what begins with a slash.
func CutPath(path, prefix string) (rest string, within bool) {
	rest, within = strings.CutPrefix(path, prefix)
	return rest, within && (rest == "" || rest[0] == '/')
}

// LowerHostOf returns a path whose first segment, which may name a host, is in lower case.
func LowerHostOf(path string) string {
	first, _, _ := CutFirst(path)
	if lower := subject.LowerHost(first); lower != first {
		return strings.Replace(path, first, lower, 1)
	}
	return path
}

// HasPort reports whether a path begins with a host and a port: "/shop:443/cart".
func HasPort(path string) bool {
	first, _, _ := CutFirst(path)
	host, port, _ := strings.Cut(first, ":")
	return port != "" && strings.Trim(port, "0123456789") == "" && subject.CheckCalledHost(subject.LowerHost(host)) == nil
}
