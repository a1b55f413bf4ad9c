package reflectapi

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"os"
	"reflect"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
)

// untransportable says which part of a type JSON cannot represent, or returns "":
//
//	"it is of type chan int", "field shop.Order.Lines.Notify is of type func()"
//
// Types that marshal themselves are trusted.
func untransportable(t reflect.Type) string {
	return (&transportCheck{seen: map[reflect.Type]bool{}}).obstacle(t, partOf{})
}

// partOf is a part of a type: the type itself, or a field, or an element of one of these.
type partOf struct {
	field    string // "shop.Order.Lines", from the outermost struct; "" for the type itself
	elements string // "an element of ", …
}

// in returns the part that is a field of a struct.
func (p partOf) in(t reflect.Type, name string) partOf {
	return partOf{field: cmp.Or(p.field, t.String()) + "." + name}
}

// element returns what the part has as elements.
func (p partOf) element() partOf { return partOf{p.field, "an element of " + p.elements} }

// String returns the beginning of a sentence: "it", "an element of field shop.Order.Lines".
func (p partOf) String() string {
	if p.field == "" {
		return p.elements + "it"
	}
	return p.elements + "field " + p.field
}

// transportCheck visits each part of a type once, even if it is recursive.
type transportCheck struct {
	seen map[reflect.Type]bool
}

func (c *transportCheck) obstacle(t reflect.Type, where partOf) string {
	if c.seen[t] || writesJSON(t) || writesText(t) {
		return ""
	}
	c.seen[t] = true
	if isStream(t) {
		return fmt.Sprintf("%s is of type %v: take or return a []byte, or make it a web method (w http.ResponseWriter, r *http.Request)", where, t)
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Uintptr, reflect.Complex64, reflect.Complex128:
		return fmt.Sprintf("%s is of type %v", where, t)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return fmt.Sprintf("%s is of type %v, an interface, so it is unknown which type to decode: use a struct, or any", where, t)
		}
	case reflect.Pointer:
		if pointsToItself(t) {
			return fmt.Sprintf("%s is of type %v, a pointer to itself", where, t)
		}
		return c.obstacle(t.Elem(), where)
	case reflect.Slice, reflect.Array:
		return c.obstacle(t.Elem(), where.element())
	case reflect.Map:
		if !isMapKey(t.Key()) {
			return fmt.Sprintf("a key of %s is of type %v: use a string, an integer or a type that marshals as text", where, t.Key())
		}
		return c.obstacle(t.Elem(), where.element())
	case reflect.Struct:
		return c.structObstacle(t, where)
	}
	return ""
}

// isStream reports whether a value is read or written as a stream, such as a file or an upload. The fields of a
// multipart.FileHeader could be sent, but not the contents of the file.
func isStream(t reflect.Type) bool {
	if t.Kind() != reflect.Interface {
		return t == reflect.TypeFor[multipart.FileHeader]() || t == reflect.TypeFor[os.File]()
	}
	return t.Implements(reflect.TypeFor[io.Reader]()) || t.Implements(reflect.TypeFor[io.Writer]())
}

func (c *transportCheck) structObstacle(t reflect.Type, where partOf) string {
	if embedsItself(t, nil) {
		return fmt.Sprintf("%s is of type %v, a struct that embeds itself", where, t)
	}
	fields := jsonFields(t)
	if len(fields) == 0 && t.NumField() > 0 && !hasJSONTag(t) {
		return fmt.Sprintf("%s is of type %v, a struct without exported fields: use a string, or a type that marshals itself", where, t)
	}
	if rivals := rivalsFor(t); rivals != "" {
		return rivals
	}
	if refusal := refusedByCodec(t); refusal != "" {
		return refusal
	}
	for _, f := range fields {
		in := where.in(t, f.goName)
		if f.Quoted && !mayBeQuoted(f.Type) {
			return fmt.Sprintf("%s is of type %v: the json option string is only for numbers", in, f.Type)
		}
		if obstacle := c.obstacle(f.Type, in); obstacle != "" {
			return obstacle
		}
	}
	return ""
}

// rivalsFor finds two fields of one struct with the same name in JSON, including embedded structs. The codec refuses
// every value of such a type, but only when it encodes or decodes the first one.
func rivalsFor(t reflect.Type) string {
	owners := map[string]string{} // Go names, by JSON name
	for i := range t.NumField() {
		field, promotes := readField(jsonField{Type: t}, i)
		if promotes {
			if rivals := rivalsFor(field.Type); rivals != "" {
				return rivals
			}
			continue
		}
		if owner, taken := owners[field.Name]; taken && field.Name != "" {
			return fmt.Sprintf("fields %s and %s of %v are both %q in JSON: give one of them another json tag", owner, field.goName, t, field.Name)
		}
		owners[field.Name] = field.goName
	}
	return ""
}

func hasJSONTag(t reflect.Type) bool {
	for f := range t.Fields() {
		if _, tagged := f.Tag.Lookup("json"); tagged {
			return true
		}
	}
	return false
}

// embedsItself reports whether a type is like "type T struct{ *T }", which is legal Go but makes jsonschema recurse
// without end.
func embedsItself(t reflect.Type, within []reflect.Type) bool {
	if slices.Contains(within, t) {
		return true
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	for f := range t.Fields() {
		if embeds(f) && embedsItself(base(f.Type), append(within, t)) {
			return true
		}
	}
	return false
}

// pointsToItself reports whether a type is like "type T *T", which is legal Go but makes any walk over types recurse
// without end.
func pointsToItself(t reflect.Type) bool {
	met := map[reflect.Type]bool{}
	for ; t.Kind() == reflect.Pointer; t = t.Elem() {
		if met[t] {
			return true
		}
		met[t] = true
	}
	return false
}

func isMapKey(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	}
	return writesText(t)
}

// writesJSON reports whether a type marshals itself to JSON, even if only its pointer has the method: the codec takes
// the address.
func writesJSON(t reflect.Type) bool {
	return implements[json.Marshaler](t) || implements[jsonv2.MarshalerTo](t)
}

// writesText reports whether a type marshals itself to text, and so becomes a JSON string, unless it marshals itself to
// JSON.
func writesText(t reflect.Type) bool {
	return implements[encoding.TextMarshaler](t) || implements[encoding.TextAppender](t)
}

// implements reports whether t or *t has the methods of I. It is false for interface types: the value in them decides.
func implements[I any](t reflect.Type) bool {
	iface := reflect.TypeFor[I]()
	return t.Kind() != reflect.Interface && (t.Implements(iface) || reflect.PointerTo(t).Implements(iface))
}
