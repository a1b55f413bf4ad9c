package reflectapi_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
)

// What generated files might say of the interfaces below.
var (
	_ = reflectapi.Register[adder](`
// adder adds, says its table.
type adder interface {
	// Add adds.
	//
	// It overflows.
	Add(ctx context.Context, x, y int) (sum int, err error)
	Nameless(int) (a int, _ error)
	// Total has any number of arguments.
	Total(ctx context.Context, numbers ...int) (total int, err error)
}
`)
	_ = reflectapi.Register[shelf[string]]("type shelf[T any] interface{ Lay(thing T) (place int) }")
	_ = reflectapi.Register[alias]("type original interface{ Ask(question string) (answer string) }")
	_ = reflectapi.Register[original]("type original interface{ Ask(question string) (answer string) }") // the same twice
)

type (
	// adder adds.
	adder interface {
		Add(ctx context.Context, a, b int) (c int, err error)
		Nameless(int) (c int, _ error)
		Total(ctx context.Context, all ...int) (sum int, err error)
		hidden()
	}
	shelf[T any] interface{ Lay(what T) (where int) }
	original     interface{ Ask(string) (reply string) }
	alias        = original
	asked[T any] interface {
		Ask(what string) (reply string)
	}
)

// handyman implements them all, with names of his own.
type handyman struct{}

func (handyman) Add(_ context.Context, left, right int) (int, error) { return left + right, nil }
func (handyman) Nameless(n int) (int, error)                         { return n, nil }
func (handyman) Total(_ context.Context, each ...int) (int, error)   { return len(each), nil }
func (handyman) Lay(string) (spot int)                               { return 0 }
func (handyman) Ask(riddle string) (solution string)                 { return riddle }
func (handyman) hidden()                                             {}

func describeAs[T any](t *testing.T, impl any, options ...reflectapi.Option) *reflectapi.Service {
	t.Helper()
	service, err := reflectapi.DescribeAs(reflect.TypeFor[T](), impl, options...)
	require.NoError(t, err)
	return service
}

// A table wins over source, embedded or on disk.
func TestSignatureTable(t *testing.T) {
	t.Parallel()
	embedded := fstest.MapFS{"x_test.go": {Data: []byte("package reflectapi_test\n\ntype adder interface{ Add(c " +
		"context.Context, l, r int) (t int, e error) }\n")}}
	for name, source := range map[string]fstest.MapFS{"file": {}, "embedded": embedded} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := describeAs[adder](t, handyman{}, reflectapi.SourceFS(source))
			wantSignatures(t, service,
				"Add(x int, y int) (sum int)",
				"Nameless(n int) (result int)", // without a name in the interface
				"Total(numbers ...int) (total int)")
			assert.Equal(t, "adder adds, says its table.", service.Doc)
			assert.Equal(t, "signature table", service.DocOrigin)
			add := method(t, service, "Add")
			assert.Equal(t, "Add adds.\n\nIt overflows.", add.Doc)
			assert.Equal(t, "signature table", add.DocOrigin)
			assert.Equal(t, "signature table", add.Origin)
			nameless := method(t, service, "Nameless")
			assert.Equal(t, "source file", nameless.Origin)
			assert.Empty(t, nameless.DocOrigin)
		})
	}
}

func TestNames_InCodeBeatTheTable(t *testing.T) {
	t.Parallel()
	add := method(t, describeAs[adder](t, handyman{}, reflectapi.ParamNames("Add", "l, r", "t")), "Add")
	assert.Equal(t, "Add(l int, r int) (t int)", add.Signature())
	assert.Equal(t, "code", add.Origin)
	assert.Equal(t, "signature table", add.DocOrigin)
}

func TestTable_OfAGenericInterface(t *testing.T) {
	t.Parallel()
	wantSignatures(t, describeAs[shelf[string]](t, handyman{}), "Lay(thing string) (place int)")
}

// An alias is the type that it stands for, and the table is found under both names.
func TestTable_OfAnAlias(t *testing.T) {
	t.Parallel()
	wantSignatures(t, describeAs[alias](t, handyman{}), "Ask(question string) (answer string)")
	wantSignatures(t, describeAs[original](t, handyman{}), "Ask(question string) (answer string)")
}

// What the interface leaves without a name can be named there, and then generated again.
func TestTable_WithoutAName(t *testing.T) {
	t.Parallel()
	_, err := reflectapi.DescribeAs(reflect.TypeFor[adder](), handyman{}, reflectapi.RequirePortableNames())
	const want = `method Nameless: argument 1 is unnamed in adder: name it, as in (b int), and run go generate, or give them with bus.ParamNames("Nameless", …)`
	assert.EqualError(t, err, want)
}

// A struct that embeds an interface has its methods from there, and so their names.
func TestTable_OfAPromotedMethod(t *testing.T) {
	t.Parallel()
	type outer struct{ original }
	wantSignatures(t, describe(t, outer{handyman{}}), "Ask(question string) (answer string)")
}

func TestTable_Malformed(t *testing.T) {
	t.Parallel()
	const goGenerate = ": run go generate"
	for want, err := range map[string]error{
		"is registered 2 times, with differences: keep one, and run go generate": malformedTable[bool](
			"type asked interface{ Ask(a string) (b string) }", "type asked interface{ Ask(b string) (a string) }"),
		"does not parse: expected ')', found '.'" +
			goGenerate: malformedTable[int](`type asked interface{ Ask(a string, .) }`),
		"declares another type: run go generate, with apigen -type asked": malformedTable[int8]("type Asked interface{ " +
			"Ask(a string) (b string) }"),
		"declares no interface" + goGenerate: malformedTable[int16]("type asked struct{}"),
		"lacks method Ask" +
			goGenerate: malformedTable[int32]("type asked interface{ original }"),
		"has a method Tell that the program does not have" +
			goGenerate: malformedTable[uint]("type asked interface{ Ask(a string) (b string); Tell() }"),
		"is wrong about method Ask: parameter 1 is not of type string, as it is in the program" +
			goGenerate: malformedTable[uint8](
			"type asked interface{ Ask(a int) (b string) }"),
		"is wrong about method Ask: 2 results are declared, the program has 1" + goGenerate: malformedTable[uint16](
			"type asked interface{ Ask(a string) (b string, err error) }"),
	} {
		if err == nil {
			t.Errorf("accepted what %s", want)
			continue
		}
		if _, got, _ := strings.Cut(err.Error(), "] "); got != want {
			t.Errorf("got:  %v\nwant: %s", err, want)
		}
	}
}

// malformedTable registers declarations for an interface of their own, and describes it.
func malformedTable[Own any](declarations ...string) error {
	for _, declaration := range declarations {
		reflectapi.Register[asked[Own]](declaration)
	}
	_, err := reflectapi.DescribeAs(reflect.TypeFor[asked[Own]](), handyman{})
	return err
}

// All errors of a table and all others are reported at once, but for the names that are missing because of it.
func TestTable_ErrorsBesideIt(t *testing.T) {
	t.Parallel()
	reflectapi.Register[asked[string]]("type asked interface{ Tell(); Ask(a, b string) (c string) }")
	_, err := reflectapi.DescribeAs(reflect.TypeFor[asked[string]](), handyman{}, reflectapi.RequirePortableNames(),
		reflectapi.ExcludeMethods("Add"))
	want := strings.Join([]string{
		"bus.ExcludeMethods: reflectapi_test.asked[string] has no method Add",
		"the signature table of reflectapi_test.asked[string] is wrong about method Ask: 2 parameters are declared, " +
			"the program has 1: run go generate",
		"the signature table of reflectapi_test.asked[string] has a method Tell that the program does not have: " +
			"run go generate",
	}, "\n")
	assert.EqualError(t, err, want)
}

// clerk is no interface.
type clerk struct{}

// File files.
func (*clerk) File(paper string) (place int) { return 0 }

func TestTable_OfAStruct(t *testing.T) {
	t.Parallel()
	reflectapi.Register[clerk]("type clerk interface{ File(paper string) (place int) }")
	_, err := reflectapi.Describe(&clerk{})
	const want = "the signature table of reflectapi_test.clerk is for a type that is not an interface: " +
		"run apigen for an interface"
	assert.EqualError(t, err, want)
}
