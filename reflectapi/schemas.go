package reflectapi

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// componentPrefix is where an OpenAPI document has its named schemas.
const componentPrefix = "#/components/schemas/"

// Schemas collects the schemas of one document. Structs, slices, arrays and maps with a name become components,
// including recursive ones; two types of the same name get different components. Use it from one goroutine at a time.
type Schemas struct {
	names      map[reflect.Type]string
	types      map[string]reflect.Type // the inverse of names; nil for a reserved name
	components map[string]*Schema
	members    []structMember
}

// structMember is a field of a struct, with the schemas of both.
type structMember struct {
	owner  reflect.Type
	object *Schema
	field  jsonField
	schema *Schema
}

// NewSchemas returns an empty collection. Types do not become components of a reserved name: the caller adds those
// schemas itself.
func NewSchemas(reserved ...string) *Schemas {
	s := &Schemas{
		names:      map[reflect.Type]string{},
		types:      map[string]reflect.Type{},
		components: map[string]*Schema{},
	}
	for _, name := range reserved {
		s.types[name] = nil
	}
	return s
}

// Of returns the schema of a type's JSON: a reference to a component if the type has a name, otherwise the schema
// itself. A member of a struct is required if its tag says so, or if its zero value, which it has when it is missing,
// would violate its own schema. A type that JSON cannot represent and an invalid jsonschema tag are errors that say
// where; the collection cannot be used after an error.
func (s *Schemas) Of(t reflect.Type) (schema *Schema, err error) {
	if t == nil {
		return nil, errors.New("the type is nil, so there is no schema")
	}
	if obstacle := untransportable(t); obstacle != "" {
		return nil, fmt.Errorf("%v cannot be encoded as JSON: %s", t, obstacle)
	}
	if err := checkTags(t); err != nil {
		return nil, err
	}
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("schema of %v: %v", t, fault)
		}
	}()
	root := s.reflector().ReflectFromType(t)
	c := &converter{schemas: s, definitions: root.Definitions}
	root.Version, root.Definitions = "", nil
	schema = c.convert(root, t)
	c.finish()
	if c.fault != nil {
		return nil, fmt.Errorf("schema of %v: %w", t, c.fault)
	}
	return schema, nil
}

// Components returns the named schemas collected so far, by name. The map belongs to the collection.
func (s *Schemas) Components() map[string]*Schema { return s.components }

// nameOf returns a unique name for a named type. Components share one namespace, in which the first type has first
// choice; other types only need to be distinct.
func (s *Schemas) nameOf(t reflect.Type) string {
	if t.PkgPath() == "" || t.Name() == "" {
		return ""
	}
	if !isComponent(t) {
		return t.PkgPath() + "." + t.Name()
	}
	name, known := s.names[t]
	if !known {
		name = s.freeName(t)
		s.names[t], s.types[name] = name, t
	}
	return name
}

// freeName tries "Point", "geo.Point", "geo.Point2" and so on.
func (s *Schemas) freeName(t reflect.Type) string {
	name := componentName(t.Name())
	qualified := componentName(packageName(t)) + "." + name
	for i := 1; ; i++ {
		if _, taken := s.types[name]; !taken {
			return name
		}
		name = qualified
		if i > 1 {
			name += strconv.Itoa(i)
		}
	}
}

// componentName returns a type's name in the characters allowed for a component: "Page[github.com/acme/shop.Item]"
// becomes "Page_Item".
//
// https://spec.openapis.org/oas/v3.0.0#components-object
func componentName(typeName string) string {
	name := strings.TrimRight(qualifier.ReplaceAllString(typeName, ""), "]")
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '.', r == '_':
			return r
		}
		return '_'
	}, name)
}

// isComponent reports whether jsonschema makes a definition of a type.
func isComponent(t reflect.Type) bool {
	if describesItself(t) {
		return true
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Slice, reflect.Array, reflect.Map:
		return opaque(t) == nil
	}
	return false
}
