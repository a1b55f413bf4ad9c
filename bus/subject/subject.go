package subject

import (
	"strconv"
	"strings"
)

const (
	divider      = "|" // between host and method: neither a label nor a token can contain it
	responsePort = "r" // replaces the port in response subjects
	anyToken     = "*" // in a subscription: one token
	anyTokens    = ">" // in a subscription, last: one or more tokens
)

// Subject returns the subject for publishing a call, on the given plane. All parts are validated; an error is an *Error
// with status 400, or 414 if the subject would exceed MaxLength. An ordinary address costs one allocation.
func (a Address) Subject(plane string) (string, error) {
	if err := CheckPlane(plane); err != nil {
		return "", err
	}
	if err := a.check(); err != nil {
		return "", err
	}
	var buffer [256]byte
	subject := append(buffer[:0], plane...)
	subject = append(subject, '.')
	subject = strconv.AppendInt(subject, int64(a.Port), 10)
	subject = appendReversed(subject, a.Host)
	subject = append(subject, "."+divider+"."...)
	subject = append(subject, a.Method...)
	subject, err := appendTokens(subject, a.Path)
	if err != nil {
		return "", err
	}
	if len(subject) > MaxLength {
		return "", tooLong()
	}
	return string(subject), nil
}

// Parse parses the subject of a call: the inverse of Address.Subject. The path is returned in its canonical form, which
// escapes only what a URL path cannot contain (RFC 3986, 3.3). Anything that Address.Subject does not write, such as a
// subscription with wildcards, is an *Error.
func Parse(subject string) (plane string, a Address, err error) {
	if len(subject) > MaxLength {
		return "", Address{}, tooLong()
	}
	plane, rest, _ := strings.Cut(subject, ".")
	port, rest, _ := strings.Cut(rest, ".")
	host, rest, _ := strings.Cut(rest, "."+divider+".")
	method, tokens, complete := strings.Cut(rest, ".")
	if !complete {
		return "", Address{}, malformed("subject %s: not <plane>.<port>.<reversed host>.|.<method>.<path>", quote(subject))
	}
	if err := CheckPlane(plane); err != nil {
		return "", Address{}, err
	}
	a = Address{Host: reverse(host), Method: method}
	if a.Port, err = parsePort(port); err != nil {
		return "", Address{}, err
	}
	if a.Path, err = parseTokens(tokens); err != nil {
		return "", Address{}, err
	}
	if err := a.check(); err != nil {
		return "", Address{}, err
	}
	return plane, a, nil
}

// Subscription returns a subject for subscribing to calls: port and method may be "*", and each token is written by
// Escape, or is "*", or a final ">". The path needs at least one token. The parts are not validated.
func Subscription(plane, port, host, method string, tokens ...string) string {
	elements := append([]string{plane, port, reverse(host), divider, method}, tokens...)
	return strings.Join(elements, ".")
}

// Response returns the subject on which the instance id of host receives the acks and responses to its own calls. The
// caller has to validate all three parts, as those of a message cannot be trusted.
func Response(plane, host, id string) string {
	return strings.Join([]string{plane, responsePort, reverse(host), id}, ".")
}

// Instance returns the subject for subscribing to all calls addressed to one instance, on any port.
func Instance(plane, host, id string) string {
	return strings.Join([]string{plane, anyToken, reverse(host), id, divider, anyTokens}, ".")
}

// reverse turns "a.b.c" into "c.b.a".
func reverse(host string) string {
	var buffer [maxHostLength + 1]byte
	return string(appendReversed(buffer[:0], host)[1:])
}

// appendReversed appends the labels of host, last first, a dot before each.
func appendReversed(dst []byte, host string) []byte {
	for {
		dot := strings.LastIndexByte(host, '.')
		dst = append(dst, '.')
		dst = append(dst, host[dot+1:]...)
		if dot < 0 {
			return dst
		}
		host = host[:dot]
	}
}

// appendTokens appends the tokens of an escaped URL path, a dot before each.
func appendTokens(dst []byte, path string) ([]byte, error) {
	if len(path) > len("%41")*MaxLength { // longer than any path whose subject fits
		return nil, tooLong()
	}
	path, err := relative(path)
	if err != nil {
		return nil, err
	}
	for escaped := range strings.SplitSeq(path, "/") {
		segment, err := decode(escaped)
		if err != nil {
			return nil, err
		}
		dst = append(dst, '.')
		dst = appendToken(dst, segment)
	}
	return dst, nil
}

// parseTokens returns the escaped URL path of tokens joined by dots.
func parseTokens(tokens string) (string, error) {
	var buffer [256]byte
	path := buffer[:0]
	for token := range strings.SplitSeq(tokens, ".") {
		segment, err := Unescape(token)
		if err != nil {
			return "", err
		}
		path = append(path, '/')
		path = appendSegment(path, segment)
	}
	return string(path), nil
}
