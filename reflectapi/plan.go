package reflectapi

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	"github.com/busline/busline/reflectapi/schema"
)

// plan is all that a call needs, prepared once.
type plan struct {
	fn       reflect.Value                                      // Function: the method, which takes its receiver first
	receiver reflect.Value                                      // of fn
	web      func(w http.ResponseWriter, r *http.Request) error // Web
}

// newPlan prepares a method. A method value bound to its receiver would be slower to call.
func newPlan(receiver reflect.Value, name string, kind Kind) plan {
	if kind == Function {
		method, _ := receiver.Type().MethodByName(name)
		return plan{fn: method.Func, receiver: receiver}
	}
	fn := receiver.MethodByName(name)
	if web, ok := reflect.TypeAssert[func(http.ResponseWriter, *http.Request) error](fn); ok {
		return plan{web: web}
	}
	web, _ := reflect.TypeAssert[func(http.ResponseWriter, *http.Request)](fn)
	return plan{web: func(w http.ResponseWriter, r *http.Request) error {
		web(w, r)
		return nil
	}}
}

// Call runs a Function method. in is a value of type m.In, addressable or not; it is read and not retained. out is a
// value of type m.Out, even if the method returns an error: it then holds the other results. Of a method that streams,
// it is the iterator, which runs as it is ranged over. ctx must not be nil. A panic of the method is passed on. For a
// Web method it returns an error.
func (m *Method) Call(ctx context.Context, in reflect.Value) (out reflect.Value, err error) {
	if m.Kind != Function {
		return reflect.Value{}, fmt.Errorf("method %s is a web method: use ServeHTTP", m.Name)
	}
	if !in.IsValid() || in.Type() != m.In {
		return reflect.Value{}, fmt.Errorf("method %s: the input is not a %v", m.Name, m.In)
	}
	if !m.plan.fn.IsValid() {
		return reflect.Value{}, m.uncallable()
	}
	var few [8]reflect.Value // enough for most methods, and stays on the stack
	results := m.plan.invoke(m.arguments(ctx, few[:0], in), m.Variadic)
	if m.Streams {
		return results[0], nil
	}
	if m.ReturnsError {
		last := len(results) - 1
		err, _ = reflect.TypeAssert[error](results[last])
		results = results[:last]
	}
	out = reflect.New(m.Out).Elem()
	for i, result := range results {
		out.Field(i).Set(result)
	}
	return out, err
}

// ServeHTTP runs a Web method and returns its error, or nil if it declares none. A panic of the method is passed on.
// For a Function method it returns an error.
func (m *Method) ServeHTTP(w http.ResponseWriter, r *http.Request) error {
	if m.Kind != Web {
		return fmt.Errorf("method %s is not a web method: use Call", m.Name)
	}
	if m.plan.web == nil {
		return m.uncallable()
	}
	return m.plan.web(w, r)
}

// arguments appends the receiver, the context and the fields of the input to a slice.
func (m *Method) arguments(ctx context.Context, to []reflect.Value, in reflect.Value) []reflect.Value {
	to = append(to, m.plan.receiver)
	if m.TakesContext {
		to = append(to, contextValue(ctx))
	}
	for i := range m.Args {
		to = append(to, in.Field(i))
	}
	return to
}

// contextValue returns a context as a value of the interface type context.Context. A value of the context's dynamic
// type would have to be converted, and its method set checked, in each call.
func contextValue(ctx context.Context) reflect.Value { return reflect.ValueOf(&ctx).Elem() }

func (p plan) invoke(arguments []reflect.Value, variadic bool) []reflect.Value {
	if variadic {
		return p.fn.CallSlice(arguments)
	}
	return p.fn.Call(arguments)
}

// structOf returns the struct type that holds the named values. Its field names are never visible: decoders and
// encoders go by the tags.
func structOf(values []Value) reflect.Type {
	fields := make([]reflect.StructField, len(values))
	for i, v := range values {
		fields[i] = v.field(i)
	}
	return reflect.StructOf(fields)
}

// field returns the field of In or Out that holds a value.
func (v Value) field(i int) reflect.StructField {
	return schema.Argument(i, v.Name, v.Type, v.Tag, v.MayBeMissing())
}
