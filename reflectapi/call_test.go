package reflectapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
)

// input makes an input value with the given fields.
func input(m *reflectapi.Method, fields ...any) reflect.Value {
	in := reflect.New(m.In).Elem()
	for i, field := range fields {
		in.Field(i).Set(reflect.ValueOf(field))
	}
	return in
}

func TestCall(t *testing.T) {
	t.Parallel()
	service := describe(t, &Calculator{})
	for _, test := range []struct {
		name   string
		method string
		fields []any
		want   []any
		err    error
	}{
		{"context and error", "Add", []any{2, 3}, []any{5}, nil},
		{"failing", "Add", []any{-2, 3}, []any{-1}, errNegative},
		{"pointer receiver", "Distance", []any{Point{3, 0}, Point{1, 0}}, []any{2.0}, nil},
		{"variadic", "Sum", []any{1, []int{2, 3}}, []any{6}, nil},
		{"variadic, none", "Sum", []any{1}, []any{1}, nil},
		{"many types", "Remember", []any{map[string][]*Point{"a": nil}, time.Time{}, []byte("b")},
			[]any{[2]bool{true, true}, []byte("b")}, nil},
		{"nothing", "Forget", nil, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := method(t, service, test.method)
			out, err := m.Call(t.Context(), input(m, test.fields...))
			if !errors.Is(err, test.err) {
				t.Fatalf("error %v, want %v", err, test.err)
			}
			if out.Type() != m.Out || out.NumField() != len(test.want) {
				t.Fatalf("got a %v", out.Type())
			}
			for i, want := range test.want {
				if got := out.Field(i).Interface(); !reflect.DeepEqual(got, want) {
					t.Errorf("result %d is %v, want %v", i, got, want)
				}
			}
		})
	}
}

func TestCall_TakesAnyValueOfTheInput(t *testing.T) {
	t.Parallel()
	add := method(t, describe(t, &Calculator{}), "Add")
	addressable := input(add, 1, 2)
	for _, in := range []reflect.Value{addressable, reflect.ValueOf(addressable.Interface())} {
		out, err := add.Call(t.Context(), in)
		require.NoError(t, err)
		assert.Equal(t, int64(3), out.Field(0).Int())
	}
	for _, in := range []reflect.Value{{}, reflect.ValueOf(1), addressable.Addr()} {
		_, err := add.Call(t.Context(), in)
		assert.EqualError(t, err, "method Add: the input is not a "+add.In.String())
	}
}

// Witness records what reaches it.
type Witness struct{}

type witnessKey struct{}

// Context returns a value of the context.
func (Witness) Context(ctx context.Context) (value any) { return ctx.Value(witnessKey{}) }

// Panic panics.
func (Witness) Panic() { panic("on purpose") }

// Page fails.
func (Witness) Page(w http.ResponseWriter, r *http.Request) error {
	w.WriteHeader(http.StatusAccepted)
	return errors.New(r.Method)
}

func TestCall_PassesTheContext(t *testing.T) {
	t.Parallel()
	m := method(t, describe(t, Witness{}), "Context")
	out, err := m.Call(context.WithValue(t.Context(), witnessKey{}, "seen"), input(m))
	require.NoError(t, err)
	assert.Equal(t, "seen", out.Field(0).Interface())
}

func TestCall_PanicPassesThrough(t *testing.T) {
	t.Parallel()
	m := method(t, describe(t, Witness{}), "Panic")
	defer func() {
		if failure := recover(); failure != "on purpose" {
			t.Errorf("recovered %v", failure)
		}
	}()
	_, err := m.Call(t.Context(), input(m))
	t.Errorf("it came back with %v", err)
}

func TestServeHTTP(t *testing.T) {
	t.Parallel()
	home, page := method(t, describe(t, &Calculator{}), "Home"), method(t, describe(t, Witness{}), "Page")
	for _, test := range []struct {
		method *reflectapi.Method
		status int
		err    string
	}{{home, http.StatusTeapot, "<nil>"}, {page, http.StatusAccepted, "PUT"}} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPut, "/", nil)
		err := test.method.ServeHTTP(w, r)
		assert.Equal(t, test.status, w.Code, test.method.Name)
		assert.Equal(t, test.err, errorText(err), test.method.Name)
	}
}

func TestCall_KindsAreNotMixedUp(t *testing.T) {
	t.Parallel()
	service := describe(t, &Calculator{})
	_, err := method(t, service, "Home").Call(t.Context(), reflect.Value{})
	if errorText(err) != "method Home is a web method: use ServeHTTP" {
		t.Error(err)
	}
	err = method(t, service, "Forget").ServeHTTP(httptest.NewRecorder(), nil)
	if errorText(err) != "method Forget is not a web method: use Call" {
		t.Error(err)
	}
}

func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	add := method(t, describe(t, &Calculator{}), "Add")
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			out, err := add.Call(t.Context(), input(add, i, i))
			assert.NoError(t, err)
			assert.Equal(t, int64(2*i), out.Field(0).Int())
		})
	}
	all.Wait()
}

func errorText(err error) string {
	if err == nil {
		return "<nil>"
	}
	return err.Error()
}

// TestCall_Allocations holds how often a call allocates: for the context, the list of results, each of two, and the
// output.
func TestCall_Allocations(t *testing.T) {
	add := method(t, describe(t, &Calculator{}), "Add")
	in, ctx := input(add, 1, 2), t.Context()
	if got := testing.AllocsPerRun(100, func() { _, _ = add.Call(ctx, in) }); got > 5 {
		t.Errorf("a call allocates %v times", got)
	}
}

func BenchmarkCall(b *testing.B) {
	service, err := reflectapi.Describe(&Calculator{})
	if err != nil {
		b.Fatal(err)
	}
	add := service.Methods[0]
	in, ctx := input(add, 1, 2), b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := add.Call(ctx, in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDescribe(b *testing.B) {
	for b.Loop() {
		if _, err := reflectapi.Describe(&Calculator{}, reflectapi.SourceFS(services)); err != nil {
			b.Fatal(err)
		}
	}
}
