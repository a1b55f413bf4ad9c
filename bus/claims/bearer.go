package claims

import "strings"

// Bearer returns the token in the value of an Authorization header. Without one, or with another scheme than Bearer,
// present is false: that is no identity, but no error either. A Bearer that is not followed by exactly one token is an
// [*Error]. The scheme may be in any case. Whether the token is valid is for [Verifier.Verify] to say.
func Bearer(header string) (token string, present bool, err error) {
	const scheme = "bearer"
	header = strings.Trim(header, " \t")
	end := strings.IndexFunc(header, func(c rune) bool { return !isSchemeCharacter(c) })
	if end < 0 {
		end = len(header)
	}
	if !strings.EqualFold(header[:end], scheme) {
		return "", false, nil
	}
	rest := header[end:]
	token = strings.TrimLeft(rest, " ")
	if token == "" || token == rest || strings.ContainsFunc(token, func(c rune) bool { return !isTokenCharacter(c) }) {
		return "", true, refuse(`Authorization: expected "Bearer", a space and one token`)
	}
	return token, true, nil
}

// isSchemeCharacter reports whether an authentication scheme may hold c (RFC 9110, 11.1).
func isSchemeCharacter(c rune) bool {
	return isLetterOrDigit(c) || strings.ContainsRune("!#$%&'*+-.^_`|~", c)
}

// isTokenCharacter reports whether a bearer token may hold c (RFC 6750, 2.1).
func isTokenCharacter(c rune) bool {
	return isLetterOrDigit(c) || strings.ContainsRune("-._~+/=", c)
}

func isLetterOrDigit(c rune) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
