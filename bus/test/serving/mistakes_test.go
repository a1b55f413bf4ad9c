package serving_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/reflectapi"
)

// Mistakes that are easily made with a small shop, and what is said about each. Those in an interface's comments are in
// bus/cmd/apigen/refusals_test.go.

type (
	good struct {
		Name  string `json:"name" jsonschema:"minLength=1"`
		Price int    `json:"price"`
	}
	misspelledTag struct {
		Price int `json:"price" jsonschema:"minimun=1"`
	}
	deadDefault struct {
		Size int `json:"size" jsonschema:"default=20"`
	}

	shortName      struct{}
	shortStatus    struct{}
	plainResource  struct{}
	plainCreate    struct{}
	smallLetters   struct{}
	valueReceiver  struct{}
	earlyError     struct{}
	watcher        struct{}
	mistagged      struct{}
	defaulted      struct{}
	withoutNames   struct{}
	adder          struct{}
	goodsStore     struct{}
	goodsOfToday   struct{}
	goodsWithPages interface {
		List(ctx context.Context, filter string, limit int) (httpResponseBody []good, err error)
	}
)

func (shortName) Create(requestBody good) (id int)                          { return }
func (shortStatus) Update(id int, httpRequestBody good) (statusCode int)    { return }
func (plainResource) Read(id int) (g good, err error)                       { return }
func (plainCreate) Create(g good) (id int)                                  { return }
func (smallLetters) Read(id int) (httpresponsebody good)                    { return }
func (*valueReceiver) Add(x, y int) (sum int)                               { return }
func (earlyError) Add(x, y int) (err error, sum int)                        { return } //nolint:revive,staticcheck // the mistake
func (watcher) Watch(id int) (changes chan good)                            { return }
func (mistagged) Order(line misspelledTag) (id int)                         { return }
func (defaulted) Order(line deadDefault) (id int)                           { return }
func (withoutNames) Add(int, int) (sum int)                                 { return }
func (adder) Add(x, y int) (sum int)                                        { return x + y }
func (goodsStore) Create(httpRequestBody good) (id int, httpStatusCode int) { return }
func (goodsOfToday) Find(filter string) (found []good)                      { return }
func (goodsStore) List(_ context.Context, _ string, limit int) (httpResponseBody []good, _ error) {
	return make([]good, limit), nil
}

var _ = reflectapi.Register[goodsWithPages](`//busline:client Client
type goodsWithPages interface {
	//busline:arg filter optional maxLength=3 what the name contains
	//busline:arg limit minimum=1 maximum=100 default=20 page size
	List(ctx context.Context, filter string, limit int) (httpResponseBody []good, err error)
}
`)

// lineNumber is the place in a file.
var lineNumber = regexp.MustCompile(`:\d+\b`)

func TestMistakes_Serve(t *testing.T) {
	t.Parallel()
	conn := kit.NewBus(t).Connect("shop.example")
	for _, mistake := range []struct {
		name  string
		serve func() error
		said  string
	}{
		{"requestBody", func() error { return bus.Serve(conn, shortName{}) },
			"method Create: requestBody is an ordinary name here: write httpRequestBody, or say that RPC is meant, " +
				"with bus.RPC() or with //busline:route POST /create in its interface"},
		{"statusCode", func() error { return bus.Serve(conn, shortStatus{}) },
			"method Update: statusCode is an ordinary name here: write httpStatusCode, or say that RPC is meant, " +
				"with bus.RPC() or with //busline:route POST /update in its interface"},
		{"a resource as a plain result", func() error { return bus.Serve(conn, plainResource{}) },
			"method Read: is named like REST, and would be served as RPC at /read: for GET /plain-resources/{id} name its " +
				"result httpResponseBody, or say that RPC is meant, with bus.RPC() or with //busline:route POST /read in its " +
				"interface"},
		{"a resource as a plain argument", func() error { return bus.Serve(conn, plainCreate{}) },
			"method Create: is named like REST, and would be served as RPC at /create: for POST /plain-creates name its " +
				"argument httpRequestBody, or say that RPC is meant, with bus.RPC() or with //busline:route POST /create in its " +
				"interface"},
		{"small letters", func() error { return bus.Serve(conn, smallLetters{}) },
			"method Read: httpresponsebody has no meaning in this spelling: write httpResponseBody"},
		{"a value without the methods of its pointer", func() error { return bus.Serve(conn, valueReceiver{}) },
			`method Add has a pointer receiver: pass a *serving_test.valueReceiver, or leave it out with bus.ExcludeMethods("Add")`},
		{"an error that is not last", func() error { return bus.Serve(conn, earlyError{}) },
			`method Add: result err is an error: it can only be the last result; change it, or leave it out with bus.ExcludeMethods("Add")`},
		{"a channel", func() error { return bus.Serve(conn, watcher{}) },
			`method Watch: result changes is a channel, which cannot tell an error: for a stream return an iter.Seq2[serving_test.good, error]; change it, or leave it out with bus.ExcludeMethods("Watch")`},
		{"a keyword in a tag, misspelled", func() error { return bus.Serve(conn, mistagged{}) },
			`method Order: argument line: field serving_test.misspelledTag.Price: jsonschema "minimun=1": is not a keyword; use one of required, nullable, title, description, multipleOf, minimum, maximum, exclusiveMaximum, exclusiveMinimum, default, example, enum`},
		{"a default that is not applied", func() error { return bus.Serve(conn, defaulted{}) },
			"method Order: argument line: field serving_test.deadDefault.Size: default=20 is not applied, " +
				"because a missing value is 0: remove it from the tag, or make the field a pointer and set the default in code " +
				"when it is nil"},
		{"arguments without names", func() error { return bus.Serve(conn, withoutNames{}) },
			`method Add: arguments 1 and 2 are unnamed in mistakes_test.go: name them, as in (a int, b int), or give them with bus.ParamNames("Add", …)`},
		{"an option of a misspelled method", func() error {
			return bus.Serve(conn, adder{}, bus.Method("Ad", bus.NoQueue()))
		},
			"method Ad: has options, but the service has no such method; it has Add"},
		{"a collection of no method", func() error { return bus.Serve(conn, adder{}, bus.Resource("sums")) },
			"the collection sums is of no use: no method is a bare verb that is served as REST"},
		{"a path that its client does not call", func() error {
			return bus.Serve[goodsWithPages](conn, goodsStore{}, bus.Method("List", bus.Path("/all")))
		},
			"method List: an option serves it as GET /all on port 443, but its generated client calls GET /goods-with-pages " +
				"on port 443: leave the option out, or declare it in the interface with //busline:route GET /all and run go " +
				"generate"},
		{"a port that its client does not call", func() error {
			return bus.Serve[goodsWithPages](conn, goodsStore{}, bus.Port(444))
		},
			"method List: an option serves it as GET /goods-with-pages on port 444, but its generated client calls GET " +
				"/goods-with-pages on port 443: leave the option out, or declare it in the interface with //busline:port 444 and " +
				"run go generate"},
		{"a collection that its client does not call",
			func() error { return bus.Serve[goodsWithPages](conn, goodsStore{}, bus.Resource("goods")) },
			"method List: an option serves it as GET /goods on port 443, but its generated client calls GET /goods-with-pages " +
				"on port 443: leave the option out, or declare it in the interface with //busline:route GET /goods and run go " +
				"generate"},
		{"without the interface of its client", func() error {
			return bus.Serve(conn, onlyList{}, bus.ParamNames("List", "filter, size", "httpResponseBody"))
		},
			"method List is List(filter string, size int) (httpResponseBody []good), but List(filter string, " +
				"limit int) (httpResponseBody []good) for the clients of serving_test.goodsWithPages, and what has another name " +
				"gets lost: give the interface as the type parameter, [serving_test.goodsWithPages], or use the same names"},
	} {
		t.Run(mistake.name, func(t *testing.T) {
			err := mistake.serve()
			require.Error(t, err)
			_, said, _ := strings.Cut(err.Error(), " on shop.example: ")
			assert.Equal(t, mistake.said, lineNumber.ReplaceAllString(said, ""))
		})
	}
}

// onlyList has the methods of goodsWithPages, and no others.
type onlyList struct{}

func (onlyList) List(context.Context, string, int) (found []good, err error) { return }

func TestMistakes_Call(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t)
	require.NoError(t, bus.Serve[goodsWithPages](b.Connect("shop.example"), goodsStore{}))
	require.NoError(t, bus.Serve(b.Connect("calculator.example"), adder{}))
	require.NoError(t, bus.Serve(b.Connect("today.example"), goodsOfToday{}))
	caller := b.Connect("caller.example")
	type limited struct {
		Filter string `json:"filter"`
		Limit  int    `json:"limit"`
	}
	list := bus.NewOperation[limited, []good](caller,
		"GET https://shop.example/goods-with-pages").DeclaredBy("shop.Goods.List")
	elsewhere := bus.NewOperation[limited, []good](caller, "GET https://today.example/goods").DeclaredBy("shop.Goods.Find")
	for _, mistake := range []struct {
		name string
		call func() error
		said string
	}{
		{"arguments out of bounds", func() error {
			_, err := list.Call(t.Context(), limited{"camomile", 101})
			return err
		},
			"422 filter (query): expects at most 3 characters; limit (query): expects at most 100"},
		{"another version of the interface", func() error {
			_, err := elsewhere.Call(t.Context(), limited{})
			return err
		},
			"404 today.example serves nothing at /goods on port 443; shop.Goods.Find is GET /goods for the caller, " +
				"and the service serves Find as POST /find on port 443: let both use one version of the interface"},
		{"a name in another case", func() error {
			return caller.Call(t.Context(), "https://calculator.example/add", bus.Args{"X": 1, "y": 2}, nil)
		},
			"400 X (body): is unknown: write x"},
		{"a text for a number", func() error {
			return caller.Call(t.Context(), "https://calculator.example/add", bus.Args{"x": "one"}, nil)
		},
			"400 x (body): expects an integer"},
		{"a misspelled path", func() error { return caller.Call(t.Context(), "https://calculator.example/ad", nil, nil) },
			"404 calculator.example serves nothing at /ad on port 443; did you mean /add?"},
		{"another method", func() error { return caller.Call(t.Context(), "PUT https://calculator.example/add", nil, nil) },
			"405 /add is served under GET, HEAD, POST, not PUT"},
		{"a misspelled host", func() error { return caller.Call(t.Context(), "https://calculater.example/add", nil, nil) },
			"503 no instance serves calculater.example on port 443"},
		{"an argument without a tag", func() error {
			return caller.Call(t.Context(), "https://calculator.example/add", struct{ X int }{1}, nil)
		},
			"400 field X of struct { X int } has no json tag and would be sent as \"X\": tag it with the name of the " +
				"argument, such as `json:\"x\"`"},
	} {
		t.Run(mistake.name, func(t *testing.T) {
			failed, ok := errors.AsType[*bus.Error](mistake.call())
			require.True(t, ok)
			assert.Equal(t, mistake.said, fmt.Sprint(failed.Status, " ",
				strings.ReplaceAll(failed.Detail, " in plane "+b.Plane(), "")))
		})
	}
}
