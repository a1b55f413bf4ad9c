package restmap_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/strictjson"
)

type narrow struct {
	Tight  int8   `json:"tight,omitempty" jsonschema:"minimum=-5,maximum=5"`
	Loose  int8   `json:"loose,omitempty" jsonschema:"minimum=-1000,maximum=1000"`
	Open   uint16 `json:"open,omitempty" jsonschema:"exclusiveMaximum=65535"`
	Beyond uint8  `json:"beyond,omitempty" jsonschema:"exclusiveMaximum=256"`
}

// TestWidthsAreThoseOfTheDocument: an integer fits its type when the document says so, and not otherwise, wherever it
// stands. No tag makes a document wider than the type.
func TestWidthsAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	numbers := []int64{
		math.MinInt32 - 1, math.MinInt32, math.MinInt16 - 1, math.MinInt16, math.MinInt8 - 1, math.MinInt8, -6, -5, -1, 0, 1, 5, 6,
		math.MaxInt8, math.MaxInt8 + 1, math.MaxUint8, math.MaxUint8 + 1, math.MaxInt16, math.MaxInt16 + 1,
		math.MaxUint16 - 1, math.MaxUint16, math.MaxUint16 + 1, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32, math.MaxUint32 + 1,
	}
	for _, test := range []struct {
		typ  reflect.Type
		form string
	}{
		{reflect.TypeFor[int](), "%d"},
		{reflect.TypeFor[int8](), "%d"},
		{reflect.TypeFor[int16](), "%d"},
		{reflect.TypeFor[int32](), "%d"},
		{reflect.TypeFor[int64](), "%d"},
		{reflect.TypeFor[uint](), "%d"},
		{reflect.TypeFor[uint8](), "%d"},
		{reflect.TypeFor[uint16](), "%d"},
		{reflect.TypeFor[uint32](), "%d"},
		{reflect.TypeFor[uint64](), "%d"},
		{reflect.TypeFor[*int8](), "%d"},
		{reflect.TypeFor[[]int16](), "[%d]"},
		{reflect.TypeFor[[1]uint8](), "[%d]"},
		{reflect.TypeFor[map[string]uint16](), `{"a":%d}`},
		{reflect.TypeFor[[]map[string][]*uint32](), `[{"a":[%d]}]`},
		{reflect.TypeFor[narrow](), `{"tight":%d}`},
		{reflect.TypeFor[narrow](), `{"loose":%d}`},
		{reflect.TypeFor[narrow](), `{"open":%d}`},
		{reflect.TypeFor[narrow](), `{"beyond":%d}`},
	} {
		endpoint := endpointFor(t, test.typ)
		validator := validatorOf(t, endpoint.Method.In)
		for _, number := range numbers {
			data := fmt.Sprintf(`{"p":`+test.form+`}`, number)
			var body any
			if err := strictjson.Unmarshal([]byte(data), &body); err != nil {
				t.Fatal(err)
			}
			_, refused := endpoint.Decode(&restmap.Request{ContentType: jsonType, Body: []byte(data)})
			if told := validator.VisitJSON(body); (refused == nil) != (told == nil) {
				t.Errorf("%v: %s\nwe say %v, the document says %v", test.typ, data, refused, told)
			}
		}
	}
}
