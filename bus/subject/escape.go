package subject

import (
	"net/url"
	"strings"
)

// emptyToken stands for an empty segment. No other segment is escaped to a lone percent sign.
const emptyToken = "%"

// Escape returns the token of a decoded path segment: "b.txt" is "b%2Etxt", "" is "%".
func Escape(segment string) string {
	if segment != "" && all(segment, plain) {
		return segment
	}
	return string(appendToken(nil, segment))
}

// Unescape returns the decoded path segment of a token. It accepts only what Escape writes: an escape of a byte that
// needs none, or one in lower case, is an *Error, so that no two tokens mean the same.
func Unescape(token string) (string, error) {
	if token == emptyToken {
		return "", nil
	}
	segment, err := url.PathUnescape(token)
	if err != nil || Escape(segment) != token {
		return "", malformed(`token %s: contains something other than letters, digits, "-", "_", "~" and upper-case escapes`,
			quote(token))
	}
	return segment, nil
}

// Segments splits an escaped URL path at its slashes and percent-decodes each part once: "/a//b%2Fc" is "a", "", "b/c".
// Both "" and "/" are one empty segment. A path that does not begin with a slash, or contains a percent sign without
// two hex digits, is an *Error.
func Segments(path string) ([]string, error) {
	return AppendSegments(make([]string, 0, 1+strings.Count(path, "/")), path)
}

// AppendSegments appends what [Segments] returns.
func AppendSegments(segments []string, path string) ([]string, error) {
	path, err := relative(path)
	if err != nil {
		return nil, err
	}
	for escaped := range strings.SplitSeq(path, "/") {
		segment, err := decode(escaped)
		if err != nil {
			return nil, err
		}
		segments = append(segments, segment)
	}
	return segments, nil
}

// relative removes the leading slash of a path.
func relative(path string) (string, error) {
	if path != "" && path[0] != '/' {
		return "", malformed("path %s: does not begin with a slash", quote(path))
	}
	return strings.TrimPrefix(path, "/"), nil
}

// decode returns a percent-decoded path segment.
func decode(escaped string) (string, error) {
	segment, err := url.PathUnescape(escaped)
	if err != nil {
		return "", malformed("path segment %s: a percent sign without two hex digits; write %%25 for the sign itself",
			quote(escaped))
	}
	return segment, nil
}

// appendToken appends the token of a decoded segment.
func appendToken(dst []byte, segment string) []byte {
	if segment == "" {
		return append(dst, emptyToken...)
	}
	return appendEscaped(dst, segment, plain)
}

// appendSegment appends a decoded segment as in a URL path, with no more escapes than necessary (RFC 3986, 3.3).
func appendSegment(dst []byte, segment string) []byte {
	return appendEscaped(dst, segment, func(c byte) bool {
		return plain(c) || strings.IndexByte(".!$&'()*+,;=:@", c) >= 0
	})
}

// appendEscaped appends text, and escapes every byte that keep does not allow.
func appendEscaped(dst []byte, text string, keep func(byte) bool) []byte {
	const upperHex = "0123456789ABCDEF"
	for i := range len(text) {
		if c := text[i]; keep(c) {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst
}

// plain reports whether a token contains the byte unescaped.
func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '~'
}
