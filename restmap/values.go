package restmap

import (
	"reflect"
	"strings"
	"sync"

	"github.com/busline/busline/restmap/strictjson"
)

// values passes arguments and results as Go values, if both sides are in one process and the types contain no
// references. A copy then has the same result as [Endpoint.Decode] and [Endpoint.Encode] via JSON.
type values struct {
	arguments sync.Map // by the caller's type, a *strictjson.Copier, nil if there is none
	results   sync.Map // likewise
	anyCase   sync.Map // likewise, for names in any case
}

// TakeValues makes the arguments of a call from a struct or a pointer to one, a map[string]any, or nil, just as
// [Endpoint.Decode] would from their JSON. It returns false if they have to be written as JSON and read again: for
// other types, for more than limit bytes of JSON, for arguments that break a constraint, where an argument or a result
// is not a member of the body, and where unknown ones are refused. The result shares nothing with what was given.
func (e *Endpoint) TakeValues(given any, limit int) (reflect.Value, bool) {
	if e.input == nil || e.input.strict || e.input.bodyIndex >= 0 || len(e.input.parameters) > 0 || e.input.onlyText() {
		return reflect.Value{}, false
	}
	in, ok := e.takeValues(given, limit)
	return in, ok && e.input.keeps(in) // the other path reports violations
}

func (e *Endpoint) takeValues(given any, limit int) (reflect.Value, bool) {
	in := reflect.New(e.Method.In).Elem()
	if members, ok := given.(map[string]any); ok {
		_, whole := members[RequestBody]
		return in, !whole && e.input.plan.Fill(in, members, limit)
	}
	from := reflect.ValueOf(given)
	if from.Kind() == reflect.Pointer {
		from = from.Elem()
	}
	if !from.IsValid() {
		return in, given == nil
	}
	copier := copierFor(&e.values.arguments, from.Type(), func() *strictjson.Copier {
		if from.Kind() != reflect.Struct || hasMember(from.Type(), RequestBody) {
			return nil
		}
		return strictjson.NewCopier(from.Type(), e.Method.In, false)
	})
	return in, copier != nil && copier.Copy(from, in, limit)
}

// GiveValues sets a settable struct to the results of a call, a value of the method's Out type, just as the JSON of
// [Endpoint.Encode] would. With anyCase, names may differ in case. It returns false if the results have to be written
// as JSON and read again; the struct is then partly filled.
func (e *Endpoint) GiveValues(out, into reflect.Value, anyCase bool, limit int) bool {
	if e.output.statusIndex >= 0 || e.output.bodyIndex >= 0 || into.Kind() != reflect.Struct {
		return false
	}
	known := &e.values.results
	if anyCase {
		known = &e.values.anyCase
	}
	copier := copierFor(known, into.Type(), func() *strictjson.Copier {
		return strictjson.NewCopier(e.Method.Out, into.Type(), anyCase)
	})
	return copier != nil && copier.Copy(out, into, limit)
}

// copierFor returns the copier for a type, made on first use.
func copierFor(known *sync.Map, t reflect.Type, find func() *strictjson.Copier) *strictjson.Copier {
	found, ok := known.Load(t)
	if !ok {
		found, _ = known.LoadOrStore(t, find())
	}
	return found.(*strictjson.Copier) //nolint:forcetypeassert // nothing else is stored
}

// hasMember says whether the JSON of a struct may have a member of that name.
func hasMember(t reflect.Type, name string) bool {
	for field := range t.Fields() {
		tagged, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous || field.Name == name || tagged == name {
			return true
		}
	}
	return false
}
