package reflectapi_test

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
)

// signature is one with the type of a function; names are separated by blanks.
func signature(name string, fn any, params, results string) reflectapi.Signature {
	return reflectapi.Signature{
		Name: name, Doc: name + " is a method.", Func: reflect.TypeOf(fn),
		Params: strings.Fields(params), Results: strings.Fields(results),
	}
}

func TestDescribeSignatures(t *testing.T) {
	t.Parallel()
	service, err := reflectapi.DescribeSignatures("Calculator", "Calculator does sums.", []reflectapi.Signature{
		signature("Sum", func(int, ...int) int { return 0 }, "start more", "_"),
		signature("Add", func(context.Context, int, int) (int, error) { return 0, nil }, "_ x y", "sum err"),
		signature("Home", func(http.ResponseWriter, *http.Request) {}, "_ _", ""),
		signature("Forget", func(context.Context) error { return nil }, "ctx", "_"),
	})
	require.NoError(t, err)
	assert.Equal(t, "Calculator", service.Name)
	assert.Equal(t, "Calculator does sums.", service.Doc)
	assert.Equal(t, "signature", service.DocOrigin)
	assert.Nil(t, service.Type)
	wantSignatures(t, service,
		"Add(x int, y int) (sum int)",
		"Forget()",
		"Home(w http.ResponseWriter, r *http.Request)",
		"Sum(start int, more ...int) (result int)",
	)
	add, home := method(t, service, "Add"), method(t, service, "Home")
	assert.Equal(t, "Add is a method.", add.Doc)
	assert.True(t, add.TakesContext)
	assert.True(t, add.ReturnsError)
	assert.False(t, add.Variadic)
	assert.Equal(t, "signature", add.Origin)
	assert.Equal(t, "signature", add.DocOrigin)
	assert.Equal(t, 2, add.In.NumField())
	assert.Equal(t, "sum", add.Out.Field(0).Tag.Get("json"))
	assert.Nil(t, home.In)
	assert.Empty(t, home.Origin)
	sum := method(t, service, "Sum")
	assert.True(t, sum.Variadic)
	assert.False(t, sum.ReturnsError)
}

func TestSignatures_CannotBeCalled(t *testing.T) {
	t.Parallel()
	service, err := reflectapi.DescribeSignatures("Site", "", []reflectapi.Signature{
		signature("Add", func(int) int { return 0 }, "x", "sum"),
		signature("Home", func(http.ResponseWriter, *http.Request) {}, "w r", ""),
	})
	require.NoError(t, err)
	add := method(t, service, "Add")
	_, err = add.Call(t.Context(), reflect.New(add.In).Elem())
	want := "method Add is described only by its signature: there is no code to call"
	assert.EqualError(t, err, want)
	err = method(t, service, "Home").ServeHTTP(nil, nil)
	want = "method Home is described only by its signature: there is no code to call"
	assert.EqualError(t, err, want)
}

func TestRefusedSignatures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		signatures []reflectapi.Signature
		want       string
	}{
		{"none", nil, "Calculator has no exported method to serve"},
		{"no type", []reflectapi.Signature{{Name: "Add"}}, "method Add: <nil> is not a function type"},
		{"a number", []reflectapi.Signature{signature("Add", 1, "", "")}, "method Add: int is not a function type"},
		{"names", []reflectapi.Signature{signature("Add", func(int) {}, "x y", "")},
			"method Add: names for 2 parameters and 0 results, but the type has 1 and 0"},
		{"blank", []reflectapi.Signature{signature("Add", func(int, int) {}, "x _", "")},
			"method Add: argument 2 is unnamed, but callers use the names: write them in the interface"},
		{"results", []reflectapi.Signature{signature("Add", func() (int, int) { return 0, 0 }, "", "_ _")},
			"method Add: results 1 and 2 are unnamed, but callers use the names: write them in the interface"},
		{"two failures", []reflectapi.Signature{signature("Sub", func(func()) {}, "f", ""),
			signature("Add", func(chan int) {}, "c", "")}, "method Add: argument 1 cannot be encoded as JSON: " +
			"it is of type chan int; change it, or take it out of the interface\nmethod Sub: argument 1 cannot be encoded as " +
			"JSON: it is of type func(); change it, or take it out of the interface"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := reflectapi.DescribeSignatures("Calculator", "", test.signatures)
			assert.EqualError(t, err, test.want)
		})
	}
}
