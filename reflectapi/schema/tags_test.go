package schema_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/schema"
)

// List is a list with a name.
type List []string

// TestTags_Malformed: a tag that would be left out without a word is refused, with what to write.
func TestTags_Malformed(t *testing.T) {
	t.Parallel()
	for tag, test := range map[string]struct {
		typ  reflect.Type
		want string // in the error; "" for none
	}{
		`minimum=1,maximum=2.5,example=2`:   {reflect.TypeFor[int](), ""},
		`pattern=^[a-z]+=$,enum=a=`:         {reflect.TypeFor[*string](), ""},
		`pattern=a\\,b`:                     {reflect.TypeFor[string](), ""},
		`format=email,example=a@b.c`:        {reflect.TypeFor[*string](), ""},
		`minItems=1,minLength=2,enum=ab`:    {reflect.TypeFor[[]string](), ""},
		`format=password,readOnly=true`:     {reflect.TypeFor[string](), ""},
		`title=T,description=D`:             {reflect.TypeFor[map[string]int](), ""},
		`minLength=2`:                       {reflect.TypeFor[time.Time](), ""},
		`minitems=1`:                        {reflect.TypeFor[[]string](), `"minitems=1": is not a keyword: write minItems`},
		`enum=a,b\\,c,required,minLength=1`: {reflect.TypeFor[string](), ""},
		`enum=a,b,mininum=3`:                {reflect.TypeFor[string](), `"mininum=3": is not a keyword`},
		`enum=a,b,requird`: {reflect.TypeFor[string](),
			`"requird": is not a keyword; write a comma inside a value as \\, and one more value of an enum as enum=requird`},
		`enum=a,Required`: {reflect.TypeFor[string](), `"Required": is not a keyword`},
		`enum=a, b`:       {reflect.TypeFor[string](), `" b": is not a keyword`},
		`enum=1,2,x`:      {reflect.TypeFor[[]int](), `"enum=x": expects an integer`},
		`patern=x`: {reflect.TypeFor[string](),
			`"patern=x": is not a keyword; use one of required, nullable, title, description, minLength, maxLength, pattern`},
		`patern=y`: {reflect.TypeFor[List](),
			`"patern=y": is not a keyword; declare a type of its own with a method JSONSchemaExtend(*jsonschema.Schema), with jsonschema from github.com/invopop/jsonschema`},
		`minimum=1,pattern=[a`: {reflect.TypeFor[string](), `"pattern=[a": has a [ that is not closed`},
		`required=true`:        {reflect.TypeFor[bool](), "has no effect on a boolean; use one of required"},
		`minItems=2`: {reflect.TypeFor[List](),
			"has no effect on a schema_test.List; declare a type of its own with a method JSONSchemaExtend"},
		`minLength=3`:     {reflect.TypeFor[int](), "has no effect on an integer; use one of required"},
		`minProperties=1`: {reflect.TypeFor[map[string]int](), "has no effect on a map[string]int"},
		`enum=true`:       {reflect.TypeFor[bool](), "has no effect on a boolean"},
		`uniqueItems`:     {reflect.TypeFor[[]int](), "write uniqueItems=true"},
		`uniqueItems=yes`: {reflect.TypeFor[[]int](), "expects true"},
		`pattern=[a,b]`: {reflect.TypeFor[string](),
			`"b]": is not a keyword; write a comma inside a value as \\,`},
		`pattern=a=b`:      {reflect.TypeFor[[]string](), "a value with = is ignored"},
		`format=phone`:     {reflect.TypeFor[string](), "is a format that is not checked"},
		`maxLength=-1`:     {reflect.TypeFor[string](), "expects a whole number"},
		`multipleOf=two`:   {reflect.TypeFor[float64](), "expects a number"},
		`default=yes`:      {reflect.TypeFor[bool](), "expects a boolean"},
		`minimum=3,enum=x`: {reflect.TypeFor[uint8](), `"enum=x": expects an integer`},
		`multipleOf=0`:     {reflect.TypeFor[float32](), "field: multipleOf is 0, but has to be above 0"},
		`minimum=5,maximum=3`: {reflect.TypeFor[*int](),
			"field: minimum=5 and maximum=3 leave no value that fits: change one of them"},
		`minimum=300`: {reflect.TypeFor[byte](),
			"field: minimum=300 and the highest uint8, 255, leave no value that fits"},
		`exclusiveMaximum=0`: {reflect.TypeFor[uint](),
			"field: the lowest uint, 0, and exclusiveMaximum=0 leave no value that fits"},
		`minLength=3,maxLength=2`: {reflect.TypeFor[[]string](),
			"field: minLength=3 and maxLength=2 leave no value that fits"},
		`minItems=2,maxItems=1`: {reflect.TypeFor[[]bool](),
			"field: minItems=2 and maxItems=1 leave no value that fits"},
		`minimum=NaN`:     {reflect.TypeFor[float64](), `"minimum=NaN": expects a number`},
		`maximum=Inf`:     {reflect.TypeFor[int](), `"maximum=Inf": expects a number`},
		`enum=-Inf`:       {reflect.TypeFor[float64](), `"enum=-Inf": expects a number`},
		`enum=300,enum=2`: {reflect.TypeFor[uint8](), ""},
		`enum=300`: {reflect.TypeFor[uint8](),
			"field: no value of its enum fits its own schema: change one of them"},
		`enum=1.5`:          {reflect.TypeFor[*int](), "field: no value of its enum fits its own schema"},
		`pattern=^a,enum=b`: {reflect.TypeFor[[]string](), "field: no value of its enum fits its own schema"},
		`minimum=1,minimum=5`: {reflect.TypeFor[int](),
			`"minimum=5": overrides an earlier one: keep one of them`},
		`pattern=a,minItems=2,pattern=b`:  {reflect.TypeFor[[]string](), `"pattern=b": overrides an earlier one`},
		`enum=1,enum=2,required,required`: {reflect.TypeFor[int](), ""},
		`type=string`: {reflect.TypeFor[int](),
			`"type=string": contradicts the Go type, which is an integer in JSON: remove it`},
		`type=integer`: {reflect.TypeFor[float64](),
			`"type=integer": contradicts the Go type, which is a number in JSON`},
		`type=number`:            {reflect.TypeFor[*float64](), ""},
		`type=integer,minimum=1`: {reflect.TypeFor[json.Number](), ""},
		`maximum=1e7,minimum=2e7`: {reflect.TypeFor[float64](),
			"field: minimum=20000000 and maximum=10000000 leave no value that fits"},
		`maximum=1e-7,minimum=1e21`: {reflect.TypeFor[float64](),
			"field: minimum=1e+21 and maximum=1e-07 leave no value that fits"},
		`maximum=10`: {reflect.TypeFor[[][]int](), "has no effect on an array"},
		`multipleOf=9007199254740993`: {reflect.TypeFor[float64](), "field: multipleOf=9007199254740993: " +
			"a float64 does not hold this number: the nearest is 9007199254740992"},
		`enum=1,9007199254740993`:      {reflect.TypeFor[*float64](), "the nearest is 9007199254740992"},
		`maximum=18446744073709551617`: {reflect.TypeFor[float64](), "the nearest is 18446744073709551616"},
		`enum=18446744073709551617`:    {reflect.TypeFor[float64](), "the nearest is 18446744073709551616"},
		`enum=16777217`: {reflect.TypeFor[[]float32](),
			"field: enum=16777217: a float32 does not hold this number: the nearest is 16777216"},
		`exclusiveMinimum=16777217`: {reflect.TypeFor[float32](), "exclusiveMinimum=16777217: a float32"},
		`maximum=1e39`:              {reflect.TypeFor[float32](), "the nearest is 340282346638528859811704183484516925440"},
		`maximum=1e23,minimum=0.1,multipleOf=0.1,enum=0.3,enum=18446744073709551616`: {reflect.TypeFor[float64](), ""},
		`maximum=1e10,minimum=-1e10,multipleOf=0.01,enum=16777217.5,enum=1e9`:        {reflect.TypeFor[float32](), ""},
	} {
		structure := reflect.StructOf([]reflect.StructField{{Name: "Field", Type: test.typ,
			Tag: reflect.StructTag(`json:"field" jsonschema:"` + tag + `"`)}})
		err := schema.CheckTags(structure)
		got := errorText(err)
		assert.Equal(t, test.want == "", (err == nil), "%v, %s", test.typ, tag)
		assert.Contains(t, got, test.want, "%v, %s", test.typ, tag)
	}
}

func TestTags_DefaultsAreValid(t *testing.T) {
	t.Parallel()
	type limits struct {
		Zero  int  `json:"zero" jsonschema:"default=0"`
		Seen  *int `json:"seen" jsonschema:"default=5"`
		False bool `json:"false" jsonschema:"default=true"`
	}
	_, err := schema.ConstraintsOf(reflect.TypeFor[[]limits]())
	want := "field schema_test.limits.False: default=true is not applied, because a missing value is false: " +
		"remove it from the tag, or make the field a pointer and set the default in code when it is nil"
	if errorText(err) != want {
		t.Errorf("got:  %v\nwant: %s", err, want)
	}
}

// TestTags_Choices: the values of an enum may be separated by commas, as in directives.
func TestTags_Choices(t *testing.T) {
	t.Parallel()
	type Short struct {
		Size  string   `json:"size" jsonschema:"enum=S,M,X\\,L,required,description=how large\\, in short" doc:"none"`
		Count *int     `json:"count" jsonschema:"minimum=1,enum=1,2,enum=3"`
		Tags  []string `json:"tags" jsonschema:"minItems=0,enum=a,b"`
		Other string   `json:"-"`
	}
	type Long struct {
		Size  string   `json:"size" jsonschema:"enum=S,enum=M,enum=X\\,L,required,description=how large\\, in short"`
		Count *int     `json:"count" jsonschema:"minimum=1,enum=1,enum=2,enum=3"`
		Tags  []string `json:"tags" jsonschema:"minItems=0,enum=a,enum=b"`
	}
	type outer struct {
		Short
	}
	want := componentText(t, reflect.TypeFor[Long]())
	assert.Contains(t, want, `"enum":["S","M","X,L"]`)
	assert.Equal(t, want, componentText(t, reflect.TypeFor[Short]()))
	assert.Equal(t, want, componentText(t, reflect.TypeFor[outer]()))

	constraints, err := schema.ConstraintsOf(reflect.TypeFor[Short]())
	require.NoError(t, err)
	three, four := 3, 4
	assert.Empty(t, constraints.Check(reflect.ValueOf(Short{Size: "X,L", Count: &three, Tags: []string{"b", "a"}})))
	assert.Equal(t, []schema.Violation{
		{Path: "size", Detail: "expects one of S, M, X,L"},
		{Path: "count", Detail: "expects one of 1, 2, 3, null"},
		{Path: "tags[0]", Detail: "expects one of a, b"},
	}, constraints.Check(reflect.ValueOf(Short{Size: "L", Count: &four, Tags: []string{"c"}})))
}

// componentText returns the only component of a type's schema.
func componentText(t *testing.T, of reflect.Type) string {
	t.Helper()
	schemas := schema.NewSchemas()
	_, err := schemas.Of(of)
	require.NoError(t, err)
	data, err := json.Marshal(schemas.Components()[of.Name()])
	require.NoError(t, err)
	return string(data)
}
