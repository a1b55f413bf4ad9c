package calls_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// shelf is a REST service that says what it was asked for.
type shelf struct{ id string }

type book struct {
	Title string   `json:"title"`
	Tags  []string `json:"tags"`
}

func (shelf) Create(httpRequestBody book) (title string, httpStatusCode int) {
	return httpRequestBody.Title, http.StatusCreated
}

func (shelf) Read(id string, since time.Time, pause time.Duration) (httpResponseBody book, err error) {
	if id == "none" {
		return book{}, bus.Errorf(http.StatusNotFound, "no book %s", id)
	}
	return book{Title: id, Tags: []string{since.Format(time.DateOnly), pause.String()}}, nil
}

func (shelf) Update(id string, force bool, httpRequestBody *book) (told string) {
	return fmt.Sprint(id, " ", force, " ", httpRequestBody.Title)
}

func (shelf) Patch(id int, title string, tags []string) (told string) {
	return fmt.Sprint(id, " ", title, " ", tags)
}

func (shelf) ListAll(sortBy string, tags []string, limit *int) (httpResponseBody []string) {
	return append([]string{sortBy, fmt.Sprint(limit == nil)}, tags...)
}

func (shelf) Delete(id string) error { return nil }

// Kinds takes what no query can hold.
func (shelf) Kinds(lists [][]int, books []book, text any, missing *int) (told string) {
	return fmt.Sprintf("%v %v %q %v", lists, books, text, missing)
}

// Store takes in the query what belongs into a body, because its body is the book.
func (shelf) Store(httpRequestBody book, lists [][]int, books []book, pair *[2]int, text []any, raw json.RawMessage,
	mark initials) (told string) {
	return fmt.Sprintf("%s %v %v %v %q %s %c", httpRequestBody.Title, lists, books, *pair, text, raw, mark)
}

// initials are an array that is written as a text.
type initials [2]byte

func (i initials) MarshalText() ([]byte, error) { return i[:], nil }

func (i *initials) UnmarshalText(text []byte) error {
	copy(i[:], text)
	return nil
}

func (s shelf) Who(fail bool) (id string, err error) {
	if fail {
		return "", bus.Errorf(http.StatusTeapot, "not %s", s.id)
	}
	return s.id, nil
}

const shelfURL = "https://shelf.example"

// newShelf serves the shelf and returns who calls it.
func newShelf(t *testing.T, w *kit.World) *bus.Conn {
	t.Helper()
	conn := w.Connect("shelf.example")
	kit.Serve(t, conn, shelf{conn.ID()}, bus.Resource("books"), bus.Method("Who", bus.NoQueue()))
	return w.Connect("caller.example")
}

type (
	none struct{}

	bookArguments struct {
		Book book `json:"httpRequestBody"`
	}
	bookResults struct {
		Title string `json:"title"`
	}
	readArguments struct {
		ID    string        `json:"id"`
		Since time.Time     `json:"since"`
		Pause time.Duration `json:"pause"`
	}
	updateArguments struct {
		ID    string `json:"id"`
		Force bool   `json:"force"`
		Book  *book  `json:"httpRequestBody"`
	}
	patchArguments struct {
		ID    int      `json:"id"`
		Title string   `json:"title"`
		Tags  []string `json:"tags"`
	}
	listArguments struct {
		SortBy string   `json:"sortBy"`
		Tags   []string `json:"tags"`
		Limit  *int     `json:"limit"`
	}
	whoArguments struct {
		Fail bool `json:"fail"`
	}
	kindsArguments struct {
		Lists   [][]int `json:"lists"`
		Books   []book  `json:"books"`
		Text    any     `json:"text"`
		Missing *int    `json:"missing"`
	}
	storeArguments struct {
		Book  book            `json:"httpRequestBody"`
		Lists [][]int         `json:"lists"`
		Books []book          `json:"books"`
		Pair  *[2]int         `json:"pair"`
		Text  []any           `json:"text"`
		Raw   json.RawMessage `json:"raw"`
		Mark  initials        `json:"mark"`
	}
	idArguments struct {
		ID string `json:"id"`
	}
	toldResults struct {
		Told string `json:"told"`
	}
	whoResults struct {
		ID string `json:"id"`
	}
)

// call makes one call of an operation and compares what it answers.
func call[A, R any](t *testing.T, conn *bus.Conn, address string, arguments A, status int, want R) {
	t.Helper()
	response, err := bus.NewOperation[A, R](conn, address).Call(t.Context(), arguments)
	require.NoError(t, err, address)
	assert.Equal(t, status, response.Status, address)
	assert.Equal(t, want, response.Results, address)
	assert.Equal(t, "shelf.example", response.Host, address)
	assert.NotEmpty(t, response.ID, address)
}

func TestOperations_SortTheirArguments(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller := newShelf(t, w)
		since := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
		call(t, caller, "POST "+shelfURL+"/books", bookArguments{book{Title: "Emma"}}, 201, bookResults{"Emma"})
		call(t, caller, "GET "+shelfURL+"/books/{id}", readArguments{"a/b c?%2F{x}ö", since, 3 * time.Second}, 200,
			book{"a/b c?%2F{x}ö", []string{"2026-05-06", "3s"}})
		call(t, caller, "PUT "+shelfURL+"/books/{id}", updateArguments{"7", true, &book{Title: "Emma"}}, 200,
			toldResults{"7 true Emma"})
		call(t, caller, "PATCH "+shelfURL+"/books/{id}", patchArguments{7, `"httpRequestBody"`, []string{"a", "b"}}, 200,
			toldResults{`7 "httpRequestBody" [a b]`})
		call(t, caller, "GET "+shelfURL+"/books", listArguments{"x", []string{"a", "b,c"}, nil}, 200,
			[]string{"x", "true", "a", "b,c"})
		call(t, caller, "GET "+shelfURL+"/books", listArguments{"", []string{"", "a", "null", "[1]"}, new(int)}, 200,
			[]string{"", "false", "", "a", "null", "[1]"})
		call(t, caller, "GET "+shelfURL+"/kinds?missing=1",
			kindsArguments{[][]int{{1}, {}}, []book{{Title: "Emma", Tags: []string{}}}, "5", nil}, 200,
			toldResults{`[[1] []] [{Emma []}] "5" <nil>`})
		for _, books := range [][]book{{{Title: "Emma", Tags: []string{}}},
			{{Title: "A", Tags: []string{"b"}}, {Title: "C", Tags: []string{"d"}}}} {
			call(t, caller, "POST "+shelfURL+"/store",
				storeArguments{book{Title: "Emma"}, [][]int{{1}, {2, 3}}, books, &[2]int{4, 5}, []any{"6"}, json.RawMessage(`"7"`),
					initials{'J', 'A'}}, 200,
				toldResults{fmt.Sprintf(`Emma [[1] [2 3]] %v [4 5] ["6"] "7" [J A]`, books)})
		}
		call(t, caller, "DELETE "+shelfURL+"/books/{id}", idArguments{"7"}, 200, struct{}{})
		call(t, caller, "POST "+shelfURL+"/books", bookArguments{}, 201, none{})
	})
}

// Call sorts arguments in the same way.
func TestCall_FillsThePath(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller := newShelf(t, w)
		var out struct{ Told, Title string }
		err := caller.Call(t.Context(), "PUT "+shelfURL+"/books/{id}?force=true",
			bus.Args{"id": 7, "httpRequestBody": book{Title: "Emma"}}, &out)
		require.NoError(t, err)
		assert.Equal(t, "7 true Emma", out.Told)
		err = caller.Call(t.Context(), "GET "+shelfURL+"/books/{id}", idArguments{"Emma"}, &out)
		require.NoError(t, err)
		assert.Equal(t, "Emma", out.Title)
		require.NoError(t, caller.Handle("GET", "/files/{path+}",
			http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprintf(w, `{"told":%q}`, r.PathValue("path"))
			})))
		err = caller.Call(t.Context(), "GET https://caller.example/files/{path+}", bus.Args{"path": "a b/c%/d.txt"}, &out)
		require.NoError(t, err)
		assert.Equal(t, "a b/c%/d.txt", out.Told)
	})
}

func TestOperation_BadCallsAreNotSent(t *testing.T) {
	t.Parallel()
	caller := kit.NewBus(t).Connect("caller.example")
	for _, test := range []struct {
		name      string
		address   string
		arguments any
		want      string
	}{
		{"no argument for the path", "GET https://x.example/{id}", bus.Args{},
			"argument id of GET https://x.example/{id} is part of the path: it must be a non-empty string, a number or a boolean"},
		{"no arguments at all", "GET https://x.example/{id}", nil, "argument id"},
		{"an empty text", "GET https://x.example/{id}", bus.Args{"id": ""}, "it must be a non-empty string"},
		{"null", "GET https://x.example/{id}", bus.Args{"id": nil}, "argument id"},
		{"an object", "GET https://x.example/{id}", bus.Args{"id": book{}}, "argument id"},
		{"a list in place of an object", "GET https://x.example/", []int{1},
			"the arguments of GET https://x.example/ must be a JSON object, as from a struct or bus.Args"},
		{"what JSON cannot hold", "POST https://x.example/", bus.Args{"f": func() {}},
			"the arguments cannot be written as JSON"},
		{"no URL", "GET ://", nil, `address "://" is not a URL`},
		{"no host", "POST https://a..b/x", nil, "a..b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			called := caller.Call(t.Context(), test.address, test.arguments, nil)
			_, operated := bus.NewOperation[any, any](caller, test.address).Call(t.Context(), test.arguments)
			for _, err := range []error{called, operated} {
				kit.CheckError(t, err, 400, bus.ExecutedNo)
				failed := kit.AsBusError(t, err)
				if !strings.Contains(failed.Detail, test.want) {
					t.Errorf("%v; want %q", err, test.want)
				}
			}
		})
	}
	_, err := bus.NewOperation[none, none](nil, "https://x.example/").Call(t.Context(), none{})
	assert.Equal(t, 503, bus.StatusOf(err), "no connection")
	assert.ErrorContains(t, err, "without a connection", "no connection")
}

// TestOperation_ResultsInAnyCase reads results into structs without tags, as Call does; where there are tags the case
// counts.
func TestOperation_ResultsInAnyCase(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		kit.Serve(t, w.Connect(kit.CalculatorHost), kit.Calculator{})
		caller := w.Connect("caller.example")
		type plain struct{ Sum int }
		type tagged struct {
			Sum int `json:"SUM"`
		}
		arguments := bus.Args{"x": 5, "y": 6}
		response, err := bus.NewOperation[bus.Args, plain](caller, kit.CalculatorURL+"/add").Call(t.Context(), arguments)
		require.NoError(t, err, "without tags")
		assert.Equal(t, 11, response.Results.Sum, "without tags")
		_, err = bus.NewOperation[bus.Args, tagged](caller, kit.CalculatorURL+"/add").Call(t.Context(), arguments)
		require.ErrorContains(t, err, "it has sum, and no SUM; did you mean sum?", "with a tag of another case")
		var called plain
		err = caller.Call(t.Context(), kit.CalculatorURL+"/add", arguments, &called)
		require.NoError(t, err, "by Call")
		assert.Equal(t, 11, called.Sum, "by Call")
	})
}

func TestOperations_Fail(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller := newShelf(t, w)
		_, err := bus.NewOperation[idArguments, book](caller, "GET "+shelfURL+"/books/{id}").Call(t.Context(),
			idArguments{"none"})
		failed, ok := errors.AsType[*bus.Error](err)
		require.True(t, ok, "the handler's error")
		assert.Equal(t, 404, failed.Status, "the handler's error")
		assert.Equal(t, "no book none", failed.Detail, "the handler's error")
		assert.Equal(t, "shelf.example", failed.Host, "the handler's error")
		response, err := bus.NewOperation[idArguments, []int](caller, "GET "+shelfURL+"/books/{id}").Call(t.Context(),
			idArguments{"Emma"})
		kit.CheckError(t, err, 502, bus.ExecutedYes)
		assert.NotEmpty(t, response.ID, "a response of another kind")
		assert.Contains(t, kit.AsBusError(t, err).Detail, "the response does not fit []int", "a response of another kind")
		if _, err := bus.NewOperation[none, none](caller, "https://nobody.example/x").Call(t.Context(),
			none{}); !errors.Is(err, bus.ErrNoResponder) {
			t.Errorf("no instance there: %v", err)
		}
	})
}

func TestOperations_ArePublished(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		var ids []string
		for range 3 {
			conn := w.Connect("shelf.example")
			kit.Serve(t, conn, shelf{conn.ID()}, bus.Resource("books"), bus.Method("Who", bus.NoQueue()))
			ids = append(ids, conn.ID())
		}
		slices.Sort(ids)
		who := bus.NewOperation[whoArguments, whoResults](w.Connect("caller.example"), shelfURL+"/who")
		var told []string
		for response, err := range who.Multicast(t.Context(), whoArguments{}) {
			require.NoError(t, err)
			assert.Equal(t, "shelf.example", response.Host)
			assert.Equal(t, response.Results.ID, response.ID)
			assert.Equal(t, 200, response.Status)
			told = append(told, response.ID)
		}
		if slices.Sort(told); !slices.Equal(told, ids) {
			t.Errorf("answered by %v, want %v", told, ids)
		}
		told = nil
		for response, err := range who.Multicast(t.Context(), whoArguments{Fail: true}) {
			failed, ok := errors.AsType[*bus.Error](err)
			require.True(t, ok)
			assert.Equal(t, 418, failed.Status)
			assert.Equal(t, response.ID, failed.ID)
			assert.Equal(t, "not "+response.ID, failed.Detail)
			told = append(told, response.ID)
		}
		if slices.Sort(told); !slices.Equal(told, ids) {
			t.Errorf("failures of %v, want %v", told, ids)
		}
	})
	broken := bus.NewOperation[none, none](kit.NewBus(t).Connect("caller.example"), "https://a..b/")
	for response, err := range broken.Multicast(t.Context(), none{}) {
		assert.Equal(t, 400, bus.StatusOf(err), "a bad address")
		assert.Empty(t, response.ID, "a bad address")
	}
}
