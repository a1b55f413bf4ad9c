package schema

import (
	"reflect"
	"slices"
	"sync"
)

// enums are the values of closed types, by the type.
type enums struct {
	mutex  sync.Mutex // protects values
	values map[reflect.Type][]any
}

// closed is filled by variables of generated files, before main, and only read from then on.
var closed enums //nolint:gochecknoglobals // docs/decisions/0008

// AddEnum adds a value to those of a closed type, once: the type has no others, see reflectapi.RegisterEnum. It is safe
// for concurrent use.
func AddEnum(t reflect.Type, value any) { closed.add(t, value) }

// add records a value of a type, once.
func (e *enums) add(t reflect.Type, value any) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.values == nil {
		e.values = map[reflect.Type][]any{}
	}
	if !slices.Contains(e.values[t], value) {
		e.values[t] = append(e.values[t], value)
	}
}

// of returns the values of a closed type, none for any other.
func (e *enums) of(t reflect.Type) []any {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return slices.Clone(e.values[t])
}
