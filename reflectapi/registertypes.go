package reflectapi

import (
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/strictjson"
)

// Constant is one value of an enum.
type Constant[T any] struct {
	Value T
	Name  string // in Go, for numbers: documents have it as x-enum-varnames; "" for none
	Doc   string // of the constant: documents have it as x-enumDescriptions; "" for none
}

// RegisterEnum closes a named type: its schema lists these values as an enum, and arguments and members of the type are
// held to it, as by an enum in a jsonschema tag. A tag at a field may have an enum of its own instead. apigen writes
// the call, with all constants of the type, into the package of the type:
//
//	//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Colour
//
// A type that writes itself as text or JSON has what it writes for the values. A further call adds values. The result
// has no meaning, and RegisterEnum never fails; for a type of the language, such as string, it does nothing. It is
// called while packages are initialised, and is safe for concurrent use.
func RegisterEnum[T ~string | ~int | ~int8 | ~int16 | ~int32 | ~int64 |
	~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64](constants ...Constant[T]) struct{} {
	if t := reflect.TypeFor[T](); t.PkgPath() != "" {
		for _, each := range constants {
			schema.AddEnum(t, schema.Constant{Value: each.Value, Name: each.Name, Doc: each.Doc})
		}
	}
	return struct{}{}
}

// Variant is one of the types of a union.
type Variant[T any] struct {
	Name  string // value of the discriminator in JSON: "circle"
	Value T      // the zero value of the type, a struct or a pointer to one: Circle{}, or new(Circle)
	Doc   string // of the type, for documents; "" for none
}

// RegisterUnion makes a union of an interface type: arguments, results and members of the type hold one of the
// variants, and never nil. Their JSON is an object with the discriminator, a member that has the name of the variant:
// {"kind":"circle","radius":1}. Documents have oneOf with a discriminator. apigen writes the call for an interface that
// declares its variants,
//
//	//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Shape
//
//	//busline:oneOf kind circle=Circle square=Square
//	type Shape interface{ Area() float64 }
//
// and for the types of others it is called in code:
//
//	var _ = reflectapi.RegisterUnion("kind", "Shape has an area.",
//		reflectapi.Variant[geo.Shape]{Name: "circle", Value: geo.Circle{}},
//		reflectapi.Variant[geo.Shape]{Name: "square", Value: &geo.Square{}})
//
// A variant may have the discriminator as a field of its own, a string: it is written with the name of the variant
// whatever it holds. doc describes the union in documents; it may be empty.
//
// The result has no meaning, and RegisterUnion never fails: what is wrong with the variants is an error of Serve, and
// of a call in which a union is nil or holds another type. The last call for a type counts. It is called while packages
// are initialised, and is safe for concurrent use.
func RegisterUnion[T any](discriminator, doc string, variants ...Variant[T]) struct{} {
	registered := make([]strictjson.Variant, len(variants))
	for i, each := range variants {
		registered[i] = strictjson.Variant{Name: each.Name, Type: reflect.TypeOf(each.Value), Doc: each.Doc}
	}
	strictjson.RegisterUnion[T](discriminator, doc, registered)
	return struct{}{}
}

// RegisterSchema says what a type of another library is in documents, and holds arguments and members of the type to
// it, as a method JSONSchema does for a type of one's own. Without it a type that writes its own JSON may be anything:
//
//	var _ = reflectapi.RegisterSchema[decimal.Decimal](jsonschema.Schema{Type: "string", Pattern: `^-?[0-9]+(\.[0-9]+)?$`})
//
// with jsonschema from github.com/invopop/jsonschema. The result has no meaning, and RegisterSchema never fails: an
// invalid schema is an error of Serve. The last call for a type counts. It is called while packages are initialised,
// and is safe for concurrent use.
func RegisterSchema[T any](described jsonschema.Schema) struct{} {
	schema.Describe(reflect.TypeFor[T](), &described)
	return struct{}{}
}
