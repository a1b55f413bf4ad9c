package strictjson

import (
	"reflect"

	"github.com/go-json-experiment/json"
)

// Text is a JSON text that keeps to the limits of this package, and what it holds: enough to tell what its values may
// take in memory before any is made. Bytes alone tell nothing of that: {}, are three, and an element of a slice may be a
// struct of hundreds.
type Text struct {
	Elements   int // values in arrays; the outermost value is one, too
	Members    int // of objects
	Containers int // objects and arrays
	Filled     int // objects that are not empty

	data []byte
	long bool // there is an integer that a float64 may not hold
}

// Scan reads over data, and allocates nothing. That data is JSON is left to [Text.Unmarshal] to find out; what this reads
// before it finds out is counted all the same. An [*Error] names the limit that is exceeded.
// Data has to stay as it is as long as the text is used.
func Scan(data []byte) (Text, error) {
	s := scanner{text: Text{data: data}}
	if err := s.scan(data); err != nil {
		return Text{}, err
	}
	return s.text, nil
}

// Unmarshal is the package's Unmarshal for a text that is scanned already.
func (t Text) Unmarshal(v any) error { return t.unmarshal(v) }

// unmarshal has more options than those that the type of v asks for.
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
