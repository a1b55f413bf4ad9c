package schema_test

import (
	"encoding/json"
	"log/slog"
	"math/big"
	"net"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/schema"
)

// Color is text.
type Color string

// Hash is bytes.
type Hash []byte

// Tags is a list.
type Tags []string

// Tree refers to itself.
type Tree struct {
	Value    int              `json:"value"`
	Children []*Tree          `json:"children"`
	Named    map[string]*Tree `json:"named"`
	Parent   *Tree            `json:"parent"`
}

// Tagged uses what the tags can say.
type Tagged struct {
	Name    string   `json:"name" jsonschema:"required,minLength=2,maxLength=5,pattern=^[a-z]+$,title=A name,description=What it is called,example=tea"`
	Size    string   `json:"size" jsonschema:"enum=S,enum=M,default=M"`
	Count   int      `json:"count" jsonschema:"minimum=1,exclusiveMaximum=10,multipleOf=2,default=4,enum=2,enum=4"`
	Ratio   float32  `json:"ratio,omitempty" jsonschema:"exclusiveMinimum=0.5,minimum=0.1"`
	Levels  []int    `json:"levels" jsonschema:"minItems=1,maxItems=3,uniqueItems=true,default=1,default=2"`
	Flag    bool     `json:"flag" jsonschema:"default=true"`
	Point   Point    `json:"point" jsonschema:"description=Where"`
	Maybe   *int     `json:"maybe" jsonschema:"nullable"`
	Either  any      `json:"either" jsonschema:"oneof_type=string;integer"`
	Elsewhe any      `json:"elsewhere" jsonschema:"oneof_ref=https://example.com/schema.json"`
	Hidden  string   `json:"hidden" jsonschema:"-"`
	Old     []string `json:"old" jsonschema_extras:"deprecated=true"`
	Quoted  int64    `json:"quoted,string"`
	Choice  *Color   `json:"choice" jsonschema:"enum=red,enum=green"`
}

func TestSchema_OfType(t *testing.T) {
	t.Parallel()
	const point = `{"type":"object","properties":{"x":{"type":"number","format":"double"},"y":{"type":"number","format":"double"}}}`
	for _, test := range []struct {
		name       string
		value      any
		schema     string
		components map[string]string
	}{
		{"bool", false, `{"type":"boolean"}`, nil},
		{"string", "", `{"type":"string"}`, nil},
		{"named string", Color(""), `{"type":"string"}`, nil},
		{"int", 0, `{"type":"integer","format":"int64"}`, nil},
		{"int64", int64(0), `{"type":"integer","format":"int64"}`, nil},
		{"int32", int32(0), `{"type":"integer","format":"int32"}`, nil},
		{"int16", int16(0), `{"type":"integer","format":"int32","minimum":-32768,"maximum":32767}`, nil},
		{"int8", int8(0), `{"type":"integer","format":"int32","minimum":-128,"maximum":127}`, nil},
		{"uint8", uint8(0), `{"type":"integer","format":"int64","minimum":0,"maximum":255}`, nil},
		{"uint32", uint32(0), `{"type":"integer","format":"int64","minimum":0,"maximum":4294967295}`, nil},
		{"uint64", uint64(0), `{"type":"integer","format":"uint64","minimum":0}`, nil},
		{"uint", uint(0), `{"type":"integer","format":"uint64","minimum":0}`, nil},
		{"float64", 0.0, `{"type":"number","format":"double"}`, nil},
		{"float32", float32(0), `{"type":"number","format":"float"}`, nil},
		{"time", time.Time{}, `{"type":"string","format":"date-time"}`, nil},
		{"duration", time.Duration(0), `{"description":"nanoseconds","type":"integer","format":"int64"}`, nil},
		{"durations", []*time.Duration(nil),
			`{"type":"array","items":{"description":"nanoseconds","type":"integer","format":"int64","nullable":true}}`, nil},
		{"said of a duration", struct {
			Wait time.Duration `json:"wait" jsonschema:"description=how long"`
		}{}, `{"type":"object","properties":{"wait":{"description":"how long","type":"integer","format":"int64"}}}`, nil},
		{"bytes", []byte(nil), `{"type":"string","format":"byte"}`, nil},
		{"named bytes", Hash(nil), `{"$ref":"#/components/schemas/Hash"}`,
			map[string]string{"Hash": `{"type":"string","format":"byte"}`}},
		{"byte array", [2]byte{},
			`{"type":"array","items":{"type":"integer","format":"int64","minimum":0,"maximum":255},"minItems":2,"maxItems":2}`,
			nil},
		{"slice", []string(nil), `{"type":"array","items":{"type":"string"}}`, nil},
		{"named slice", Tags(nil), `{"$ref":"#/components/schemas/Tags"}`,
			map[string]string{"Tags": `{"type":"array","items":{"type":"string"}}`}},
		{"map", map[string]int(nil), `{"type":"object","additionalProperties":{"type":"integer","format":"int64"}}`, nil},
		{"map by int", map[int]*Color(nil), `{"type":"object","additionalProperties":{"type":"string","nullable":true}}`,
			nil},
		{"map by uint", map[uint8]bool(nil), `{"type":"object","additionalProperties":{"type":"boolean"}}`, nil},
		{"map of any", map[string]any(nil), `{"type":"object","additionalProperties":{}}`, nil},
		{"pointer", new(int), `{"type":"integer","format":"int64","nullable":true}`, nil},
		{"two pointers", new(*int), `{"type":"integer","format":"int64","nullable":true}`, nil},
		{"number", json.Number(""), `{"type":"number"}`, nil},
		{"limited number", struct {
			N json.Number `json:"n" jsonschema:"minimum=1"`
		}{}, `{"type":"object","properties":{"n":{"type":"number","minimum":1}},"required":["n"]}`, nil},
		{"raw message", json.RawMessage(nil), `{}`, nil},
		{"own JSON", slog.LevelInfo, `{}`, nil},
		{"long integer", big.Int{}, `{"type":"integer"}`, nil},
		{"own text", netip.Addr{}, `{"type":"string"}`, nil},
		{"IP", net.IP{}, `{"type":"string"}`, nil},
		{"empty struct", struct{}{}, `{"type":"object"}`, nil},
		{"list of any", []any(nil), `{"type":"array","items":{}}`, nil},
		{"struct", Point{}, `{"$ref":"#/components/schemas/Point"}`, map[string]string{"Point": point}},
		{"pointer to struct", &Point{}, `{"type":"object","nullable":true,"allOf":[{"$ref":"#/components/schemas/Point"}]}`,
			map[string]string{"Point": point}},
		{"anonymous struct", struct {
			P []*Point `json:"p"`
			q int
		}{}, `{"type":"object","properties":{"p":{"type":"array","items":{"type":"object","nullable":true,"allOf":[{"$ref":"#/components/schemas/Point"}]}}}}`,
			map[string]string{"Point": point}},
		{"generic", Page[Page[Point]]{}, `{"$ref":"#/components/schemas/Page_Page_Point"}`, map[string]string{
			"Page_Page_Point": `{"type":"object","properties":{"Items":{"type":"array","items":{"$ref":"#/components/schemas/Page_Point"}}}}`,
			"Page_Point":      `{"type":"object","properties":{"Items":{"type":"array","items":{"$ref":"#/components/schemas/Point"}}}}`,
			"Point":           point,
		}},
		{"recursive", Tree{}, `{"$ref":"#/components/schemas/Tree"}`, map[string]string{
			"Tree": `{"type":"object","properties":{` +
				`"children":{"type":"array","items":{"type":"object","nullable":true,"allOf":[{"$ref":"#/components/schemas/Tree"}]}},` +
				`"named":{"type":"object","additionalProperties":{"type":"object","nullable":true,"allOf":[{"$ref":"#/components/schemas/Tree"}]}},` +
				`"parent":{"type":"object","nullable":true,"allOf":[{"$ref":"#/components/schemas/Tree"}]},` +
				`"value":{"type":"integer","format":"int64"}}}`,
		}},
		{"tags", Tagged{}, `{"$ref":"#/components/schemas/Tagged"}`, map[string]string{
			"Point": point,
			"Tagged": `{"type":"object","properties":{` +
				`"choice":{"type":"string","nullable":true,"enum":["red","green",null]},` +
				`"count":{"type":"integer","format":"int64","default":4,"enum":[2,4],"multipleOf":2,"minimum":1,"maximum":10,"exclusiveMaximum":true},` +
				`"either":{"oneOf":[{"type":"string"},{"type":"integer"},{"type":"string","nullable":true,"enum":[null]}]},` +
				`"elsewhere":{"oneOf":[{}]},` +
				`"flag":{"type":"boolean","default":true},` +
				`"levels":{"type":"array","default":[1,2],"items":{"type":"integer","format":"int64"},"minItems":1,"maxItems":3,"uniqueItems":true},` +
				`"maybe":{"type":"integer","format":"int64","nullable":true},` +
				`"name":{"title":"A name","description":"What it is called","type":"string","example":"tea","minLength":2,"maxLength":5,"pattern":"^[a-z]+$"},` +
				`"old":{"type":"array","items":{"type":"string"}},` +
				`"point":{"description":"Where","allOf":[{"$ref":"#/components/schemas/Point"}]},` +
				`"quoted":{"type":"string"},` +
				`"ratio":{"type":"number","format":"float","minimum":0.5,"exclusiveMinimum":true},` +
				`"size":{"type":"string","default":"M","enum":["S","M"]}},"required":["name","size","count","levels"]}`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			schemas := schema.NewSchemas()
			schema, err := schemas.Of(reflect.TypeOf(test.value))
			require.NoError(t, err)
			if got := text(t, schema); got != test.schema {
				t.Errorf("got:  %s\nwant: %s", got, test.schema)
			}
			components := map[string]string{}
			for name, component := range schemas.Components() {
				components[name] = text(t, component)
			}
			if len(components)+len(test.components) > 0 && !reflect.DeepEqual(components, test.components) {
				t.Errorf("components:\n%s\nwant:\n%s", text(t, components), text(t, test.components))
			}
		})
	}
}

func TestSchema_OfAnyAndNil(t *testing.T) {
	t.Parallel()
	anything, err := schema.NewSchemas().Of(reflect.TypeFor[any]())
	require.NoError(t, err)
	assert.Equal(t, `{}`, text(t, anything))
	if _, err := schema.NewSchemas().Of(nil); errorText(err) != "the type is nil, so there is no schema" {
		t.Error(err)
	}
}

func text(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	require.NoError(t, err)
	return string(data)
}
