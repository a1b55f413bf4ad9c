package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/strictjson"
	"github.com/busline/busline/reflectapi/testdata/greeting"
)

// Below are structs that embed in every way there is.
type (
	Base struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
		Kept bool
	}
	Shadows struct {
		Name []string `json:"name"`
		Base          // comes later, and loses nevertheless
	}
	Deeper struct {
		*Shadows
		ID float64 `json:"id"`
	}
	Twice struct {
		Base
		Other
	}
	Other struct {
		Name string
	}
	ByName struct {
		Base  `json:"base"`
		inner // not exported, and promotes nothing
	}
	TagWins struct {
		Base
		Label
	}
	Label struct {
		Text string `json:"Kept"` // as deep as Base.Kept, and named by its tag
	}
	Tagless struct {
		Base
		ID string `json:"Kept"`
	}
	Numbers struct {
		Int    int     `json:",string"`
		Float  float64 `json:"float,string,omitempty"`
		Null   *int64  `json:",string"`
		Unseen int     `json:"-"`
	}
)

// Text is a key and a value that writes itself.
type Text struct{ s string }

// MarshalText writes the text.
func (t Text) MarshalText() ([]byte, error) { return []byte("text:" + t.s), nil }

// Raw writes itself as whatever it likes.
type Raw struct{ Hidden chan int }

// MarshalJSON writes a list.
func (*Raw) MarshalJSON() ([]byte, error) { return []byte(`[1,{"a":null}]`), nil }

// Spread has the fields of another struct.
type Spread struct {
	Base Base `json:",embed"` //nolint:revive // an option of the codec's
	Last string
}

// Inlined has an option of jsonschema, which is none of the codec's.
type Inlined struct {
	Base Base `json:"kept,inline"` //nolint:revive // what is looked at
}

var leaves = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[string](), reflect.TypeFor[any](),
	reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](),
	reflect.TypeFor[int64](),
	reflect.TypeFor[uint](), reflect.TypeFor[uint8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](),
	reflect.TypeFor[uint64](),
	reflect.TypeFor[float32](), reflect.TypeFor[float64](),
	reflect.TypeFor[time.Time](), reflect.TypeFor[time.Duration](), reflect.TypeFor[netip.Addr](),
	reflect.TypeFor[[]byte](), reflect.TypeFor[[3]byte](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[Raw](),
	reflect.TypeFor[Text](),
	reflect.TypeFor[Color](), reflect.TypeFor[Hash](), reflect.TypeFor[Tags](), reflect.TypeFor[Point](),
	reflect.TypeFor[Tree](), reflect.TypeFor[greeting.Point](),
	reflect.TypeFor[Page[Point]](), reflect.TypeFor[Page[*greeting.Point]](), reflect.TypeFor[Pair[int8, []Color]](),
	reflect.TypeFor[Base](), reflect.TypeFor[Shadows](), reflect.TypeFor[Deeper](), reflect.TypeFor[Twice](),
	reflect.TypeFor[ByName](),
	reflect.TypeFor[Tagless](), reflect.TypeFor[TagWins](), reflect.TypeFor[json.Number](), reflect.TypeFor[Numbers](),
	reflect.TypeFor[struct{}](), reflect.TypeFor[Spread](), reflect.TypeFor[Inlined](),
}

// closedTypes do not have every value of their kind, nor even the zero one.
var closedTypes = []reflect.Type{reflect.TypeFor[shape](), reflect.TypeFor[*shape](), reflect.TypeFor[colour](),
	reflect.TypeFor[size](), reflect.TypeFor[many]()}

var keys = []reflect.Type{
	reflect.TypeFor[string](), reflect.TypeFor[Color](), reflect.TypeFor[int](), reflect.TypeFor[int8](),
	reflect.TypeFor[uint16](), reflect.TypeFor[netip.Addr](), reflect.TypeFor[Text](),
}

// TestSchemas_AcceptValues: the schema of any type is valid, accepts the JSON of every value
// and names every member of a struct.
func TestSchemas_AcceptValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		typ := randomType(t, 3)
		schemas := schema.NewSchemas("the-root")
		schema, err := schemas.Of(typ)
		if err != nil {
			t.Fatal(err)
		}
		validator := valid(t, schema, schemas.Components())
		results := schemas.Results()
		result, err := results.Of(typ)
		if err != nil {
			t.Fatal(err)
		}
		strict := valid(t, result, results.Components())
		for range 3 {
			value := reflect.New(typ)
			fill(t, value.Elem(), 4)
			data, err := strictjson.Marshal(value.Interface())
			if err != nil {
				t.Fatalf("%v: %v", typ, err)
			}
			var decoded any
			if err := json.Unmarshal(data, &decoded); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(validator.VisitJSON(decoded), strict.VisitJSON(decoded)); err != nil {
				t.Fatalf("%v: %s: %v", typ, data, err)
			}
			if unknown := undescribed(decoded, schema, schemas.Components()); unknown != "" {
				t.Fatalf("%v: %s: the schema does not know %s", typ, data, unknown)
			}
			again := reflect.New(typ)
			if strictjson.Unmarshal(data, again.Interface()) != nil {
				continue // a part of it writes itself, and does not read what it writes
			}
			back, err := strictjson.Marshal(again.Interface())
			var returned any
			if err == nil {
				err = json.Unmarshal(back, &returned)
			}
			if err != nil || !reflect.DeepEqual(withoutNulls(returned), withoutNulls(decoded)) {
				t.Fatalf("%v: %s comes back as %s, %v", typ, data, back, err)
			}
		}
	})
}

// withoutNulls removes the members of objects that are null: a pointer to a pointer to nothing is read as no pointer.
// It removes empty objects, too: a struct with an empty list that omitempty leaves out is not zero, and is read as
// zero.
func withoutNulls(value any) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = withoutNulls(value[i])
		}
	case map[string]any:
		for name, member := range value {
			value[name] = withoutNulls(member)
			if object, isObject := value[name].(map[string]any); value[name] == nil || isObject && len(object) == 0 {
				delete(value, name)
			}
		}
	}
	return value
}

// Every leaf once, so that none is left to chance.
func TestSchemas_OfLeaves(t *testing.T) {
	t.Parallel()
	schemas := schema.NewSchemas("the-root")
	for _, leaf := range leaves {
		schema, err := schemas.Of(leaf)
		require.NoError(t, err)
		validator := valid(t, schema, schemas.Components())
		data, err := strictjson.Marshal(reflect.New(leaf).Interface())
		if err != nil {
			t.Fatalf("%v: %v", leaf, err)
		}
		var decoded any
		require.NoError(t, json.Unmarshal(data, &decoded))
		if err := validator.VisitJSON(decoded); err != nil {
			t.Errorf("%v: %s: %v", leaf, data, err)
		}
		if unknown := undescribed(decoded, schema, schemas.Components()); unknown != "" {
			t.Errorf("%v: %s: the schema does not know %s", leaf, data, unknown)
		}
	}
}

// undescribed finds a member of an object that its schema has no property for, although the
// schema lists properties.
func undescribed(value any, schema *schema.Schema, components map[string]*schema.Schema) string {
	for len(schema.AllOf) == 1 {
		schema = schema.AllOf[0]
	}
	if name, ok := strings.CutPrefix(schema.Ref, "#/components/schemas/"); ok {
		return undescribed(value, components[name], components)
	}
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			if schema.Items != nil {
				if unknown := undescribed(element, schema.Items, components); unknown != "" {
					return unknown
				}
			}
		}
	case map[string]any:
		for name, member := range value {
			described := schema.Properties[name]
			if described == nil {
				described = schema.AdditionalProperties
			}
			if described == nil && len(schema.Properties) > 0 {
				return name
			}
			if described != nil {
				if unknown := undescribed(member, described, components); unknown != "" {
					return unknown
				}
			}
		}
	}
	return ""
}

func randomType(t *rapid.T, depth int) reflect.Type {
	if depth == 0 {
		return rapid.SampledFrom(leaves).Draw(t, "leaf")
	}
	switch rapid.IntRange(0, 7).Draw(t, "shape") {
	case 0:
		return reflect.PointerTo(randomType(t, depth-1))
	case 1:
		return reflect.SliceOf(randomType(t, depth-1))
	case 2:
		return reflect.ArrayOf(rapid.IntRange(0, 3).Draw(t, "length"), randomType(t, depth-1))
	case 3:
		return reflect.MapOf(rapid.SampledFrom(keys).Draw(t, "key"), randomType(t, depth-1))
	case 4, 5:
		return randomStruct(t, depth)
	case 6:
		return rapid.SampledFrom(closedTypes).Draw(t, "closed")
	}
	return rapid.SampledFrom(leaves).Draw(t, "leaf")
}

func randomStruct(t *rapid.T, depth int) reflect.Type {
	fields := make([]reflect.StructField, rapid.IntRange(0, 4).Draw(t, "fields"))
	for i := range fields {
		tag := rapid.SampledFrom([]string{
			"", `json:"%s"`, `json:"%s,omitempty"`, `json:",omitzero"`, `json:"%s" jsonschema:"description=a field"`,
			`json:"%s" jsonschema:"nullable"`,
		}).Draw(t, "tag")
		typ := randomType(t, depth-1)
		if typ == reflect.TypeFor[shape]() {
			tag = strings.TrimSuffix(tag, ` jsonschema:"nullable"`)
		}
		fields[i] = reflect.StructField{
			Name: fmt.Sprintf("Field%d", i),
			Type: typ,
			Tag:  reflect.StructTag(strings.Replace(tag, "%s", fmt.Sprintf("f%d", i), 1)),
		}
	}
	return reflect.StructOf(fields)
}

// fill gives a value some content.
func fill(t *rapid.T, v reflect.Value, depth int) {
	switch v.Type() {
	case reflect.TypeFor[colour]():
		v.SetString(rapid.SampledFrom([]string{"red", "blue", "green"}).Draw(t, "colour"))
		return
	case reflect.TypeFor[size]():
		v.SetUint(rapid.SampledFrom([]uint64{0, 2, 4}).Draw(t, "size"))
		return
	case reflect.TypeFor[shape]():
		fillShape(t, v, depth)
		return
	}
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(rapid.Int64Range(-6e10, 2e11).Draw(t, "time"), 5).UTC()))
		return
	case json.Number:
		v.SetString(rapid.SampledFrom([]string{"", "0", "-1.50", "1e9"}).Draw(t, "number"))
		return
	case netip.Addr:
		v.Set(reflect.ValueOf(netip.AddrFrom4([4]byte{10, 0, 0, rapid.Byte().Draw(t, "address")})))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(rapid.SampledFrom([]string{"null", "[1]", `{"a":2}`}).Draw(t, "raw"))))
		return
	}
	empty := depth <= 0 || rapid.IntRange(0, 3).Draw(t, "empty") == 0
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "int") >> (64 - v.Type().Bits()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "uint") >> (64 - v.Type().Bits()))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(rapid.Float64Range(-math.MaxFloat32, math.MaxFloat32).Draw(t, "float"))
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "string"))
	case reflect.Interface:
		if !empty {
			v.Set(reflect.ValueOf(rapid.SampledFrom([]any{"a", 1, []any{nil}, map[string]any{"b": 1.5}}).Draw(t, "any")))
		}
	case reflect.Pointer:
		if !empty {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), depth-1)
		}
	case reflect.Slice:
		if !empty {
			v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(0, 2).Draw(t, "length"), 2))
			fillElements(t, v, depth)
		}
	case reflect.Array:
		fillElements(t, v, depth)
	case reflect.Map:
		if !empty {
			key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(t, key, depth-1)
			fill(t, element, depth-1)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(key, element)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() && field.Kind() != reflect.Chan {
				fill(t, field, depth-1)
			}
		}
	}
}

func fillShape(t *rapid.T, v reflect.Value, depth int) {
	if depth <= 0 || rapid.Bool().Draw(t, "round") {
		v.Set(reflect.ValueOf(round{rapid.Float64Range(0, 9).Draw(t, "radius")}))
		return
	}
	held := new(many)
	fill(t, reflect.ValueOf(held).Elem(), depth-1)
	held.Kind = "many"
	v.Set(reflect.ValueOf(held))
}

func fillElements(t *rapid.T, v reflect.Value, depth int) {
	for i := range v.Len() {
		fill(t, v.Index(i), depth-1)
	}
}
