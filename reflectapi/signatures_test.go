package reflectapi_test

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"testing"

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
	if err != nil {
		t.Fatal(err)
	}
	if service.Name != "Calculator" || service.Doc != "Calculator does sums." || service.DocOrigin != "signature" || service.Type != nil {
		t.Errorf("described %s, %q, %v", service.Name, service.Doc, service.Type)
	}
	wantSignatures(t, service,
		"Add(x int, y int) (sum int)",
		"Forget()",
		"Home(w http.ResponseWriter, r *http.Request)",
		"Sum(start int, more ...int) (result int)",
	)
	add, home := method(t, service, "Add"), method(t, service, "Home")
	if add.Doc != "Add is a method." || !add.TakesContext || !add.ReturnsError || add.Variadic || add.Origin != "signature" || add.DocOrigin != "signature" {
		t.Errorf("Add is described as %+v", add)
	}
	if add.In.NumField() != 2 || add.Out.Field(0).Tag.Get("json") != "sum" || home.In != nil || home.Origin != "" {
		t.Errorf("Add takes %v and gives %v, Home %v", add.In, add.Out, home.In)
	}
	if sum := method(t, service, "Sum"); !sum.Variadic || sum.ReturnsError {
		t.Errorf("Sum is described as %+v", sum)
	}
}

func TestSignaturesCannotBeCalled(t *testing.T) {
	t.Parallel()
	service, err := reflectapi.DescribeSignatures("Site", "", []reflectapi.Signature{
		signature("Add", func(int) int { return 0 }, "x", "sum"),
		signature("Home", func(http.ResponseWriter, *http.Request) {}, "w r", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	add := method(t, service, "Add")
	_, err = add.Call(t.Context(), reflect.New(add.In).Elem())
	if want := "method Add is described only by its signature: there is no code to call"; err == nil || err.Error() != want {
		t.Error(err)
	}
	err = method(t, service, "Home").ServeHTTP(nil, nil)
	if want := "method Home is described only by its signature: there is no code to call"; err == nil || err.Error() != want {
		t.Error(err)
	}
}

func TestRefusedSignatures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		signatures []reflectapi.Signature
		want       string
	}{
		"none":       {nil, "Calculator has no exported method to serve"},
		"no type":    {[]reflectapi.Signature{{Name: "Add"}}, "method Add: <nil> is not a function type"},
		"a number":   {[]reflectapi.Signature{signature("Add", 1, "", "")}, "method Add: int is not a function type"},
		"names":      {[]reflectapi.Signature{signature("Add", func(int) {}, "x y", "")}, "method Add: names for 2 parameters and 0 results, but the type has 1 and 0"},
		"blank":      {[]reflectapi.Signature{signature("Add", func(int, int) {}, "x _", "")}, "method Add: argument 2 is unnamed, but callers use the names: write them in the interface"},
		"results":    {[]reflectapi.Signature{signature("Add", func() (int, int) { return 0, 0 }, "", "_ _")}, "method Add: results 1 and 2 are unnamed, but callers use the names: write them in the interface"},
		"two faults": {[]reflectapi.Signature{signature("Sub", func(func()) {}, "f", ""), signature("Add", func(chan int) {}, "c", "")}, "method Add: argument 1 cannot be encoded as JSON: it is of type chan int; change it, or take it out of the interface\nmethod Sub: argument 1 cannot be encoded as JSON: it is of type func(); change it, or take it out of the interface"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := reflectapi.DescribeSignatures("Calculator", "", test.signatures); err == nil || err.Error() != test.want {
				t.Errorf("got:  %v\nwant: %s", err, test.want)
			}
		})
	}
}
