package wire

import "strings"

// splitTarget takes a request target apart (RFC 9112, 3.2): origin-form comes back as it is, absolute-form as
// origin-form and authority. Nothing else is used on the bus.
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
	return origin, authority, err
}

func badTarget(target []byte) error {
	return fault("request target %s: a blank or a percent sign without two hex digits", quote(target))
}

// validOrigin reports whether a path and query hold no blank and no broken escape; a query may hold any percent sign, as
// net/http has it. Other control bytes do not get this far.
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

// splitAbsolute turns "https://host:port/path?query" into "/path?query" and "host:port".
func splitAbsolute(target string) (origin, authority string, err error) {
	scheme, rest, found := strings.Cut(target, "://")
	if !found || !same(scheme, "https") && !same(scheme, "http") {
		return "", "", fault("request target %s: neither /path nor https://host/path", quote(target))
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
		return "", "", fault("request target %s: %s is not host or host:port", quote(target), quote(authority))
	}
	return origin, authority, nil
}

// validAuthority leaves room for hosts that the bus does not know, but none for another reading.
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

// mergeHosts returns what the Host field and the authority of the target, "" when absent, say together: their hosts
// must be the same, and so must their ports when both name one. The result names the port when either does.
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
		return "", fault("header Host: %s is not the host of the request target, %s", quote(host), quote(authority))
	}
	if port == "" {
		return authority, nil
	}
	return host, nil
}
