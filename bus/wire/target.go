package wire

import "strings"

// splitTarget splits a request target (RFC 9112, 3.2): origin-form is returned as it is, absolute-form as origin-form
// and authority. The bus uses no other form.
func (f *frame) splitTarget(target span) (origin, authority string, err error) {
	text := f.bytes(target)
	if len(text) > 0 && text[0] == '/' {
		if !validOrigin(text) {
			return "", "", badTarget(text)
		}
		return f.string(target), "", nil
	}
	origin, authority, err = splitAbsolute(string(text))
	if err == nil && !validOrigin(origin) {
		err = badTarget(text)
	}
	if err != nil {
		return "", "", err
	}
	return origin, authority, nil
}

func badTarget(target []byte) error {
	return malformed("request target %s: contains a space, or a percent sign without two hex digits", quote(target))
}

// validOrigin reports whether a path and query contain no space and no invalid escape; a query may contain any percent
// sign, as in net/http. split has already refused other control bytes.
func validOrigin[Text text](origin Text) bool {
	query := false
	for i := range len(origin) {
		switch c := origin[i]; {
		case isBlank(c):
			return false
		case c == '?':
			query = true
		case c == '%' && !query && !isEscape(origin[i:]):
			return false
		}
	}
	return true
}

// isEscape reports whether text begins with a percent sign and two hex digits.
func isEscape[Text text](text Text) bool {
	return len(text) >= 3 && isHex(text[1]) && isHex(text[2])
}

func isHex(c byte) bool {
	c = lower(c)
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f'
}

// splitAbsolute splits "https://host:port/path?query" into "/path?query" and "host:port".
func splitAbsolute(target string) (origin, authority string, err error) {
	scheme, rest, found := strings.Cut(target, "://")
	if !found || !same(scheme, "https") && !same(scheme, "http") {
		return "", "", malformed("request target %s: neither /path nor https://host/path", quote(target))
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	authority, origin = rest[:end], rest[end:]
	if !strings.HasPrefix(origin, "/") {
		origin = "/" + origin
	}
	if !validAuthority(authority) {
		return "", "", malformed("request target %s: %s is not host or host:port", quote(target), quote(authority))
	}
	return origin, authority, nil
}

// validAuthority reports whether the authority is host or host:port. It accepts hosts that are not valid on the bus,
// but no text that another parser could read differently.
func validAuthority(authority string) bool {
	host, port, found := strings.Cut(authority, ":")
	if _, ok := digits(port); found && !ok {
		return false
	}
	for i := range len(host) {
		if c := host[i]; !isAlphanumeric(c) && c != '-' && c != '.' {
			return false
		}
	}
	return host != ""
}

// mergeHosts combines the Host field and the authority of the target, "" if absent: their hosts must be the same, and
// so must their ports if both have one. The result has a port if either has.
func mergeHosts(host, authority string) (string, error) {
	if authority == "" {
		return host, nil
	}
	if host == "" {
		return authority, nil
	}
	name, port, _ := strings.Cut(host, ":")
	otherName, otherPort, _ := strings.Cut(authority, ":")
	if !same(name, otherName) || port != "" && otherPort != "" && port != otherPort {
		return "", malformed("header Host: %s is not the host of the request target, %s", quote(host), quote(authority))
	}
	if port == "" {
		return authority, nil
	}
	return host, nil
}
