package main

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// field is a header field: a name and a value.
type field [2]string

// message writes an HTTP message. A value with a line end in it would become two fields: who calls this sees to it
// that there is none.
func message(startLine string, body []byte, fields ...field) []byte {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s\r\n", startLine)
	for _, f := range fields {
		fmt.Fprintf(&text, "%s: %s\r\n", f[0], f[1])
	}
	if len(body) > 0 {
		fmt.Fprintf(&text, "Content-Length: %d\r\n", len(body))
	}
	text.WriteString("\r\n")
	text.Write(body)
	return text.Bytes()
}

// endpointSubject is where an endpoint is found. The host may have an instance in front of it.
func (i *instance) endpointSubject(port, toHost, method, path string) string {
	return strings.Join([]string{i.plane, port, reversed(toHost), "|", method, tokens(path)}, ".")
}

// responseSubject is where an instance takes acks and responses.
func (i *instance) responseSubject(ofHost, id string) string {
	return strings.Join([]string{i.plane, "r", reversed(ofHost), id}, ".")
}

// reversed turns a.b.c into c.b.a.
func reversed(name string) string {
	labels := strings.Split(name, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}

// tokens turns the path of a URL into the end of a subject: /openapi.json into openapi%2Ejson.
func tokens(path string) string {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for n, segment := range segments {
		segments[n] = token(segment)
	}
	return strings.Join(segments, ".")
}

func token(segment string) string {
	if segment == "" {
		return "%"
	}
	if decoded, err := url.PathUnescape(segment); err == nil {
		segment = decoded
	}
	var escaped strings.Builder
	for _, b := range []byte(segment) {
		switch {
		case 'A' <= b && b <= 'Z', 'a' <= b && b <= 'z', '0' <= b && b <= '9', b == '-', b == '_', b == '~':
			escaped.WriteByte(b)
		default:
			fmt.Fprintf(&escaped, "%%%02X", b)
		}
	}
	return escaped.String()
}
