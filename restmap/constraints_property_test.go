package restmap_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/jsonschema"
)

// TestConstraints_AreThoseOfTheDocument has random types and bodies, FuzzConstraints those that a fuzzer makes.
func TestConstraints_AreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	rapid.Check(t, constraintsAreThoseOfTheDocument)
}

func FuzzConstraints(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(constraintsAreThoseOfTheDocument))
}

// constraintsAreThoseOfTheDocument: whatever a type asks for in its tags, a request passes when two validators let it
// pass, and no other does. One knows only the document in OpenAPI 3.0.0, one only the schema of 3.1.
func constraintsAreThoseOfTheDocument(t *rapid.T) {
	typ := constrainedStruct(t, 2)
	endpoint := endpointFor(t, typ)
	older, newer := validatorsOf(t, endpoint.Method.In)
	for range 8 {
		body := map[string]any{}
		if rapid.IntRange(0, 9).Draw(t, "given") > 0 {
			body["p"] = randomValue(t, typ)
		}
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		_, refused := endpoint.Decode(&restmap.Request{ContentType: "application/json", Body: data})
		_, ok := endpoint.TakeValues(body, 1<<20)
		if violation := older.VisitJSON(body); (refused == nil) != (violation == nil) {
			t.Fatalf("%v\n%s\nwe say %v, OpenAPI 3.0.0 says %v", typ, data, refused, violation)
		}
		if violation := newer.Validate(body); (refused == nil) != (violation == nil) {
			t.Fatalf("%v\n%s\nwe say %v, JSON Schema 2020-12 says %v", typ, data, refused, violation)
		}
		if input, ok := errors.AsType[*restmap.InputError](refused); refused != nil &&
			(!ok || input.Status != 422 || len(input.Arguments) == 0) {
			t.Fatalf("%v\n%s\n%#v", typ, data, refused)
		}
		if ok && refused != nil {
			t.Fatalf("%v\n%s\nis taken by value, though %v", typ, data, refused)
		}
	}
}

// endpointFor returns an endpoint for a method with one argument, p.
func endpointFor(t rapid.TB, typ reflect.Type) *restmap.Endpoint {
	t.Helper()
	endpoints, err := restmap.Map(serviceFor(typ), restmap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return endpoints[0]
}

// mapOf maps a method with one argument, p.
func mapOf(t *testing.T, typ reflect.Type) error {
	t.Helper()
	_, err := restmap.Map(serviceFor(typ), restmap.Options{})
	return err
}

func serviceFor(typ reflect.Type) *reflectapi.Service {
	method := &reflectapi.Method{
		Name: "Do", Args: []reflectapi.Value{{Name: "p", Type: typ}},
		In:  reflect.StructOf([]reflect.StructField{{Name: "Field0", Type: typ, Tag: `json:"p" schema:"p"`}}),
		Out: reflect.TypeFor[struct{}](),
	}
	return &reflectapi.Service{Name: "Service", Methods: []*reflectapi.Method{method}}
}

// validatorsOf parses the schema of a type, as OpenAPI 3.0.0 has it and as 3.1 does.
func validatorsOf(t rapid.TB, typ reflect.Type) (*openapi3.Schema, *validator.Schema) {
	t.Helper()
	schemas := schema.NewSchemas("in")
	in, err := schemas.Of(typ)
	if err != nil {
		t.Fatal(err)
	}
	older, newer := map[string]any{"in": in}, map[string]any{"in": jsonschema.Of(in)}
	for name, component := range schemas.Components() {
		older[name], newer[name] = component, jsonschema.Of(component)
	}
	document, err := openapi3.NewLoader().LoadFromData(documentOf(t, older))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := validator.UnmarshalJSON(bytes.NewReader(documentOf(t, newer)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := validator.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("https://document.example", parsed); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("https://document.example#/components/schemas/in")
	if err != nil {
		t.Fatal(err)
	}
	return document.Components.Schemas["in"].Value, compiled
}

func documentOf(t rapid.TB, schemas map[string]any) []byte {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"openapi": "3.0.0", "info": map[string]any{"title": "t", "version": "1"}, "paths": map[string]any{},
		"components": map[string]any{"schemas": schemas},
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// constrainedStruct returns a struct type whose fields have all constraints that tags can express.
func constrainedStruct(t *rapid.T, depth int) reflect.Type {
	fields := make([]reflect.StructField, rapid.IntRange(1, 3).Draw(t, "fields"))
	for i := range fields {
		typ, tags := constrainedType(t, depth)
		name := fmt.Sprintf("f%d", i)
		option := rapid.SampledFrom([]string{"", "", ",omitempty", ",omitzero"}).Draw(t, "option")
		if rapid.IntRange(0, 5).Draw(t, "required") == 0 {
			tags = append(tags, "required")
		}
		fields[i] = reflect.StructField{
			Name: strings.ToUpper(name), Type: typ,
			Tag: reflect.StructTag(fmt.Sprintf("json:%q jsonschema:%q", name+option, strings.Join(tags, ","))),
		}
	}
	return reflect.StructOf(fields)
}

func constrainedType(t *rapid.T, depth int) (typ reflect.Type, tags []string) {
	may := func(tag string) {
		if rapid.IntRange(0, 2).Draw(t, tag) == 0 {
			tags = append(tags, tag)
		}
	}
	text := func() {
		for _, tag := range []string{"minLength=2", "maxLength=3", "pattern=^[ab]*$"} {
			may(tag)
		}
		may(rapid.SampledFrom([]string{"format=date", "enum=ab,enum=abc"}).Draw(t, "values")) // no value has both
	}
	number := func() {
		for _, tag := range []string{"minimum=1", "maximum=6", "exclusiveMinimum=1", "exclusiveMaximum=6", "multipleOf=2",
			"enum=2,enum=4,enum=7"} {
			may(tag)
		}
	}
	list := func() {
		for _, tag := range []string{"minItems=1", "maxItems=2", "uniqueItems=true"} {
			may(tag)
		}
	}
	switch rapid.IntRange(0, 13).Draw(t, "kind") {
	case 0, 1:
		text()
		return reflect.TypeFor[string](), tags
	case 2:
		number()
		return reflect.TypeFor[int](), tags
	case 3:
		number()
		return reflect.TypeFor[float64](), tags
	case 4:
		number()
		return reflect.TypeFor[uint8](), tags
	case 5:
		list()
		text()
		return reflect.TypeFor[[]string](), tags
	case 6:
		list()
		number()
		return reflect.TypeFor[[]int](), tags
	case 7:
		number()
		return reflect.TypeFor[*int](), tags
	case 8:
		return reflect.TypeFor[bool](), tags
	case 9:
		return rapid.SampledFrom([]reflect.Type{reflect.TypeFor[payment](), reflect.TypeFor[*payment](),
			reflect.TypeFor[[]payment](), reflect.TypeFor[map[string]payment]()}).Draw(t, "union"), nil
	case 10:
		return reflect.TypeFor[grade](), nil
	}
	if depth == 0 {
		text()
		return reflect.TypeFor[string](), tags
	}
	inner := constrainedStruct(t, depth-1)
	switch rapid.IntRange(0, 3).Draw(t, "container") {
	case 0:
		list()
		return reflect.SliceOf(inner), tags
	case 1:
		return reflect.MapOf(reflect.TypeFor[string](), inner), tags
	case 2:
		return reflect.PointerTo(inner), tags
	}
	return inner, tags
}

// grade is an enum.
type grade int

var _ = reflectapi.RegisterEnum(reflectapi.Constant[grade]{Value: 2}, reflectapi.Constant[grade]{Value: 7})

// randomPayment returns JSON of a variant, near the limits in the tags of its members.
func randomPayment(t *rapid.T) any {
	if rapid.Bool().Draw(t, "card") {
		return map[string]any{"kind": "card", "limit": rapid.SampledFrom([]float64{0, 100, 101}).Draw(t, "limit"),
			"number": rapid.SampledFrom([]string{"", "471", "4711"}).Draw(t, "number")}
	}
	held := map[string]any{"kind": "transfer", "iban": "A"}
	if rapid.IntRange(0, 2).Draw(t, "rest") == 0 {
		held["rest"] = randomPayment(t)
	}
	return held
}

// randomValue returns JSON that fits a type, near the limits in its tags.
func randomValue(t *rapid.T, typ reflect.Type) any {
	switch typ.Kind() {
	case reflect.Pointer:
		return randomValue(t, typ.Elem())
	case reflect.Interface:
		return randomPayment(t)
	case reflect.String:
		return rapid.SampledFrom([]string{"", "a", "ab", "abc", "abca", "cab", "2024-05-06", "ä", "äö"}).Draw(t, "string")
	case reflect.Bool:
		return rapid.Bool().Draw(t, "bool")
	case reflect.Float64:
		return rapid.SampledFrom([]float64{0, 1, 1.5, 2, 4, 5.5, 6, 7, 8}).Draw(t, "float")
	case reflect.Int, reflect.Uint8:
		return float64(rapid.IntRange(0, 8).Draw(t, "int"))
	case reflect.Slice:
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range list {
			list[i] = randomValue(t, typ.Elem())
		}
		return list
	case reflect.Map:
		object := map[string]any{}
		for _, name := range []string{"k", "l"}[:rapid.IntRange(0, 2).Draw(t, "members")] {
			object[name] = randomValue(t, typ.Elem())
		}
		return object
	}
	object := map[string]any{}
	for field := range typ.Fields() {
		if rapid.IntRange(0, 5).Draw(t, "absent") > 0 {
			object[strings.ToLower(field.Name)] = randomValue(t, field.Type)
		}
	}
	return object
}
