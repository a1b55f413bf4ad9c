package reflectapi_test

import (
	"embed"
	"io"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
	politeness "github.com/busline/busline/reflectapi/testdata/greeting"
)

//go:embed interface_test.go
var visits embed.FS

// visitor has methods of another package, through an import of another name.
type visitor interface {
	politeness.Greeter
	// Visit has names of its own.
	Visit(place string) (days int)
}

// Tourist implements it, with other names.
type Tourist struct{}

// Greet greets foreigners.
func (Tourist) Greet(who string, often int) (text string, err error) { return who, nil }

// Leave goes home.
func (Tourist) Leave(by string) (text string) { return by }

// Visit goes somewhere.
func (Tourist) Visit(where string) (long int) { return len(where) }

// Read is from the standard library.
func (Tourist) Read(guide []byte) (pages int, err error) { return len(guide), nil }

// lostError implements the language's own interface.
type lostError struct{ Tourist }

func (lostError) Error() (text string) { return "lost" }

func TestInterface_EmbedsAnother(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]reflectapi.Option{
		"on disk": nil,
		"embedded": {reflectapi.RequirePortableNames(), reflectapi.SourceFS(visits),
			reflectapi.SourceFS(os.DirFS("testdata/greeting"))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := describeAs[visitor](t, Tourist{}, options...)
			wantSignatures(t, service,
				"Greet(name string, times int) (greeting string)",
				"Leave(by string) (text string)", // unnamed in the interface
				"Visit(place string) (days int)",
			)
			if doc := method(t, service, "Greet").Doc; doc != "Greet greets a person." {
				t.Errorf("Greet is documented as %q", doc)
			}
		})
	}
}

// The names of an implementation do not stand in for those of an interface that cannot be
// read here: where it can be, they would be others.
func TestInterface_CannotBeRead(t *testing.T) {
	t.Parallel()
	const remedy = ` embed the source with bus.SourceFS, or give them with bus.ParamNames(`
	implementation := reflectapi.SourceFS(visits)
	for _, test := range []struct {
		name    string
		iface   reflect.Type
		options []reflectapi.Option
		want    string
	}{
		{"of the standard library",
			reflect.TypeFor[io.Reader](), nil,
			"method Read: no names for 1 argument and 1 result (code: none given; signature table: none; embedded source: " +
				"none given;" +
				" source file: package io is in another module; DWARF: it has no methods of interfaces);" +
				" write a signature table with apigen -type Reader," + remedy + `"Read", …)`,
		},
		{"of the language",
			reflect.TypeFor[error](), nil,
			"method Error: no names for 1 result (code: none given; signature table: none; embedded source: none given;" +
				" source file: error is declared in no file; DWARF: it has no methods of interfaces);" +
				` give them with bus.ParamNames("Error", …)`,
		},
		{"portable",
			reflect.TypeFor[politeness.Leaver](), []reflectapi.Option{reflectapi.RequirePortableNames(), implementation},
			"method Leave: no names for 1 argument and 1 result (code: none given; signature table: none; embedded source: " +
				"greeting.Leaver is not in it);" +
				" write a signature table with apigen -type Leaver," + remedy + `"Leave", …)`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := reflectapi.DescribeAs(test.iface, lostError{}, test.options...)
			assert.EqualError(t, err, test.want)
		})
	}
	wantSignatures(t, describeAs[error](t, lostError{}, reflectapi.ParamNames("Error", "", "text")),
		"Error() (text string)")
	service := describeAs[io.Reader](t, Tourist{}, reflectapi.ParamNames("Read", "p", "n"))
	wantSignatures(t, service, "Read(p []byte) (n int)")
	if doc := method(t, service, "Read").Doc; doc != "Read is from the standard library." {
		t.Errorf("Read is documented as %q: a comment of the implementation is better than none", doc)
	}
}

func TestPortable(t *testing.T) {
	t.Parallel()
	_, err := reflectapi.Describe(Tourist{}, reflectapi.RequirePortableNames(),
		reflectapi.ExcludeMethods("Greet", "Leave", "Read"))
	const want = "method Visit: no names for 1 argument and 1 result (code: none given; embedded source: none given);" +
		` embed the source with bus.SourceFS, or give them with bus.ParamNames("Visit", …)`
	assert.EqualError(t, err, want)
	service := describe(t, Tourist{}, reflectapi.RequirePortableNames(), reflectapi.SourceFS(visits))
	visit := method(t, service, "Visit")
	assert.Equal(t, "embedded source", visit.Origin)
	assert.Equal(t, "Visit goes somewhere.", visit.Doc)
}

// TestDescribeInterface describes an interface without an implementation.
func TestDescribeInterface(t *testing.T) {
	t.Parallel()
	_, err := reflectapi.DescribeInterface(reflect.TypeFor[int]())
	require.EqualError(t, err, "int is not an interface")
	_, err = reflectapi.DescribeInterface(nil)
	require.EqualError(t, err, "<nil> is not an interface")
	_, err = reflectapi.DescribeInterface(reflect.TypeFor[unimplemented]())
	require.EqualError(t, err, "method Misspelt: //busline:arg z: the method has no argument of that name; it has x")
	service, err := reflectapi.DescribeInterface(reflect.TypeFor[unimplemented](), reflectapi.ExcludeMethods("Misspelt"))
	require.NoError(t, err)
	require.Len(t, service.Methods, 1)
	method := service.Methods[0]
	assert.Equal(t, "Add(x int, y int) (sum int)", method.Signature())
	assert.Equal(t, "Add adds.", method.Doc)
	_, err = method.Call(t.Context(), reflect.New(method.In).Elem())
	assert.EqualError(t, err, "method Add is described only by its signature: there is no code to call")
}

type unimplemented interface {
	Add(x, y int) (sum int, err error)
	Misspelt(x int) error
}

var _ = reflectapi.Register[unimplemented](`type unimplemented interface {
	// Add adds.
	Add(x, y int) (sum int, err error)
	//busline:arg z minimum=1
	Misspelt(x int) error
}`)
