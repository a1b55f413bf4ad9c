package strictjson

import (
	"reflect"

	"github.com/go-json-experiment/json"
)

// Text is a JSON text within the limits of this package, and counts of what it contains: enough to know how much memory
// its values may take before any is allocated. The length of the text does not say that: {}, is three bytes, but an
// element of a slice may be a struct of hundreds.
type Text struct {
	Elements   int // values in arrays, and the outermost value
	Members    int // of all objects
	Containers int // objects and arrays
	Filled     int // objects that are not empty

	data []byte
	long bool // there is an integer that a float64 may not hold exactly
}

// Scan makes one pass over data, and allocates nothing. It does not check that data is JSON, which [Text.Unmarshal]
// does; the counts include everything up to the first syntax error. An [*Error] names the limit that is exceeded. data
// must not be changed while the text is in use.
func Scan(data []byte) (Text, error) {
	s := scanner{text: Text{data: data}}
	if err := s.scan(data); err != nil {
		return Text{}, err
	}
	return s.text, nil
}

// Unmarshal is the package's Unmarshal for a scanned text.
func (t Text) Unmarshal(v any) error { return t.unmarshal(v) }

// UnmarshalKnown is Unmarshal that refuses members without a field of that name.
func (t Text) UnmarshalKnown(v any) error { return t.unmarshal(v, json.RejectUnknownMembers(true)) }

// unmarshal takes options in addition to those for the type of v.
func (t Text) unmarshal(v any, more ...json.Options) error {
	plan := PlanOf(reflect.TypeFor[any]()) // v is at fault then
	if into := reflect.TypeOf(v); into != nil && into.Kind() == reflect.Pointer {
		plan = PlanOf(into.Elem())
	}
	options := plan.read
	if t.long {
		options = plan.readLong
	}
	if len(more) > 0 {
		options = json.JoinOptions(append(more, options)...)
	}
	if err := json.Unmarshal(t.data, v, options); err != nil {
		return translate(err, t.data)
	}
	return nil
}
