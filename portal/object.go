package portal

import (
	"bytes"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// object is a JSON object that keeps its members, of any kind, in order.
type object []member

type member struct {
	name  string
	value jsontext.Value
}

var errNoObject = errors.New("not a JSON object")

// parseObject parses a JSON object. Duplicate names and trailing bytes are errors.
func parseObject(data []byte) (object, error) {
	if value := jsontext.Value(data); value.Kind() != '{' || !value.IsValid() {
		return nil, errNoObject
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(data))
	if _, err := decoder.ReadToken(); err != nil { // the opening brace
		return nil, err
	}
	var members object
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		read := member{name: name.String()}
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		read.value = value.Clone()
		members = append(members, read)
	}
	return members, nil
}

// text returns the value of a member that is a string, otherwise "".
func (o object) text(name string) string {
	for _, m := range o {
		if m.name == name && m.value.Kind() == '"' {
			unquoted, _ := jsontext.AppendUnquote(nil, m.value) // it has been validated already
			return string(unquoted)
		}
	}
	return ""
}

// isTrue says whether the value of a member is true.
func (o object) isTrue(name string) bool {
	return slices.ContainsFunc(o, func(m member) bool { return m.name == name && m.value.Kind() == 't' })
}

// set sets a member to a string.
func (o *object) set(name, text string) {
	value := quote(text)
	if at := slices.IndexFunc(*o, func(m member) bool { return m.name == name }); at >= 0 {
		(*o)[at].value = value
		return
	}
	*o = append(*o, member{name, value})
}

func (o object) json() []byte {
	text := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, quote(m.name)...)
		text = append(text, ':')
		text = append(text, m.value...)
	}
	return append(text, '}')
}

// quote encodes a string; bytes that are not UTF-8 become U+FFFD.
func quote(text string) jsontext.Value {
	quoted, _ := jsontext.AppendQuote(nil, []byte(text)) // the error only says that some bytes were not UTF-8
	return quoted
}
