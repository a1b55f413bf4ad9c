package reflectapi_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
)

// What has a name.
type (
	Level int
	Hash  []byte
)

func TestFits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		expression string
		value      any
		fits       bool
	}{
		{"int", 1, true},
		{"int", int64(1), false},
		{"int", Level(1), false},
		{"Level", Level(1), true},
		{"Alias", 1, true}, // it may be one
		{"K", "", true},    // a type parameter may be anything
		{"other.Name", Point{}, true},
		{"Page[int]", Point{}, true},
		{"Pair[int, string]", Point{}, true},
		{"(int)", 1, true},
		{"byte", uint8(1), true},
		{"rune", int32(1), true},
		{"rune", 1, false},
		{"*int", new(int), true},
		{"*int", 1, false},
		{"*string", new(int), false},
		{"[]byte", []uint8{}, true},
		{"[]byte", Hash{}, false},
		{"[]string", [2]string{}, false},
		{"[2]string", [2]string{}, true},
		{"[0b10]string", [2]string{}, true},
		{"[3]string", [2]string{}, false},
		{"[Size]string", [2]string{}, true},
		{"[2]string", []string{}, false},
		{"map[string][]int", map[string][]int{}, true},
		{"map[int][]int", map[string][]int{}, false},
		{"map[string]int", []int{}, false},
		{"struct{ X int }", struct{ X int }{}, true},
		{"struct{ X, Y int }", struct{ X int }{}, false},
		{"chan int", make(chan int), true},
		{"func()", func() {}, true},
		{"func()", 1, false},
		{"1 + 1", []int{}, false},
	} {
		fits, err := reflectapi.Fits(test.expression, reflect.TypeOf(test.value))
		require.NoError(t, err, "%s for a %T", test.expression, test.value)
		assert.Equal(t, test.fits, fits, "%s for a %T", test.expression, test.value)
	}
	for expression, want := range map[string]bool{"any": true, "interface{}": true, "int": false, "error": false} {
		if fits, _ := reflectapi.Fits(expression, reflect.TypeFor[any]()); fits != want {
			t.Errorf("%s for any: %t", expression, fits)
		}
	}
}

type twin struct{}

type variables = [][2]string

// What the debug information leaves out must never shift the names of what it has.
func TestDWARFEntries(t *testing.T) {
	t.Parallel()
	const self, ctxType, p = "example.com/x%2ey/reflectapi_test.twin", "context.Context", "example.com/shop.Point"
	type ctx = context.Context
	for _, test := range []struct {
		name            string
		fn              any
		params, results variables
		want            []string // nil when the entry must not answer
	}{
		{"complete", func(int, string) (f float64) { return }, variables{{"t", self}, {"x", "int"}, {"y", "string"}},
			variables{{"f", "float64"}}, []string{"x", "y", "f"}},
		{"wrapper of another type", func(int) {}, variables{{"o", "*main.Outer"}, {"x", "int"}}, nil, []string{"x"}},
		{"no receiver", func(int, string) {}, variables{{"x", "int"}, {"y", "string"}}, nil, []string{"x", "y"}},
		{"blank in its place", func(int, string) {}, variables{{"t", self}, {"~p1", "int"}, {"y", "string"}}, nil,
			[]string{"", "y"}},
		{"blank left out", func(int, string) {}, variables{{"t", self}, {"y", "string"}}, nil, nil},
		{"blank, no receiver", func(int, string) {}, variables{{"y", "string"}}, nil, nil},
		{"blank of one's own type", func(twin, int) {}, variables{{"t", self}, {"y", "int"}}, nil, nil},
		{"twin, no receiver", func(twin) {}, variables{{"other", self}}, nil, nil},
		{"pointer receiver", func(*twin) {}, variables{{"t", "*" + self}, {"other", "*" + self}}, nil, []string{"other"}},
		{"context", func(ctx, int) {}, variables{{"t", self}, {"c", ctxType}, {"x", "int"}}, nil, []string{"c", "x"}},
		{"blank context", func(ctx, int) {}, variables{{"t", self}, {"x", "int"}}, nil, []string{"", "x"}},
		{"neither", func(ctx, int) {}, variables{{"x", "int"}}, nil, []string{"", "x"}},
		{"context, blank", func(ctx, int) {}, variables{{"t", self}, {"c", ctxType}}, nil, nil},
		{"context, twin", func(ctx, twin) {}, variables{{"other", self}}, nil, nil},
		{"wrong type", func(int) {}, variables{{"t", self}, {"x", "string"}}, nil, nil},
		{"other package", func([]*Point) {}, variables{{"t", self}, {"x", "[]*" + p}}, nil, []string{"x"}},
		{"generic code", func(int) {}, variables{{"t", "*main.Store[go.shape.int]"}, {"x", "go.shape.int"}}, nil,
			[]string{"x"}},
		{"type in a dictionary", func(int) {}, variables{{"t", ".param0"}, {"x", ".param1"}}, nil, []string{"x"}},
		{"unnamed results", func(int) (a int, b string) { return }, variables{{"t", self}, {"x", "int"}}, nil,
			[]string{"x", "", ""}},
		{"unnamed, in place", func() (a int) { return }, variables{{"t", self}}, variables{{"~r0", "int"}}, []string{""}},
		{"a result too few", func() (a int, b string) { return }, variables{{"t", self}}, variables{{"a", "int"}}, nil},
		{"wrong result", func() (a int) { return }, variables{{"t", self}}, variables{{"a", "string"}}, nil},
		{"nothing at all", func() {}, nil, nil, []string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			names, ok := reflectapi.DWARFNames(reflect.TypeFor[twin](), reflect.TypeOf(test.fn), test.params, test.results)
			if ok != (test.want != nil) || ok && !slices.Equal(names, test.want) {
				t.Errorf("%q, %t; want %q", names, ok, test.want)
			}
		})
	}
}

func TestSources_SymbolsOfExportedMethods(t *testing.T) {
	t.Parallel()
	for symbol, want := range map[string]bool{
		"main.Store.Put":                                   true,
		"main.(*Store[go.shape.string]).Put":               true,
		"example.com/shop.(*Store[example.com/a.B,int]).P": true,
		"gopkg.in/yaml%2ev3.(*Node).Decode":                true,
		"main.Store.put":                                   false,
		"main.Put":                                         false,
		"main.Map[go.shape.int]":                           false,
		"gopkg.in/yaml%2ev3.Marshal":                       false,
		"main.Store.Put.func1":                             false,
		"memmove":                                          false,
	} {
		if got := reflectapi.IsExportedMethod(symbol); got != want {
			t.Errorf("%s: %t", symbol, got)
		}
	}
}

func TestSources_FolderInModule(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	inside := filepath.Join(root, "a", "b")
	nested := filepath.Join(root, "nested")
	for _, folder := range []string{inside, nested} {
		require.NoError(t, os.MkdirAll(folder, 0o700))
	}
	for file, module := range map[string]string{root: "// A comment.\nmodule example.com/mod // and another\n\ngo 1.26\n",
		nested: "module \"example.com/nested\"\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(file, "go.mod"), []byte(module), 0o600))
	}
	for _, test := range []struct{ importPath, within, want, err string }{
		{"example.com/mod/c/d", inside, filepath.Join(root, "c", "d"), "<nil>"},
		{"example.com/mod", inside, root, "<nil>"},
		{"example.com/nested/e", nested, filepath.Join(nested, "e"), "<nil>"},
		{"example.com/mod/c", nested, "", "package example.com/mod/c is in another module"},
		{"example.com/module", inside, "", "package example.com/module is in another module"},
	} {
		got, err := reflectapi.FolderInModule(test.importPath, test.within)
		assert.Equal(t, test.want, got, "%s within %s", test.importPath, test.within)
		assert.Equal(t, test.err, errorText(err), "%s within %s", test.importPath, test.within)
	}
}
