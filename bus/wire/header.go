package wire

import (
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
)

// Field is one header field, "Content-Type" and "application/json".
type Field struct{ Name, Value string }

// Header holds fields in the order in which they are or were sent. Names are case-insensitive.
type Header []Field

// Get returns the first value of the name, or "" if there is none.
func (h Header) Get(name string) string {
	for i := range h {
		if same(h[i].Name, name) {
			return h[i].Value
		}
	}
	return ""
}

// Has reports whether there is a field of the name, be its value empty.
func (h Header) Has(name string) bool {
	return slices.ContainsFunc(h, func(field Field) bool { return strings.EqualFold(field.Name, name) })
}

// Without returns a copy that lacks the fields of a name, and has room for one.
func (h Header) Without(name string) Header {
	kept := append(make(Header, 0, len(h)+1), h...)
	return slices.DeleteFunc(kept, func(field Field) bool { return strings.EqualFold(field.Name, name) })
}

// Add appends a field. Its name and value are checked when it is written, see AppendRequest.
func (h *Header) Add(name, value string) {
	*h = append(*h, Field{Name: name, Value: value})
}

// HTTP returns a new map of the fields by canonical name, with the values of each in order.
func (h Header) HTTP() http.Header {
	header := make(http.Header, len(h))
	values := make([]string, len(h)) // one allocation for all fields with a single value
	for i, field := range h {
		name := textproto.CanonicalMIMEHeaderKey(field.Name)
		if before := header[name]; before != nil {
			header[name] = append(before, field.Value)
			continue
		}
		values[i] = field.Value
		header[name] = values[i : i+1 : i+1]
	}
	return header
}

// FromHTTP returns the fields of a map sorted by name, so that equal maps are written as equal bytes. The values of a
// name keep their order. Control bytes in a value become spaces, and surrounding spaces are removed. Fields with
// reserved or invalid names are left out, and so are those that Connection names (RFC 9110, 7.6.1).
func FromHTTP(h http.Header) Header {
	size := 0
	for _, values := range h {
		size += len(values)
	}
	header := make(Header, 0, size)
	var room [16]string
	names := slices.AppendSeq(room[:0], maps.Keys(h))
	slices.Sort(names)
	for _, name := range names {
		if Reserved(name) || !isToken(name) || isHopByHop(h, name) {
			continue
		}
		for _, value := range h[name] {
			header.Add(name, trim(cleanText(value)))
		}
	}
	return header
}

// isHopByHop reports whether a Connection field of the map names this field.
func isHopByHop(h http.Header, name string) bool {
	for _, value := range h["Connection"] {
		for option := range strings.SplitSeq(value, ",") {
			if same(trim(option), name) {
				return true
			}
		}
	}
	return false
}
