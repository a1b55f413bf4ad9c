package strictjson

import (
	"reflect"

	"github.com/go-json-experiment/json"
)

// UnmarshalScanned is Unmarshal without shortcuts: it always scans data, and always decodes long integers exactly.
func UnmarshalScanned(data []byte, v any) error { return unmarshalScanned(data, v, nil) }

// UnmarshalAnyCaseScanned is UnmarshalAnyCase without shortcuts.
func UnmarshalAnyCaseScanned(data []byte, v any) error { return unmarshalScanned(data, v, anyCase) }

func unmarshalScanned(data []byte, v any, more json.Options) error {
	text, err := Scan(data)
	if err != nil {
		return err
	}
	plan := *planFor(v)
	numbers, _ := json.GetOption(plan.read, json.WithUnmarshalers)
	plan.readLong = json.JoinOptions(plan.read,
		json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(unmarshalAny), numbers)))
	return text.unmarshal(v, &plan, more)
}

// MarshalStrictly is Marshal without plans.
func MarshalStrictly(v any) ([]byte, error) {
	if v == nil {
		return json.Marshal(v)
	}
	return json.Marshal(v, PlanOf(reflect.TypeOf(v)).write)
}

// MarshalPlain is Marshal without the library behind it.
func (p *Plan) MarshalPlain(v reflect.Value) ([]byte, bool) { return p.marshalPlain(v) }
