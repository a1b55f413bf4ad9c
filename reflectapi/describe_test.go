package reflectapi_test

import (
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	service := describe(t, &Calculator{})
	if service.Name != "Calculator" || service.Type != reflect.TypeFor[*Calculator]() {
		t.Errorf("described %s of type %v", service.Name, service.Type)
	}
	if service.Doc != "Calculator does sums.\nIt forgets nothing." {
		t.Errorf("doc comment %q", service.Doc)
	}
	wantSignatures(t, service,
		"Add(x int, y int) (sum int)",
		"Distance(p1 Point, p2 Point) (d float64)",
		"Forget()",
		"Home(w http.ResponseWriter, r *http.Request)",
		"Remember(names map[string][]*Point, since time.Time, raw []byte) (known [2]bool, any any)",
		"Sum(start int, more ...int) (result int)",
	)

	add := method(t, service, "Add")
	if add.Doc != "Add returns the sum of x and y." {
		t.Errorf("Add is documented as %q", add.Doc)
	}
	assert.Equal(t, reflectapi.Function, add.Kind)
	assert.True(t, add.TakesContext)
	assert.True(t, add.ReturnsError)
	assert.False(t, add.Variadic)
	assert.Equal(t, "source file", add.Origin)
	home := method(t, service, "Home")
	assert.Equal(t, reflectapi.Web, home.Kind)
	assert.Nil(t, home.In)
	assert.Nil(t, home.Out)
	assert.Equal(t, "Home is a page.", home.Doc)
	assert.Empty(t, home.Origin)
	if sum := method(t, service, "Sum"); !sum.Variadic || sum.Args[1].Type != reflect.TypeFor[[]int]() {
		t.Errorf("Sum is described as %+v", sum)
	}
}

func TestDescribe_InputAndOutputStructs(t *testing.T) {
	t.Parallel()
	add := method(t, describe(t, Calculator{}, reflectapi.ExcludeMethods("Distance")), "Add")
	for i, name := range []string{"x", "y"} {
		field := add.In.Field(i)
		if field.Type != reflect.TypeFor[int]() {
			t.Errorf("input field %d is %+v", i, field)
		}
		assert.True(t, field.IsExported(), i)
		assert.Equal(t, name, field.Tag.Get("json"), i)
		assert.Equal(t, name, field.Tag.Get("schema"), i)
	}
	assert.Equal(t, 2, add.In.NumField())
	assert.Equal(t, 1, add.Out.NumField())
	assert.Equal(t, "sum", add.Out.Field(0).Tag.Get("json"))
}

func TestGenericService(t *testing.T) {
	t.Parallel()
	service := describe(t, &Store[string, Point]{})
	assert.Equal(t, "Store", service.Name)
	assert.Equal(t, "Store keeps values by key.", service.Doc)
	wantSignatures(t, service,
		"Get(key string) (value Point, found bool)",
		"Put(key string, value Point) (old Point)",
	)
	if doc := method(t, service, "Get").Doc; doc != "Get loads." {
		t.Errorf("Get is documented as %q", doc)
	}
}

// inner is embedded by pointer in middle, and middle by value in Outermost.
type inner struct{}

// Deep is two levels down.
func (inner) Deep(level int) (depth int) { return level }

// Hidden is shadowed.
func (inner) Hidden(wrong int) (result int) { return wrong }

type middle struct{ *inner }

// Hidden shadows.
func (*middle) Hidden(right int) (result int) { return right }

type speaker interface {
	// Speak comes from an interface.
	Speak(words ...string) (loudness int)
}

type voice struct{}

func (voice) Speak(...string) int { return 1 }

// Outermost has no method of its own.
type Outermost struct {
	middle
	speaker
}

func TestPromotedMethods(t *testing.T) {
	t.Parallel()
	service := describe(t, &Outermost{speaker: voice{}})
	wantSignatures(t, service,
		"Deep(level int) (depth int)",
		"Hidden(right int) (result int)",
		"Speak(words ...string) (loudness int)",
	)
	for name, doc := range map[string]string{
		"Deep": "Deep is two levels down.", "Hidden": "Hidden shadows.", "Speak": "Speak comes from an interface.",
	} {
		t.Run(name, func(t *testing.T) {
			if got := method(t, service, name).Doc; got != doc {
				t.Errorf("%s is documented as %q", name, got)
			}
		})
	}
	if service.Doc != "Outermost has no method of its own." {
		t.Errorf("the service is documented as %q", service.Doc)
	}
}

type closer interface{ Close() }

// misfits holds one method for each shape that cannot be served. It is an interface, so that a table can hold the
// message of each. Its values have no names: whether these would be known depends on how the test is built.
type misfits interface {
	Channel(_ chan int)
	ChannelResult() (_ <-chan int)
	Callback(_ func())
	Pointer(_ unsafe.Pointer)
	Complex(_ complex128)
	Address(_ uintptr)
	Reader(_ io.Reader)
	ReaderResult() (_ io.ReadCloser)
	Upload(_ []*multipart.FileHeader)
	File(_ *os.File)
	LateContext(_ int, _ context.Context)
	ContextResult() (_ context.Context)
	EarlyError() (_ error, _ int)
	ErrorArgument(_ error)
	OwnError() *ownError
	Writer(_ http.ResponseWriter)
	Request(_ *http.Request)
	ContextWeb(_ context.Context, _ http.ResponseWriter, _ *http.Request)
	WebResult(_ http.ResponseWriter, _ *http.Request) (_ int)
	NestedChannel(_ Order)
	NestedInterface(_ map[string][]*Holder)
	Keys(_ map[Point]int)
	AnyKeys(_ map[any]int)
	NoFields(_ closed)
	Endless(_ endless)
	Self(_ Selfish)
	SelfInline(_ []*selfInline)
	Both(_ chan int, _ func())
	Twice(_ linked, _ linked) (_ linked)
	Rivals(_ rivals)
	EmbeddedRivals(_ []embeddedRivals)
	OmittedEmbedded(_ omittedEmbedded)
	Hiding(_ []struct{ A hiding })
}

type (
	ownError struct{ Code int }
	// Order has a field that cannot travel.
	Order struct {
		ID     int
		Notify chan string
		Hidden func() `json:"-"`
	}
	// Holder holds an interface.
	Holder struct{ Closer closer }
	closed struct{ _ int }
	linked struct {
		Links []link `json:"links"`
	}
	link struct {
		Target *closed `json:"target"`
	}
	Selfish struct {
		*Selfish
		X int
	}
	selfInline struct {
		Other *struct {
			Self *selfInline `json:",inline"` //nolint:revive // an option of jsonschema
		} `json:",inline"` //nolint:revive // an option of jsonschema
	}
	rivals struct {
		ID    int
		Key   int `json:"key"`
		Other int `json:"ID"`
	}
	hiding struct {
		PageLimit
		*Quota
	}
	// PageLimit and Quota have a member of one name.
	PageLimit struct {
		Limit int `json:"limit"`
	}
	Quota struct {
		Most int `json:"limit"`
	}
	embeddedRivals struct {
		rivals

		ID int
	}
	omittedEmbedded struct {
		PageLimit `json:",omitzero"`
	}
	// endless points to itself, which is legal.
	endless *endless
)

func (*ownError) Error() string { return "" }

func TestMisfits(t *testing.T) {
	t.Parallel()
	const web = "is for a web method, which is exactly (w http.ResponseWriter, r *http.Request), " +
		"with an error or nothing as its result"
	const stream = ": take or return a []byte, or make it a web method (w http.ResponseWriter, r *http.Request)"
	messages := map[string]string{
		"Channel":       "argument 1 cannot be encoded as JSON: it is of type chan int",
		"ChannelResult": "result 1 is a channel, which cannot tell an error: for a stream return an iter.Seq2[int, error]",
		"Callback":      "argument 1 cannot be encoded as JSON: it is of type func()",
		"Pointer":       "argument 1 cannot be encoded as JSON: it is of type unsafe.Pointer",
		"Complex":       "argument 1 cannot be encoded as JSON: it is of type complex128",
		"Address":       "argument 1 cannot be encoded as JSON: it is of type uintptr",
		"Reader":        "argument 1 cannot be encoded as JSON: it is of type io.Reader" + stream,
		"ReaderResult":  "result 1 cannot be encoded as JSON: it is of type io.ReadCloser" + stream,
		"Upload":        "argument 1 cannot be encoded as JSON: an element of it is of type multipart.FileHeader" + stream,
		"File":          "argument 1 cannot be encoded as JSON: it is of type os.File" + stream,
		"LateContext":   "argument 2 is a context.Context: it can only be the first argument",
		"ContextResult": "result 1 is a context.Context: it can only be the first argument",
		"EarlyError":    "result 1 is an error: it can only be the last result",
		"ErrorArgument": "argument 1 is an error: it can only be the last result",
		"OwnError": "result 1 is of type *reflectapi_test.ownError, which implements error: declare it as error, " +
			"or add an error after it",
		"Writer":        "argument 1 " + web,
		"Request":       "argument 1 " + web,
		"ContextWeb":    "argument 1 " + web + " (also argument 2)",
		"WebResult":     "argument 1 " + web + " (also argument 2)",
		"NestedChannel": "argument 1 cannot be encoded as JSON: field reflectapi_test.Order.Notify is of type chan string",
		"NestedInterface": "argument 1 cannot be encoded as JSON: field reflectapi_test.Holder.Closer is of type " +
			"reflectapi_test.closer, an interface, so it is unknown which type to decode: use a struct, or any, or declare its variants with " +
			"//busline:oneOf and run apigen for it",
		"Keys": "argument 1 cannot be encoded as JSON: a key of it is of type reflectapi_test.Point: use a string, " +
			"an integer or a type that marshals as text",
		"AnyKeys": "argument 1 cannot be encoded as JSON: a key of it is of type interface {}: use a string, " +
			"an integer or a type that marshals as text",
		"NoFields": "argument 1 cannot be encoded as JSON: it is of type reflectapi_test.closed, " +
			"a struct without exported fields: use a string, or a type that marshals itself",
		"Twice": "argument 1 cannot be encoded as JSON: field reflectapi_test.linked.Links.Target is of type " +
			"reflectapi_test.closed, a struct without exported fields: use a string, or a type that marshals itself (also " +
			"argument 2, result 1)",
		"Endless": "argument 1 cannot be encoded as JSON: it is of type reflectapi_test.endless, a pointer to itself",
		"Self": "argument 1 cannot be encoded as JSON: it is of type reflectapi_test.Selfish, " +
			"a struct that embeds itself",
		"SelfInline": "argument 1 cannot be encoded as JSON: an element of it is of type reflectapi_test.selfInline, " +
			"a struct that embeds itself",
		"Both": "argument 1 cannot be encoded as JSON: it is of type chan int; argument 2 cannot be encoded as JSON: " +
			"it is of type func()",
		"Rivals": `argument 1 cannot be encoded as JSON: fields ID and Other of reflectapi_test.rivals are both "ID" in JSON: give one of them another json tag`,
		"Hiding": `argument 1 cannot be encoded as JSON: fields PageLimit.Limit and Quota.Most of reflectapi_test.hiding hide each other, as both are "limit" in JSON: ` +
			`give one of them another json tag, or give the embedded reflectapi_test.Quota a json tag`,
		"EmbeddedRivals": `argument 1 cannot be encoded as JSON: fields ID and Other of reflectapi_test.rivals are both "ID" in JSON: give one of them another json tag`,
		"OmittedEmbedded": "argument 1 cannot be encoded as JSON: field reflectapi_test.omittedEmbedded.PageLimit: " +
			"the json option omitzero is not for an embedded struct, whose fields are members in its place: " +
			`write json:",inline" or no json tag`,
	}
	_, err := reflectapi.DescribeAs(reflect.TypeFor[misfits](), struct{ misfits }{})
	if err == nil {
		t.Fatal("all of them were accepted")
	}
	got := strings.Split(err.Error(), "\n")
	var want []string
	for name, message := range messages {
		want = append(want, "method "+name+": "+message+"; change it, or leave it out with bus.ExcludeMethods(\""+name+"\")")
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Sender is what a method with names is made of that cannot be served.
type Sender struct{}

// Send has a name for each value.
func (Sender) Send(ctx context.Context, to chan int, at *http.Request, _ chan int) (done chan int, _ *ownError) {
	return nil, nil
}

// TestDescribe_MisfitsByName: a name says more than a position, where all are known.
func TestDescribe_MisfitsByName(t *testing.T) {
	t.Parallel()
	const positions = "argument 1 cannot be encoded as JSON: it is of type chan int (also argument 3); " +
		"argument 2 is for a web method, which is exactly (w http.ResponseWriter, r *http.Request), " +
		"with an error or nothing as its result; result 1 is a channel, which cannot tell an error: " +
		"for a stream return an iter.Seq2[int, error]; result 2 is of type *reflectapi_test.ownError, " +
		"which implements error: declare it as error, or add an error after it"
	names := strings.NewReplacer("argument 1", "argument to", "argument 2", "argument at", "argument 3", "argument more",
		"result 1", "result done", "result 2", "result failed").Replace(positions)
	for want, options := range map[string][]reflectapi.Option{
		positions: nil,
		names:     {reflectapi.ParamNames("Send", "to, at, more", "done, failed")},
	} {
		_, err := reflectapi.Describe(Sender{}, options...)
		if got := errorText(err); got != "method Send: "+want+
			"; change it, or leave it out with bus.ExcludeMethods(\"Send\")" {
			t.Errorf("got:  %s\nwant: %s", got, want)
		}
	}
}

func TestDescribe_Errors(t *testing.T) {
	t.Parallel()
	type nothing struct{}
	type unserved struct{ *Calculator }
	for _, test := range []struct {
		name    string
		impl    any
		options []reflectapi.Option
		want    string
	}{
		{"nil", nil, nil, "the service is nil: pass a value"},
		{"nil pointer", (*Calculator)(nil), nil, "the *reflectapi_test.Calculator is nil: pass one that is not"},
		{"no methods", nothing{}, nil, "reflectapi_test.nothing has no exported method to serve"},
		{"no name", struct{ Calculator }{}, nil,
			"struct { reflectapi_test.Calculator } is a type without a name: declare one"},
		{"pointer receiver", Calculator{}, nil,
			`method Distance has a pointer receiver: pass a *reflectapi_test.Calculator, or leave it out with bus.ExcludeMethods("Distance")`},
		{"nothing left", &inner{}, []reflectapi.Option{reflectapi.ExcludeMethods("Deep", "Hidden")},
			"*reflectapi_test.inner has no exported method to serve"},
		{"without nobody", &Calculator{}, []reflectapi.Option{reflectapi.ExcludeMethods("Subtract")},
			"bus.ExcludeMethods: *reflectapi_test.Calculator has no method Subtract"},
		{"names of nobody", &Calculator{}, []reflectapi.Option{reflectapi.ParamNames("Subtract", "x", "")},
			"bus.ParamNames: *reflectapi_test.Calculator has no method Subtract"},
		{"named twice", &Calculator{}, []reflectapi.Option{reflectapi.ParamNames("Add", "x, y", "sum"),
			reflectapi.ParamNames("Add", "a, b", "c")},
			"bus.ParamNames: method Add is given twice"},
		{"no identifier", &Calculator{}, []reflectapi.Option{reflectapi.ParamNames("Add", "x y", "sum")},
			"bus.ParamNames: method Add: \"x y\" is not a Go identifier\n" +
				"method Add: code: names for 1 arguments (x y) and 1 results (sum), but the method has 2 and 1, " +
				"context and error not counted"},
		{"keyword", &Calculator{}, []reflectapi.Option{reflectapi.ParamNames("Add", "x, type", "sum")},
			`bus.ParamNames: method Add: "type" is not a Go identifier`},
		{"blank", &Calculator{}, []reflectapi.Option{reflectapi.ParamNames("Add", "_, y", "sum")},
			`bus.ParamNames: method Add: "_" is not a Go identifier`},
		{"one name for two", &Calculator{}, []reflectapi.Option{reflectapi.ParamNames("Add", "x, x", "sum")},
			"bus.ParamNames: method Add: the name x is used for two values"},
		{"too many", &Calculator{}, []reflectapi.Option{reflectapi.ParamNames("Forget", "x", "")},
			"method Forget: code: names for 1 arguments (x) and 0 results (), but the method has 0 and 0, " +
				"context and error not counted"},
		{"web method", &Calculator{}, []reflectapi.Option{reflectapi.ParamNames("Home", "w, r", "")},
			"method Home: code: names for 2 arguments (w, r) and 0 results (), but the method has 0 and 0, " +
				"context and error not counted"},
		{"all at once", unserved{}, []reflectapi.Option{reflectapi.ExcludeMethods("X"), reflectapi.ParamNames("Y", "", "")},
			"bus.ExcludeMethods: reflectapi_test.unserved has no method X\nbus.ParamNames: reflectapi_test.unserved has no " +
				"method Y"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := reflectapi.Describe(test.impl, test.options...)
			assert.EqualError(t, err, test.want)
		})
	}
}

func TestDescribeAs_Errors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		iface reflect.Type
		impl  any
		want  string
	}{
		{"nil", nil, Calculator{}, "<nil> is not an interface"},
		{"no interface", reflect.TypeFor[Calculator](), Calculator{}, "reflectapi_test.Calculator is not an interface"},
		{"nil value", reflect.TypeFor[speaker](), nil, "the service is nil: pass a value"},
		{"not implemented", reflect.TypeFor[speaker](), Calculator{},
			"reflectapi_test.Calculator does not implement reflectapi_test.speaker"},
		{"no methods", reflect.TypeFor[any](), Calculator{}, "interface {} is a type without a name: declare one"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := reflectapi.DescribeAs(test.iface, test.impl)
			assert.EqualError(t, err, test.want)
		})
	}
}

func describe(t *testing.T, impl any, options ...reflectapi.Option) *reflectapi.Service {
	t.Helper()
	service, err := reflectapi.Describe(impl, options...)
	require.NoError(t, err)
	return service
}

func method(t *testing.T, service *reflectapi.Service, name string) *reflectapi.Method {
	t.Helper()
	for _, m := range service.Methods {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("%s has no method %s", service.Name, name)
	return nil
}

func wantSignatures(t *testing.T, service *reflectapi.Service, want ...string) {
	t.Helper()
	var got []string
	for _, m := range service.Methods {
		got = append(got, m.Signature())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
