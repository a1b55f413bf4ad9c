package schema

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/busline/busline/reflectapi/internal/gotype"
	"github.com/busline/busline/reflectapi/strictjson"
)

// Unencodable says which part of a type JSON cannot represent, or returns "":
//
//	"it is of type chan int", "field shop.Order.Lines.Notify is of type func()"
//
// Types that marshal themselves are trusted.
func Unencodable(t reflect.Type) string {
	return (&encodableCheck{seen: map[reflect.Type]bool{}}).obstacle(t, partOf{})
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

// encodableCheck visits each part of a type once, even if it is recursive.
type encodableCheck struct {
	seen map[reflect.Type]bool
}

func (c *encodableCheck) obstacle(t reflect.Type, where partOf) string {
	if c.seen[t] || WritesJSON(t) || WritesText(t) {
		return ""
	}
	c.seen[t] = true
	union, isRegistered := strictjson.RegisteredAsUnion(t)
	if isRegistered {
		if problem := unionProblem(union); problem != "" {
			return fmt.Sprintf("%s is of type %v, which %s", where, t, problem)
		}
		return c.anyObstacle(union.Structs())
	}
	if isStream(t) {
		return fmt.Sprintf("%s is of type %v: take or return a []byte, or make it a web method (w http.ResponseWriter, "+
			"r *http.Request)", where, t)
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Uintptr, reflect.Complex64, reflect.Complex128:
		return fmt.Sprintf("%s is of type %v", where, t)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return fmt.Sprintf("%s is of type %v, an interface, so it is unknown which type to decode: use a struct, or any, "+
				"or declare its variants with //busline:oneOf and run apigen for it", where, t)
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
			return fmt.Sprintf("a key of %s is of type %v: use a string, an integer or a type that marshals as text",
				where, t.Key())
		}
		return c.obstacle(t.Elem(), where.element())
	case reflect.Struct:
		return c.structObstacle(t, where)
	}
	return ""
}

// anyObstacle returns the first obstacle in several types.
func (c *encodableCheck) anyObstacle(types []reflect.Type) string {
	for _, t := range types {
		if obstacle := c.obstacle(t, partOf{}); obstacle != "" {
			return obstacle
		}
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

func (c *encodableCheck) structObstacle(t reflect.Type, where partOf) string {
	if embedsItself(t, nil) {
		return fmt.Sprintf("%s is of type %v, a struct that embeds itself", where, t)
	}
	if hidden := HiddenMember(t); hidden != "" {
		return hidden
	}
	fields := jsonFields(t)
	if len(fields) == 0 && t.NumField() > 0 && !hasJSONTag(t) && t != reflect.TypeFor[url.Userinfo]() {
		return fmt.Sprintf("%s is of type %v, a struct without exported fields: use a string, or a type that marshals itself",
			where, t)
	}
	if rivals := rivalsFor(t); rivals != "" {
		return rivals
	}
	if refusal := refusedByCodec(t); refusal != "" {
		return refusal
	}
	for _, f := range fields {
		in := where.in(t, f.goName)
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
		if owner, ok := owners[field.Name]; ok && field.Name != "" {
			return fmt.Sprintf("fields %s and %s of %v are both %q in JSON: give one of them another json tag", owner,
				field.goName, t, field.Name)
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
		if embeds(f) && embedsItself(gotype.Base(f.Type), append(within, t)) {
			return true
		}
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
	return WritesText(t)
}

// refusedByCodec returns why the JSON codec refuses a struct, or "": a json tag that cannot be parsed. The codec itself
// reports that only when the first value is encoded or decoded, and then for every value.
func refusedByCodec(t reflect.Type) string {
	if readsItself(t) {
		return ""
	}
	for f := range t.Fields() {
		if option := embeddedOption(f); option != "" {
			return fmt.Sprintf("field %v.%s: the json option %s is not for an embedded struct, whose fields are members in its "+
				`place: write json:",inline" or no json tag`, t, f.Name, option)
		}
	}
	err := strictjson.Unmarshal([]byte("{}"), reflect.New(t).Interface())
	if semantic, ok := errors.AsType[*jsonv2.SemanticError](err); ok && semantic.Err != nil {
		return fmt.Sprintf("%v is refused by the JSON codec: %v", t, semantic.Err)
	}
	return ""
}

// embeddedOption returns an option in the json tag of an embedded struct that the codec refuses there, "" for none.
func embeddedOption(f reflect.StructField) string {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if !f.Anonymous || name != "" || gotype.Base(f.Type).Kind() != reflect.Struct {
		return ""
	}
	for option := range strings.SplitSeq(options, ",") {
		kind, _, _ := strings.Cut(option, ":")
		if slices.Contains([]string{"omitempty", "omitzero", "string", "case", "format"}, kind) {
			return option
		}
	}
	return ""
}

// Unsettable returns why the codec cannot read a type that it can write, or "". An embedded pointer to a struct that is
// not exported cannot be set, which the codec reports only when a request has a member of that struct. One whose method
// reads the whole struct is nil when that is called.
func Unsettable(t reflect.Type) (reason string) {
	eachType(t, map[reflect.Type]bool{}, func(t reflect.Type) {
		t = gotype.Base(t) // a pointer has the methods, too
		if pointer := nilReader(t); pointer != nil && reason == "" {
			reason = fmt.Sprintf("cannot be read from JSON: %v is read by the %v that it embeds, which is nil: "+
				"embed it without the pointer", t, pointer)
		}
		if t.Kind() != reflect.Struct || isClosed(t) || readsItself(t) {
			return
		}
		for i := range t.NumField() {
			f := t.Field(i)
			if _, promotes := readField(jsonField{Type: t}, i); promotes && !f.IsExported() &&
				f.Type.Kind() == reflect.Pointer && reason == "" {
				reason = fmt.Sprintf("cannot be read from JSON: %v embeds %v, a pointer to a struct that is not exported: "+
					"embed it without the pointer, or export it", t, f.Type)
			}
		}
	})
	return reason
}

// nilReader returns the embedded pointer whose method reads the struct, or nil.
func nilReader(t reflect.Type) reflect.Type {
	method := readingMethod(t)
	if t.Kind() != reflect.Struct || method == "" {
		return nil
	}
	reader, _ := gotype.DeclaredIn(t, method)
	for f := range t.Fields() {
		if f.Anonymous && f.Type.Kind() == reflect.Pointer && f.Type.Elem() == reader {
			return f.Type
		}
	}
	return nil
}
