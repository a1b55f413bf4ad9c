package strictjson

import (
	"reflect"
	"sync"

	"github.com/go-json-experiment/json"
)

// Plan says how values of one Go type are converted to JSON and back, prepared once. It handles plain values itself,
// which is nearly everything that functions take and return:
//
//   - booleans, numbers, strings, []byte, times, pointers to what is plain, slices of it;
//   - structs of it, whose json tags say a name, "-", omitempty or omitzero, and which embed nothing;
//   - for writing, any and map[string]any that hold it.
//
// It reports no errors. Anything else, in the type, the value or the text, is left to the JSON library, which starts
// again and decides alone. So a plan is never more lenient than [Unmarshal], and has no error messages of its own: it
// reads the same values as Unmarshal, and writes the same bytes as the library.
//
// A plan is immutable, and is safe for concurrent use.
type Plan struct {
	root                  *node
	write, read, readLong json.Options // of the library; readLong decodes long integers exactly
}

// plans are the plans made so far, at most one for each type. They are never removed, because types exist as long as
// the program runs.
var plans sync.Map //nolint:gochecknoglobals // a cache: who calls Marshal and Unmarshal has no place to keep a plan

// PlanOf returns the plan of a type, made on first use. Every type has one; for a type that is not plain it leaves
// everything to the library.
func PlanOf(t reflect.Type) *Plan {
	if known, ok := plans.Load(t); ok {
		return known.(*Plan) //nolint:forcetypeassert // nothing else is stored
	}
	made, _ := plans.LoadOrStore(t, newPlan(t))
	return made.(*Plan) //nolint:forcetypeassert // nothing else is stored
}

// UnmarshalPlain parses the single JSON value in data into a settable value of the plan's type, like [Unmarshal]. It
// returns false for anything that is not plain, valid or not: then call Unmarshal, which starts again. The value may be
// partly filled in between.
//
// It allocates only what the values of data need; but like Unmarshal it does not limit that.
func (p *Plan) UnmarshalPlain(data []byte, into reflect.Value) bool {
	r := reader{data: data}
	return r.document(p.root, into)
}

// unmarshalAnyCase is UnmarshalPlain with the names of [UnmarshalAnyCase].
func (p *Plan) unmarshalAnyCase(data []byte, into reflect.Value) bool {
	r := reader{data: data, anyCase: true}
	return r.document(p.root, into)
}

// Marshal returns a value of the plan's type as JSON. It is the package's [Marshal] for callers with a [reflect.Value].
func (p *Plan) Marshal(v reflect.Value) ([]byte, error) {
	if data, plain := p.marshalPlain(v); plain {
		return data, nil
	}
	if v.CanAddr() {
		v = v.Addr() // saves the library a copy
	}
	return json.Marshal(v.Interface(), p.write)
}

// marshalPlain writes a value; it returns false if the value is not plain.
func (p *Plan) marshalPlain(v reflect.Value) ([]byte, bool) {
	if !p.root.writable {
		return nil, false
	}
	w := writer{data: make([]byte, 0, p.root.size(v))}
	plain := w.value(p.root, v)
	return w.data, plain
}

// unmarshalPlain decodes data by a plan, if v is a non-nil pointer.
func unmarshalPlain(data []byte, v any, read func(*Plan, []byte, reflect.Value) bool) bool {
	target := reflect.ValueOf(v)
	return target.Kind() == reflect.Pointer && !target.IsNil() && read(PlanOf(target.Type().Elem()), data, target.Elem())
}
