package restmap

import (
	"reflect"
	"strings"
	"sync"

	"github.com/busline/busline/restmap/strictjson"
)

// copiers pass arguments and results as Go values, if both sides are in one process and the types contain no references. A
// copy then has the same result as [Endpoint.Decode] and [Endpoint.Encode] via JSON. They are those for one type of a caller,
// each made on first use, and nil if there is none.
type copiers struct {
	arguments, results, anyCase func() *strictjson.Copier
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
	copier := e.copiersFor(from.Type()).arguments()
	return in, copier != nil && copier.Copy(from, in, limit)
}

// GiveValues sets a settable struct to the results of a call, a value of the method's Out type, just as the JSON of
// [Endpoint.Encode] would. With anyCase, names may differ in case. It returns false if the results have to be written
// as JSON and read again; the struct is then partly filled.
func (e *Endpoint) GiveValues(out, into reflect.Value, anyCase bool, limit int) bool {
	if e.output.statusIndex >= 0 || e.output.bodyIndex >= 0 || into.Kind() != reflect.Struct {
		return false
	}
	known := e.copiersFor(into.Type())
	copier := known.results
	if anyCase {
		copier = known.anyCase
	}
	made := copier()
	return made != nil && made.Copy(out, into, limit)
}

// copiersFor returns those for a type.
func (e *Endpoint) copiersFor(t reflect.Type) *copiers {
	found, ok := e.values.Load(t)
	if !ok {
		found, _ = e.values.LoadOrStore(t, e.newCopiers(t))
	}
	return found.(*copiers) //nolint:forcetypeassert // nothing else is stored
}

func (e *Endpoint) newCopiers(t reflect.Type) *copiers {
	results := func(anyCase bool) func() *strictjson.Copier {
		return sync.OnceValue(func() *strictjson.Copier { return strictjson.NewCopier(e.Method.Out, t, anyCase) })
	}
	return &copiers{
		arguments: sync.OnceValue(func() *strictjson.Copier {
			if t.Kind() != reflect.Struct || hasMember(t, RequestBody) {
				return nil
			}
			return strictjson.NewCopier(t, e.Method.In, false)
		}),
		results: results(false), anyCase: results(true),
	}
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
