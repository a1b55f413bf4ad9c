package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
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

// received is a message that has come. The names of its fields are in lower case.
type received struct {
	start  string // the request line, or the status line
	fields map[string]string
	body   []byte
}

// once are the fields that a message has no more than once.
var once = regexp.MustCompile("^(host|content-length|bus-(from-host|from-id|msg-id|op-code|time-budget|call-depth|caller-proof|actor|fragment|queue|window|method|content-length))$")

const (
	maxHead   = 80 << 10
	maxFields = 256
)

// read reads a message strictly, so that it has one meaning. Besides an error it returns what there is of the message,
// so that its sender gets an answer.
func read(text []byte) (received, error) {
	head, body, found := bytes.Cut(text, []byte("\r\n\r\n"))
	lines := strings.Split(string(head), "\r\n")
	m := received{start: lines[0], fields: make(map[string]string), body: body}
	var err error
	if !found || len(head)+4 > maxHead || len(lines) > 1+maxFields {
		err = errors.New("the head does not end, or is too long")
	}
	for _, line := range lines[1:] {
		err = cmp.Or(err, m.add(line))
	}
	length, ok := m.number("content-length", 0)
	if !ok || length != len(body) {
		err = cmp.Or(err, errors.New("Content-Length is not the length of the body"))
	}
	return m, err
}

// fieldForm is that of a field: a name, a colon, and a value without control bytes.
var fieldForm = regexp.MustCompile("^([-!#$%&'*+.^_`|~0-9A-Za-z]+):([^\x00-\x08\x0a-\x1f\x7f]*)$")

// add adds a field. If it is given twice, no value counts.
func (m received) add(line string) error {
	parts := fieldForm.FindStringSubmatch(line)
	if parts == nil {
		return errors.New("there is a line that is no field")
	}
	name, value := strings.ToLower(parts[1]), strings.Trim(parts[2], " \t")
	if name == "transfer-encoding" || name == "trailer" {
		return fmt.Errorf("%s is not used on the bus", name)
	}
	if _, twice := m.fields[name]; twice && once.MatchString(name) {
		m.fields[name] = ""
		return fmt.Errorf("%s is given twice", name)
	}
	m.fields[name] = value
	return nil
}

var numberForm = regexp.MustCompile(`^-?\d{1,9}$`)

// number reads a field that may be absent.
func (m received) number(name string, otherwise int) (number int, ok bool) {
	value, isSet := m.fields[name]
	if !isSet {
		return otherwise, true
	}
	number, err := strconv.Atoi(value)
	return number, err == nil && numberForm.MatchString(value)
}

// senderForm is that of a hostname, an instance id and a message id.
var senderForm = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)* [a-z][a-z0-9]{9} [A-Za-z0-9_-]{1,64}$`)

// tellsSender checks what becomes part of a subject, and what is echoed.
func (m received) tellsSender() bool {
	return senderForm.MatchString(strings.Join([]string{m.fields["bus-from-host"], m.fields["bus-from-id"],
		m.fields["bus-msg-id"]}, " "))
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
