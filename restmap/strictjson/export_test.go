package strictjson

import "reflect"

// What the JSON library alone makes of a value and of a text.
var (
	MarshalStrictly          = marshal
	UnmarshalAnyCaseStrictly = unmarshalAnyCase
)

// MarshalPlain is Marshal without the library behind it.
func (p *Plan) MarshalPlain(v reflect.Value) ([]byte, bool) { return p.marshalPlain(v) }

// UnmarshalAnyCasePlain is UnmarshalAnyCase without the library behind it.
func (p *Plan) UnmarshalAnyCasePlain(data []byte, into reflect.Value) bool {
	return p.unmarshalAnyCase(data, into)
}
