package reflectapi_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
)

// routed declares a route.
type routed interface {
	// Close closes an account.
	//
	//busline:route POST /accounts/{id}/close
	Close(id int) error
}

var _ = reflectapi.Register[routed](`// routed declares a route.
type routed interface {
	// Close closes an account.
	//
	//busline:route POST /accounts/{id}/close
	Close(id int) error
}`)

// overdue declares one that its table does not have yet.
type overdue interface {
	// Close closes an account.
	//
	//busline:route POST /accounts/{id}/close
	Close(id int) error
}

var _ = reflectapi.Register[overdue](`// overdue declares one that its table does not have yet.
type overdue interface {
	// Close closes an account.
	Close(id int) error
}`)

// tableless declares one, and has no table.
type tableless interface {
	//busline:route POST /accounts/{id}/close
	Close(id int) error
}

// bank implements them all.
type bank struct{}

func (bank) Close(int) error { return nil }

// abacus declares a route itself.
type abacus struct{}

//busline:route POST /count/{n}
func (abacus) Count(n int) error { return nil }

// confused declares one that the library does not read.
type confused interface {
	//busline:path /count/{n}
	Count(n int) error
}

func TestDeclaredRoute(t *testing.T) {
	t.Parallel()
	for _, options := range [][]reflectapi.Option{nil, {reflectapi.RequirePortableNames()},
		{reflectapi.ParamNames("Close", "id", "")}} {
		service := describeAs[routed](t, bank{}, options...)
		got := service.Methods[0]
		assert.Equal(t, "POST /accounts/{id}/close", got.Declared.HTTPMethod+" "+got.Declared.Path)
		assert.Equal(t, "Close closes an account.", got.Doc)
		assert.LessOrEqual(t, len(service.Warnings), 0)
	}
}

func TestRoute_OfAnOldTable(t *testing.T) {
	t.Parallel()
	service := describeAs[overdue](t, bank{})
	want := "method Close: the signature table declares nothing, the source file declares //busline:route POST " +
		"/accounts/{id}/close: run go generate"
	require.Len(t, service.Warnings, 1)
	assert.Equal(t, want, service.Warnings[0])
	assert.Empty(t, service.Methods[0].Declared)
}

func TestRoute_Refused(t *testing.T) {
	t.Parallel()
	for want, describe := range map[string]func() (*reflectapi.Service, error){
		"method Close: source file: its comment has //busline:route POST /accounts/{id}/close, which production would not " +
			"know: write a signature table with apigen -type tableless": func() (*reflectapi.Service, error) {
			return reflectapi.DescribeAs(reflect.TypeFor[tableless](), bank{})
		},
		"method Count: source file: its comment has //busline:route POST /count/{n}, which is for interfaces: " +
			"use the options of bus.Serve and tags of structs, or serve an interface": func() (*reflectapi.Service, error) {
			return reflectapi.Describe(abacus{})
		},
		"its comment has //busline:path, which is not a directive: there are //busline:arg, //busline:result, " +
			"//busline:status, //busline:problem, //busline:route, //busline:method, //busline:port, //busline:callers, " +
			"//busline:resource, //busline:key, //busline:field": func() (*reflectapi.Service, error) {
			return reflectapi.DescribeAs(reflect.TypeFor[confused](), abacus{})
		},
	} {
		_, err := describe()
		assert.ErrorContains(t, err, want)
	}
}
