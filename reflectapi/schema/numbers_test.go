package schema_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/strictjson"
)

// TestConstraints_Decimals: a number is compared with the one that was written, although a float rounds both.
func TestConstraints_Decimals(t *testing.T) {
	t.Parallel()
	var (
		single  = reflect.TypeFor[float32]()
		double  = reflect.TypeFor[float64]()
		singles = reflect.TypeFor[[]float32]()
		whole   = reflect.TypeFor[int64]()
		natural = reflect.TypeFor[uint64]()
	)
	for _, test := range []struct {
		tag, value string
		typ        reflect.Type
		want       bool
	}{
		{"maximum=0.1", "0.1", single, true},
		{"maximum=0.1", "0.1", reflect.PointerTo(single), true},
		{"maximum=0.1", "[0.1]", singles, true},
		{"maximum=0.1", "[0.1000001]", singles, false},
		{"maximum=0.1", "0.1000001", single, false},
		{"exclusiveMaximum=0.1", "0.1", single, false},
		{"minimum=0.7", "0.7", single, true},
		{"exclusiveMinimum=0.7", "0.7", single, false},
		{"exclusiveMinimum=0.7", "0.7000001", single, true},
		{"multipleOf=0.01", "0.07", single, true},
		{"multipleOf=0.01", "0.071", single, false},
		{"multipleOf=0.01", "16777.21", single, true}, // as a float32 it is 16777.209
		{"multipleOf=3", "16777215", single, true},
		{"enum=0.1,enum=0.3", "0.3", single, true},
		{"enum=0.1,enum=0.3", "0.2", single, false},
		{"enum=0.1", "[0.1,0.1]", singles, true},

		{"multipleOf=0.01", "0.07", double, true},
		{"multipleOf=0.01", "4.35", double, true},
		{"multipleOf=0.1", "1.1", double, true},
		{"multipleOf=0.1", "0.3", double, true},
		{"multipleOf=0.1", "1e22", double, true},
		{"multipleOf=0.1", "-0.3", double, true},
		{"multipleOf=0.1", "0.30000000000000004", double, false},
		{"multipleOf=0.01", "1.005", double, false},
		{"multipleOf=0.3", "1e15", double, false},
		{"multipleOf=1024", "1152921504606846976", double, true}, // 1.152921504606847e18 as a decimal
		{"multipleOf=3", "9007199254740990", double, true},
		{"maximum=0.1", "0.1", double, true},
		{"maximum=9223372036854775808", "9223372036854775808", double, true},
		{"enum=9223372036854775808", "9223372036854775808", double, true},

		{"multipleOf=0.1", "7", whole, true},
		{"multipleOf=1.5", "9007199254740993", whole, true},
		{"multipleOf=1.5", "9007199254740994", whole, false},
		{"maximum=2.5", "3", whole, false},
		{"minimum=2.5", "3", whole, true},
		{"enum=9007199254740993", "9007199254740993", whole, true},
		{"enum=9007199254740993", "9007199254740992", whole, false},
		{"enum=18446744073709551615", "18446744073709551614", natural, false},

		{"maximum=18446744073709551614", "18446744073709551614", natural, true},
		{"maximum=18446744073709551614", "18446744073709551615", natural, false},
		{"exclusiveMaximum=18446744073709551615", "18446744073709551614", natural, true},
		{"exclusiveMaximum=18446744073709551615", "18446744073709551615", natural, false},
		{"minimum=-9007199254740993", "-9007199254740993", whole, true},
		{"minimum=-9007199254740993", "-9007199254740994", whole, false},
		{"maximum=9007199254740993", "9007199254740992", whole, true},
		{"exclusiveMaximum=9007199254740993", "9007199254740992", whole, true},
		{"multipleOf=9007199254740993", "9007199254740993", whole, true},
		{"multipleOf=9007199254740993", "9007199254740992", whole, false},
		{"multipleOf=9007199254740993", "0", whole, true},
		{"maximum=9.007199254740993e15", "9007199254740993", whole, true},
		{"maximum=9.007199254740993e15", "9007199254740994", whole, false},
	} {
		checkField(t, test.tag, test.typ, test.value, test.want)
	}
}

// checkField reports whether a value fits the tag of its field.
func checkField(t *testing.T, tag string, typ reflect.Type, value string, want bool) {
	t.Helper()
	owner := reflect.StructOf([]reflect.StructField{{Name: "Field", Type: typ,
		Tag: reflect.StructTag(`json:"field" jsonschema:"` + tag + `"`)}})
	constraints, err := schema.ConstraintsOf(owner)
	require.NoError(t, err, tag)
	require.True(t, constraints.Comparable(), tag)
	decoded := reflect.New(owner)
	require.NoError(t, json.Unmarshal([]byte(`{"field":`+value+`}`), decoded.Interface()), value)
	found := constraints.Check(decoded.Elem())
	assert.Equal(t, want, len(found) == 0, "%s as %v of %s: %v", value, typ, tag, found)
}

// TestSchemas_LongLimits: documents, and complaints, have the digits that were written.
func TestSchemas_LongLimits(t *testing.T) {
	t.Parallel()
	type long struct {
		Low   int64   `json:"low" jsonschema:"minimum=-9007199254740993,multipleOf=9007199254740993"`
		High  uint64  `json:"high" jsonschema:"maximum=18446744073709551614"`
		Round float64 `json:"round" jsonschema:"minimum=-.5,maximum=1e3"`
	}
	schemas := schema.NewSchemas()
	_, err := schemas.Of(reflect.TypeFor[long]())
	require.NoError(t, err)
	data, err := strictjson.Marshal(schemas.Components()["long"])
	require.NoError(t, err)
	want := `{"type":"object","properties":{"high":{"type":"integer","format":"uint64","minimum":0,"maximum":18446744073709551614},` +
		`"low":{"type":"integer","format":"int64","multipleOf":9007199254740993,"minimum":-9007199254740993},` +
		`"round":{"type":"number","format":"double","minimum":-0.5,"maximum":1000}}}`
	assert.Equal(t, want, string(data))
	var read schema.Schema
	require.NoError(t, json.Unmarshal(data, &read))
	assert.Equal(t, schemas.Components()["long"], &read)

	constraints, err := schema.ConstraintsOf(reflect.TypeFor[long]())
	require.NoError(t, err)
	assert.Equal(t, []schema.Violation{{Path: "high", Detail: "expects at most 18446744073709551614"}},
		constraints.Check(reflect.ValueOf(long{High: 1<<64 - 1})))

	assert.ErrorContains(t, json.Unmarshal([]byte(`{"maximum":1e400}`), &read),
		"1e400 is not a number, or too large for a float64")
	assert.Zero(t, schema.Number("1e-999999999").Rational().Sign())
	empty := reflect.StructOf([]reflect.StructField{{Name: "Field", Type: reflect.TypeFor[uint64](),
		Tag: `json:"field" jsonschema:"minimum=18446744073709551615,exclusiveMaximum=18446744073709551615"`}})
	assert.ErrorContains(t, schema.CheckTags(empty),
		"minimum=18446744073709551615 and exclusiveMaximum=18446744073709551615 leave no value that fits")
}
