package strictjson

import (
	"encoding"
	stdjson "encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// Plan says how values of one Go type are written as JSON, read, or copied to another type. It handles plain
// values itself, which is nearly everything that functions take and return:
//
//   - booleans, numbers, strings, []byte, times, pointers to what is plain, slices of it;
//   - structs of it, whose json tags say a name, "-", omitempty or omitzero, and which embed nothing;
//   - any and map[string]any that hold it, unions of it.
//
// It reports no errors. Anything else, in the type or the value, is left to the JSON library, which starts again and
// decides alone. A plan writes the same bytes as the library.
//
// A plan is immutable, and is safe for concurrent use.
type Plan struct {
	root        *node
	write, read json.Options // of the library
	readLong    json.Options // like read, decodes long integers exactly; nil if no value can contain an any

	keepsNotation bool // of numbers: there is a json.Number
	legacy        bool // there is a struct with tags that only encoding/json takes
}

// plans are the plans made so far, at most one for each type. They are never removed, because types exist as long as
// the program runs.
var plans sync.Map //nolint:gochecknoglobals // a cache: who calls Marshal and Unmarshal has no place to keep a plan

// PlanOf returns the plan of a type, made on first use. Every type has one; for a type that is not plain it leaves
// everything to the library.
func PlanOf(t reflect.Type) *Plan {
	if known, ok := plans.Load(t); ok {
		return known.(*Plan) //nolint:forcetypeassert // nothing else is stored
	}
	plan, _ := plans.LoadOrStore(t, newPlan(t))
	return plan.(*Plan) //nolint:forcetypeassert // nothing else is stored
}

// newPlan makes the plan of a type, with the library's options for what is not plain.
func newPlan(t reflect.Type) *Plan {
	common := dialect()
	isLegacy := walkLegacyTags(t, make(map[reflect.Type]bool))
	if isLegacy {
		common = json.JoinOptions(common, legacyTags())
	}
	p := &Plan{root: make(compiler).node(t), write: common, read: common, legacy: isLegacy}
	number, dynamic := walkNumbers(t, make(map[reflect.Type]bool))
	writers, readers := unionsIn(t, dynamic)
	if number || dynamic {
		writers = append(writers, json.MarshalToFunc(marshalNumber))
	}
	if len(writers) > 0 {
		p.write = json.JoinOptions(common, json.WithMarshalers(json.JoinMarshalers(writers...)))
	}
	p.keepsNotation = number
	if number {
		readers = append(readers, json.UnmarshalFromFunc(unmarshalNumber))
	}
	if len(readers) > 0 {
		p.read = json.JoinOptions(common, json.WithUnmarshalers(json.JoinUnmarshalers(readers...)))
	}
	if mayReadAny(t, make(map[reflect.Type]bool)) {
		readers = append(readers, json.UnmarshalFromFunc(unmarshalAny))
		p.readLong = json.JoinOptions(common, json.WithUnmarshalers(json.JoinUnmarshalers(readers...)))
	}
	return p
}

// kind says how a plan handles a value.
type kind uint8

const (
	notPlain kind = iota // left to the library
	plainBool
	plainInt
	plainUint
	plainFloat
	plainString
	plainBytes // in base64
	plainTime
	plainPointer
	plainList
	plainStruct
	plainAny
	plainMap
	plainUnion
)

// node is the plan of a type, or of a part of one.
type node struct {
	kind     kind
	writable bool    // everything in it is plain
	readable bool    // a reader reads it: a struct of what is plain in a text, too
	bits     int     // of a number's type
	elem     *node   // of a pointer's target, or of an element
	fields   []field // of a struct, in order
	folds    bool    // no two fields differ only in case

	variants map[reflect.Type]*variantNode // of a union
}

// variantNode is the plan of a variant of a union.
type variantNode struct {
	*node
	head string // `{"kind":"circle"`
}

// field is one field of a struct.
type field struct {
	*node
	index     int
	name      string
	quoted    string // "name":
	omitEmpty bool
}

// isReadable reports whether a reader reads it as a field.
func (n *node) isReadable() bool { return plainBool <= n.kind && n.kind <= plainString || n.readable }

// find returns the index of the field with a name, -1 if there is none.
func (n *node) find(name string) int {
	return slices.IndexFunc(n.fields, func(f field) bool { return f.name == name })
}

// fold returns the index of the field whose name differs at most in case, -1 if there is none. Names are ASCII.
func (n *node) fold(name string) int {
	return slices.IndexFunc(n.fields, func(f field) bool { return strings.EqualFold(f.name, name) })
}

// compiler makes the nodes of a type and of all types in it. It remembers finished ones, and treats those in progress
// as not plain: the depth of a recursive type's values is unknown.
type compiler map[reflect.Type]*node

func (c compiler) node(t reflect.Type) *node {
	if known, ok := c[t]; ok {
		return known
	}
	c[t] = new(node)
	n := c.make(t)
	c[t] = &n
	return &n
}

func (c compiler) make(t reflect.Type) node {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return node{kind: plainTime, writable: true}
	case t == reflect.TypeFor[stdjson.Number]():
		return node{} // a number, although its kind is string
	case t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface && hasMethods(t):
		return node{} // it marshals or unmarshals itself; for a pointer the type behind it decides
	}
	switch t.Kind() {
	case reflect.Bool:
		return node{kind: plainBool, writable: true}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return node{kind: plainInt, writable: true, bits: t.Bits()}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return node{kind: plainUint, writable: true, bits: t.Bits()}
	case reflect.Float32, reflect.Float64:
		return node{kind: plainFloat, writable: true, bits: t.Bits()}
	case reflect.String:
		return node{kind: plainString, writable: true}
	case reflect.Pointer:
		elem := c.node(t.Elem())
		return node{kind: plainPointer, writable: elem.writable, elem: elem}
	case reflect.Slice:
		return c.list(t)
	case reflect.Struct:
		return c.structure(t)
	case reflect.Interface:
		if union := UnionOf(t); union != nil {
			return c.union(union)
		}
		return node{kind: plainAny, writable: t.NumMethod() == 0}
	case reflect.Map:
		same := t.ConvertibleTo(reflect.TypeFor[map[string]any]())
		return node{kind: plainMap, writable: same}
	default:
		return node{}
	}
}

// hasMethods reports whether a type has a method to marshal or unmarshal itself.
func hasMethods(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return readsItself(t) ||
		p.Implements(reflect.TypeFor[json.MarshalerTo]()) ||
		p.Implements(reflect.TypeFor[stdjson.Marshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextAppender]()) ||
		p.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// list plans a slice. Slices of a named byte type are left to the library, which does not treat them as bytes.
func (c compiler) list(t reflect.Type) node {
	switch {
	case t.Elem() == reflect.TypeFor[byte]():
		return node{kind: plainBytes, writable: true}
	case t.Elem().Kind() == reflect.Uint8:
		return node{}
	}
	elem := c.node(t.Elem())
	return node{kind: plainList, writable: elem.writable, elem: elem}
}

// union plans a union. Variants that are not plain, or have the discriminator as a field, are left to the library.
func (c compiler) union(u *Union) node {
	n := node{kind: plainUnion, writable: true, variants: make(map[reflect.Type]*variantNode)}
	for i := range u.Variants {
		variant := &u.Variants[i]
		held := c.node(variant.Struct())
		if held.writable && held.kind == plainStruct && held.find(u.Discriminator) < 0 {
			n.variants[variant.Type] = &variantNode{held, string(variant.head(u))}
		}
	}
	return n
}

// structure plans a struct.
func (c compiler) structure(t reflect.Type) node {
	fields, plain := c.fields(t)
	if !plain {
		return node{}
	}
	n := node{kind: plainStruct, writable: true, readable: len(fields) <= maxReadable, fields: fields, folds: true}
	for place := range fields {
		f := &fields[place]
		n.writable = n.writable && f.writable
		n.readable = n.readable && f.isReadable()
		n.folds = n.folds && n.fold(f.name) == place
	}
	return n
}

// fields plans the fields of a struct that JSON shows; it returns false if any of them is not plain.
func (c compiler) fields(t reflect.Type) ([]field, bool) {
	var fields []field
	names := make(map[string]bool)
	if HasLegacyTags(t) {
		return nil, false
	}
	for source := range t.Fields() {
		f, shown, plain := c.field(source)
		if !plain || names[f.name] {
			return nil, false
		}
		if shown {
			names[f.name] = true
			fields = append(fields, f)
		}
	}
	hidden := len(fields) == 0 && t.NumField() > 0 // the library treats that as a mistake, unless there are tags
	return fields, !hidden
}

// field plans one field. The field is shown if it has a name in JSON.
func (c compiler) field(source reflect.StructField) (f field, shown, plain bool) {
	tag, tagged := source.Tag.Lookup("json")
	switch {
	case tag == "-":
		return field{}, false, true
	case source.Anonymous:
		return field{}, false, false
	case !source.IsExported():
		return field{}, false, !tagged
	}
	name, option, more := strings.Cut(tag, ",")
	if name == "" {
		name = source.Name
	}
	if !isPlainName(name) || more && option != "omitempty" && option != "omitzero" {
		return field{}, false, false
	}
	n := *c.node(source.Type)
	n.writable = n.writable && option != "omitzero"
	return field{&n, source.Index[0], name, `"` + name + `":`, option == "omitempty"}, true, true
}

// isPlainName reports whether a name is written without escapes in tags and in JSON, and all its letters fold only to
// their own upper and lower case.
func isPlainName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if lower := c | ('a' - 'A'); (lower < 'a' || 'z' < lower) && (c < '0' || '9' < c) && c != '_' &&
			c != '-' && c != '.' {
			return false
		}
	}
	return name != "-"
}
