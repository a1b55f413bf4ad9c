package reflectapi_test

import (
	"context"
	"embed"
	"io/fs"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/testdata/greeting"
)

//go:embed services_test.go
var services embed.FS

// edited is the source of the services with a change that moves no line.
func edited(t *testing.T, oldNew ...string) fs.FS {
	t.Helper()
	text, err := services.ReadFile("services_test.go")
	require.NoError(t, err)
	changed := strings.NewReplacer(oldNew...).Replace(string(text))
	if len(oldNew) > 0 && changed == string(text) {
		t.Fatalf("nothing to replace: %q", oldNew)
	}
	return fstest.MapFS{"services_test.go": {Data: []byte(changed)}}
}

func TestNames_InCodeWin(t *testing.T) {
	t.Parallel()
	service := describe(t, &Calculator{},
		reflectapi.ParamNames("Add", "left,right", " total "),
		reflectapi.ParamNames("Sum", "first, rest", ""),
		reflectapi.SourceFS(services))
	add, sum := method(t, service, "Add"), method(t, service, "Sum")
	got := add.Signature()
	assert.Equal(t, "Add(left int, right int) (total int)", got)
	assert.Equal(t, "code", add.Origin)
	if add.Doc != "Add returns the sum of x and y." {
		t.Errorf("the doc comment still comes from the source, but is %q", add.Doc)
	}
	if got := sum.Signature(); got != "Sum(first int, rest ...int) (result int)" {
		t.Error(got)
	}
}

func TestNaming_EmbeddedSourceBeatsTheFile(t *testing.T) {
	t.Parallel()
	source := edited(t, "x, y int) (sum int", "a, b int) (c int", "Add returns", "Plus returns")
	add := method(t, describe(t, &Calculator{}, reflectapi.SourceFS(source)), "Add")
	got := add.Signature()
	assert.Equal(t, "Add(a int, b int) (c int)", got)
	assert.Equal(t, "embedded source", add.Origin)
	if add.Doc != "Plus returns the sum of x and y." {
		t.Errorf("doc comment %q", add.Doc)
	}
}

func TestSeveralSources(t *testing.T) {
	t.Parallel()
	nested := fstest.MapFS{
		"README.md":                  {Data: []byte("not Go")},
		"deep/down/services_test.go": edited(t, "start int, more", "base int, more").(fstest.MapFS)["services_test.go"],
		"deep/down/broken.go":        {Data: []byte("package reflectapi_test\nfunc {")},
	}
	service := describe(t, &Calculator{}, reflectapi.SourceFS(fstest.MapFS{}), reflectapi.SourceFS(nested))
	sum := method(t, service, "Sum")
	assert.Equal(t, "embedded source", sum.Origin, sum.Signature())
	assert.Equal(t, "base", sum.Args[0].Name, sum.Signature())
}

// A source that does not have the method where the program was compiled from is another
// version, or another's: the next source is asked.
func TestSource_OfAnotherVersion(t *testing.T) {
	t.Parallel()
	moved := edited(t, "// Add returns", "//\n\n\n// Add returns", "x, y int", "wrong, worse int")
	namesake := fstest.MapFS{"services_test.go": {Data: []byte("package elsewhere\n\ntype Calculator struct{}\n")}}
	for name, source := range map[string]fs.FS{"moved": moved, "namesake": namesake, "empty": fstest.MapFS{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			add := method(t, describe(t, &Calculator{}, reflectapi.SourceFS(source)), "Add")
			got := add.Signature()
			assert.Equal(t, "Add(x int, y int) (sum int)", got)
			assert.Equal(t, "source file", add.Origin)
		})
	}
}

// lineNumber is masked in messages: it changes with every edit of the file.
var lineNumber = regexp.MustCompile(`go:\d+`)

func TestSource_ContradictsTheProgram(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		oldNew [2]string
		want   string
	}{
		{"argument type",
			[2]string{"x, y int) (sum int", "x string, y int) (sum int"},
			"method Add: embedded source: services_test.go:N: parameter 2 is not of type int, as it is in the program",
		},
		{"argument count",
			[2]string{"x, y int) (sum int", "x, y, z int) (sum int"},
			"method Add: embedded source: services_test.go:N: 4 parameters are declared, the program has 3",
		},
		{"result type",
			[2]string{"(d float64)", "(d *float64)"},
			"method Distance: embedded source: services_test.go:N: result 1 is not of type float64, as it is in the program",
		},
		{"result count",
			[2]string{"(d float64)", "(d float64, e error)"},
			"method Distance: embedded source: services_test.go:N: 2 results are declared, the program has 1",
		},
		{"array length",
			[2]string{"known [2]bool", "known [0x3]bool"},
			"method Remember: embedded source: services_test.go:N: result 1 is not of type [2]bool, as it is in the program",
		},
		{"a name may be an alias",
			[2]string{"p1, p2 Point", "p1, p2 Place"},
			"",
		},
		{"map element",
			[2]string{"map[string][]*Point", "map[string][]bool"},
			"method Remember: embedded source: services_test.go:N: parameter 1 is not of type " +
				"map[string][]*reflectapi_test.Point, as it is in the program",
		},
		{"variadic",
			[2]string{"more ...int", "more ...bool"},
			"method Sum: embedded source: services_test.go:N: parameter 2 is not of type []int, as it is in the program",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := reflectapi.Describe(&Calculator{}, reflectapi.SourceFS(edited(t, test.oldNew[0], test.oldNew[1])))
			if test.want == "" && err == nil {
				return
			}
			require.Error(t, err)
			assert.Equal(t, test.want, lineNumber.ReplaceAllString(err.Error(), "go:N"))
		})
	}
}

// Names in code mend what a source is wrong about.
func TestNames_InCodeAgainstASource(t *testing.T) {
	t.Parallel()
	source := edited(t, "x, y int) (sum int", "x string, y int) (sum int")
	service := describe(t, &Calculator{}, reflectapi.SourceFS(source), reflectapi.ParamNames("Add", "x, y", "sum"))
	add := method(t, service, "Add")
	assert.Equal(t, "code", add.Origin)
	assert.Equal(t, "Add returns the sum of x and y.", add.Doc)
}

// Anonymous leaves names out in every way there is.
type Anonymous struct{}

func (Anonymous) Args(int, string) (ok bool)   { return false }
func (Anonymous) Blank(_, y int) (ok bool)     { return false }
func (Anonymous) Results(x int) (int, string)  { return 0, "" }
func (Anonymous) HalfBlank() (a int, _ string) { return 0, "" }
func (Anonymous) Single(x int) (_ int, _ error) {
	return 0, nil
}

func (Anonymous) Everything(context.Context, int, ...Point) (int, string, *Point, error) {
	return 0, "", nil, nil
}

func TestMissingNames(t *testing.T) {
	t.Parallel()
	_, err := reflectapi.Describe(Anonymous{})
	if err == nil {
		t.Fatal("names were invented")
	}
	const mock = "; serve a mock as its interface: bus.Serve[API](conn, mock)"
	want := strings.Join([]string{
		`method Args: arguments 1 and 2 are unnamed in naming_test.go:N: name them, as in (a int, b string), or give them with bus.ParamNames("Args", …)`,
		`method Blank: argument 1 is unnamed in naming_test.go:N: name it, as in (a int, y int), or give them with bus.ParamNames("Blank", …)`,
		`method Everything: arguments 1 and 2 and results 1, 2 and 3 are unnamed in naming_test.go:N: name them,` +
			` as in (ctx context.Context, a int, b ...Point) (c int, d string, e *Point, err error), or give them with bus.ParamNames("Everything", …)` + mock,
		`method HalfBlank: result 2 is unnamed in naming_test.go:N: name it, as in (a int, b string), or give them with bus.ParamNames("HalfBlank", …)` + mock,
		`method Results: results 1 and 2 are unnamed in naming_test.go:N: name them, as in (a int, b string), or give them with bus.ParamNames("Results", …)` + mock,
	}, "\n")
	if got := lineNumber.ReplaceAllString(err.Error(), "go:N"); got != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
	service := describe(t, Anonymous{}, reflectapi.ExcludeMethods("Args", "Everything", "HalfBlank", "Results"),
		reflectapi.ParamNames("Blank", "x, y", "ok"))
	wantSignatures(t, service, "Blank(x int, y int) (ok bool)", "Single(x int) (result int)")
}

// Friend implements an interface of another package.
type Friend struct{}

// Greet of a friend.
func (Friend) Greet(who string, often int) (text string, err error) { return who, nil }

// Leave of a friend.
func (Friend) Leave(place string) (text string) { return place }

// Other is not in the interface.
func (Friend) Other(c chan int) {}

func TestDescribeAs_InterfaceOfAnotherPackage(t *testing.T) {
	t.Parallel()
	service, err := reflectapi.DescribeAs(reflect.TypeFor[greeting.Greeter](), &Friend{})
	require.NoError(t, err)
	assert.Equal(t, "Greeter", service.Name, service.Type)
	if service.Type != reflect.TypeFor[greeting.Greeter]() {
		t.Errorf("described %s, %v, %q", service.Name, service.Type, service.Doc)
	}
	assert.Equal(t, "Greeter greets.", service.Doc, service.Type)
	wantSignatures(t, service,
		"Greet(name string, times int) (greeting string)",
		"Leave(place string) (text string)", // unnamed in the interface: the implementation's names
	)
	if doc := method(t, service, "Leave").Doc; doc != "Leave says goodbye; its arguments have no names here." {
		t.Errorf("Leave is documented as %q", doc)
	}
}

func TestDescribeAs_EmbeddedInterface(t *testing.T) {
	t.Parallel()
	const declaration = "package greeting\n\ntype Greeter interface {\n\tGreet(a string, b int) (c string, " +
		"err error)\n\tLeave(d string) (e string)\n}\n"
	iface := reflect.TypeFor[greeting.Greeter]()
	service, err := reflectapi.DescribeAs(iface, Friend{},
		reflectapi.SourceFS(fstest.MapFS{"x.go": {Data: []byte(declaration)}}))
	require.NoError(t, err)
	wantSignatures(t, service, "Greet(a string, b int) (c string)", "Leave(d string) (e string)")
	if doc := method(t, service, "Greet").Doc; doc != "Greet greets a person." {
		t.Errorf("Greet is documented as %q: the file has a comment where the embedded source has none", doc)
	}
	if service.Doc != "Greeter greets." {
		t.Errorf("the service is documented as %q", service.Doc)
	}

	twice := fstest.MapFS{
		"a/x.go": {Data: []byte(declaration)},
		"b/x.go": {Data: []byte(strings.Replace(declaration, "a string", "z string", 1))},
	}
	_, err = reflectapi.DescribeAs(iface, Friend{}, reflectapi.SourceFS(twice))
	assert.EqualError(t, err, "method Greet: embedded source: a/x.go:4 and b/x.go:4 declare Greet differently")
}

// circular interfaces cannot be compiled, but they can be read.
func TestCircularInterfaces(t *testing.T) {
	t.Parallel()
	const circular = "package greeting\n\ntype Greeter interface{ Leaver }\n\ntype Leaver interface{ Greeter }\n"
	service, err := reflectapi.DescribeAs(reflect.TypeFor[greeting.Greeter](), Friend{},
		reflectapi.SourceFS(fstest.MapFS{"x.go": {Data: []byte(circular)}}))
	require.NoError(t, err)
	if greet := method(t, service, "Greet"); greet.Origin != "source file" {
		t.Errorf("Greet from %s", greet.Origin)
	}
}

func TestDescribeAs_InterfaceInTheSameTestFile(t *testing.T) {
	t.Parallel()
	service, err := reflectapi.DescribeAs(reflect.TypeFor[speaker](), voice{})
	require.NoError(t, err)
	wantSignatures(t, service, "Speak(words ...string) (loudness int)")
}

// Test files do not count for what is declared outside of them.
func TestNaming_TestFilesDoNotCount(t *testing.T) {
	t.Parallel()
	source := fstest.MapFS{"x_test.go": {Data: []byte("package greeting\n\ntype Host struct{}\n\ntype Greeter " +
		"interface{ Greet(x string, y int) (z string, err error) }\n")}}
	service, err := reflectapi.DescribeAs(reflect.TypeFor[greeting.Greeter](), greeting.Host{},
		reflectapi.SourceFS(source))
	require.NoError(t, err)
	greet := method(t, service, "Greet")
	assert.Equal(t, "source file", greet.Origin, greet.Signature())
	assert.Equal(t, "name", greet.Args[0].Name, greet.Signature())
	host := describe(t, greeting.Host{}, reflectapi.SourceFS(source))
	if host.Doc != "Host greets guests." {
		t.Errorf("Host is documented as %q", host.Doc)
	}
	wantSignatures(t, host, "Greet(guest string, times int) (greeting string)", "Leave(reason string) (farewell string)")
}
