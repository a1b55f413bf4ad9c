package strictjson

import (
	"reflect"

	"github.com/go-json-experiment/json"
)

// What the JSON library alone makes of a value and of a text.
var UnmarshalAnyCaseStrictly = unmarshalAnyCase

// MarshalStrictly is Marshal without plans.
func MarshalStrictly(v any) ([]byte, error) {
	if v == nil {
		return json.Marshal(v)
	}
	return json.Marshal(v, PlanOf(reflect.TypeOf(v)).write)
}

// MarshalPlain is Marshal without the library behind it.
func (p *Plan) MarshalPlain(v reflect.Value) ([]byte, bool) { return p.marshalPlain(v) }

// UnmarshalAnyCasePlain is UnmarshalAnyCase without the library behind it.
func (p *Plan) UnmarshalAnyCasePlain(data []byte, into reflect.Value) bool {
	return p.unmarshalAnyCase(data, into)
}
