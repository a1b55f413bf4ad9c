package reflectapi

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// componentPrefix is where an OpenAPI document keeps its named schemas.
const componentPrefix = "#/components/schemas/"

// Schemas collects the schemas of one document. Structs, slices, arrays and maps that have
// a name of their own become components, recursive ones included; two types of one name
// stay apart. It is for one goroutine at a time.
type Schemas struct {
	names      map[reflect.Type]string
	types      map[string]reflect.Type // the inverse of names; nil for a reserved name
	components map[string]*Schema
	members    []structMember
}

// structMember is a field of a struct that was met, with the schema of both.
type structMember struct {
	owner  reflect.Type
	object *Schema
	field  jsonField
	schema *Schema
}

// NewSchemas makes an empty collection. No type becomes a component of a reserved name:
// they are for schemas that the caller adds.
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

// Of returns the schema of what JSON makes of a type: a reference to a component when the
// type has a name, else the schema itself. A member of a struct is required when its tag
// says so, and when it would break its own schema if it were missing, which is to be zero.
// A type that JSON cannot carry and a jsonschema tag that makes no sense are errors that say
// where; the collection is of no use after one.
func (s *Schemas) Of(t reflect.Type) (schema *Schema, err error) {
	if t == nil {
		return nil, errors.New("no type, no schema")
	}
	if obstacle := untransportable(t); obstacle != "" {
		return nil, fmt.Errorf("%v cannot travel as JSON: %s", t, obstacle)
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

// Components returns the named schemas collected so far, by name. The map is the
// collection's own.
func (s *Schemas) Components() map[string]*Schema { return s.components }

// nameOf gives every named type a name of its own. Those that become components share one
// namespace, the first to come has its pick; the others only have to be kept apart.
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

// componentName writes a type's name with the characters that a component may have:
// "Page[github.com/acme/shop.Item]" becomes "Page_Item".
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

// isComponent tells the types that jsonschema makes definitions of.
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
