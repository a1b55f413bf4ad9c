package compare_test

import (
	"slices"
	"testing"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/restmap/openapi"
	"github.com/busline/busline/restmap/openapi/compare"
)

// Takes and Gives are services around one type, which is an argument of one and a result of the other.
type (
	Takes[T any] struct{}
	Gives[T any] struct{}
	Finds[T any] struct{}
)

func (Takes[T]) Do(p T)         {}
func (Gives[T]) Do() (p T)      { return }
func (Finds[T]) Do(p T) (n int) { return }

// Below are types that contain themselves, and types that hold one type in two ways.
type (
	Tree   map[string]Tree
	Rows   []Rows
	Node   struct{ Next *Node }
	Point  struct{ X int }
	Both   struct{ A, B Point }
	Either struct {
		A Point
		B *Point
	}
	Named struct{ Color string }
	Terse struct {
		Color string `json:",omitempty"`
	}

	Asked struct {
		Color string `jsonschema:"required"`
	}
	Colored[T any] struct{ Color T }
	Hundredths     struct {
		Price float64 `jsonschema:"multipleOf=0.01"`
	}
	Thousandths struct {
		Price float64 `jsonschema:"multipleOf=0.001"`
	}
)

// Color is one of two, which are also those of a pointer to it, beside null.
type Color string

func (Color) JSONSchemaExtend(s *jsonschema.Schema) { s.Enum = []any{"", "red"} }

func TestSchemas(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name          string
		before, after *openapi.Document
		breaks        []string
	}{
		{"a tree to any", takes[Tree](t), takes[any](t), nil},
		{"a tree of any", takes[Tree](t), takes[map[string]any](t), nil},
		{"rows to any", takes[Rows](t), takes[[]any](t), nil},
		{"a struct to any", takes[Node](t), takes[any](t), nil},
		{"a struct to a map", takes[Node](t), takes[map[string]any](t), nil},
		{"rows of text", takes[Rows](t), takes[[]string](t),
			[]string{"POST /do: the argument p[] is now string, was array: callers that send the old type get 400 or 422"}},
		{"a tree from any", gives[any](t), gives[Tree](t), nil},
		{"a struct from any", gives[any](t), gives[Node](t), nil},

		{"null at a second place", takes[Either](t), takes[Both](t), []string{
			"POST /do: the argument p.B may no longer be null: null counts as missing, for which callers may get 422"}},
		{"a null result at a second place", gives[Both](t), gives[Either](t), []string{
			"POST /do: the result's p.B may now be null: callers that read it have to expect that"}},

		{"a map to a struct", takes[map[string]int](t), takes[Named](t), []string{
			"POST /do: the argument p.Color is now string, was integer (int64): callers that send the old type get 400 or 422",
			"POST /do: the argument p{} is no longer read: what callers send is ignored"}},
		{"a map of any to a struct", takes[map[string]any](t), takes[Named](t), []string{
			"POST /do: the argument p.Color is now string, was any value: callers that send the old type get 400 or 422",
			"POST /do: the argument p.Color may no longer be null: null counts as missing, for which callers may get 422",
			"POST /do: the argument p{} is no longer read: what callers send is ignored"}},
		{"a result of a map to a struct", gives[map[string]any](t), gives[Named](t), []string{
			"POST /do: the result's p{} is gone: callers that read it find nothing"}},

		{"an int32 of a byte", takes[uint8](t), takes[int32](t), nil},
		{"a byte of an int32", takes[int32](t), takes[uint8](t), []string{
			"POST /do: the argument p now requires at least 0: callers that send anything else get 422",
			"POST /do: the argument p now requires at most 255: callers that send anything else get 422"}},
		{"an int32 of a long", takes[uint32](t), takes[int32](t), []string{
			"POST /do: the argument p is now integer (int32), was integer (int64): callers that send the old type get 400 or 422"}},
		{"a signed one of an unsigned", takes[uint64](t), takes[int64](t), []string{
			"POST /do: the argument p is now integer (int64), was integer (uint64): callers that send the old type get 400 or " +
				"422"}},
		{"a byte for an int32", gives[int32](t), gives[uint8](t), nil},
		{"an int32 for a byte", gives[uint8](t), gives[int32](t), []string{
			"POST /do: the result's p may now be less than 0: callers that read the old type fail",
			"POST /do: the result's p may now be more than 255: callers that read the old type fail"}},

		{"a wider result", gives[uint8](t), gives[uint32](t),
			[]string{"POST /do: the result's p may now be more than 255: callers that read the old type fail"}},
		{"a signed result", gives[uint](t), gives[int](t),
			[]string{"POST /do: the result's p may now be less than 0: callers that read the old type fail"}},
		{"a long bound", gives[uint32](t), gives[int](t),
			[]string{"POST /do: the result's p may now be less than 0: callers that read the old type fail",
				"POST /do: the result's p may now be more than 4294967295: callers that read the old type fail"}},
		{"a wider int", gives[int8](t), gives[int16](t),
			[]string{"POST /do: the result's p may now be less than -128: callers that read the old type fail",
				"POST /do: the result's p may now be more than 127: callers that read the old type fail"}},
		{"a narrower result", gives[uint32](t), gives[uint8](t), nil},
		{"a longer result", gives[[2]int](t), gives[[3]int](t),
			[]string{"POST /do: the result's p may now have another number of elements than 2: callers that read the old type " +
				"fail"}},
		{"a list of any length", gives[[2]int](t), gives[[]int](t), []string{
			"POST /do: the result's p may now have another number of elements than 2: callers that read the old type fail"}},
		{"limits of a result", gives[struct {
			N int `json:"n" jsonschema:"minimum=0,maximum=9"`
		}](t), gives[struct {
			N int `json:"n"`
		}](t), nil},

		{"bytes to text", takes[[]byte](t), takes[string](t), []string{
			"POST /do: the argument p is now string, was string (byte): base64 is taken for the text"}},
		{"a result of text to bytes", gives[string](t), gives[[]byte](t), []string{
			"POST /do: the result's p is now string (byte), was string: base64 is taken for the text"}},
		{"a time to text", takes[time.Time](t), takes[string](t), nil},

		{"an enum or null", takes[Colored[*Color]](t), takes[Colored[Color]](t), []string{
			"POST /do: the argument p.Color may no longer be null: null counts as missing, for which callers may get 422"}},
		{"multiples", takes[Hundredths](t), takes[Thousandths](t), nil},
		{"other multiples", takes[Thousandths](t), takes[Hundredths](t), []string{
			"POST /do: the argument p.Price now requires a multiple of 0.01: callers that send anything else get 422"}},

		{"a number to text", finds[int](t), finds[string](t), nil},
		{"numbers to texts", finds[[]float64](t), finds[[]string](t), nil},
		{"text to a number", finds[string](t), finds[int](t), []string{
			"GET /do: the argument p is now integer (int64), was string: callers that send the old type get 400 or 422"}},
		{"a number to a time", finds[int](t), finds[time.Time](t), []string{
			"GET /do: the argument p is now string (date-time), was integer (int64): callers that send the old type get 400 " +
				"or 422"}},
		{"a number to text, as JSON", takes[int](t), takes[string](t), []string{
			"POST /do: the argument p is now string, was integer (int64): callers that send the old type get 400 or 422"}},

		{"a part of an argument in a query", finds[Node](t), finds[Hundredths](t),
			[]string{"GET /do: the argument p.Next is no longer read: what callers send is ignored"}},
		{"an element of one", finds[[]Node](t), finds[[]Point](t),
			[]string{"GET /do: the argument p[].Next is no longer read: what callers send is ignored"}},

		{"a result that need not be given as an argument", gives[Asked](t), gives[Named](t), nil},
		{"a result that may be left out", gives[Asked](t), gives[Terse](t), []string{
			"POST /do: the result's p.Color may now be missing: callers that read it have to expect that"}},

		{"text to JSON", finds[string](t), finds[any](t),
			[]string{"GET /do: the argument p is now written as JSON, was text: callers that write it as text get 400"}},
		{"JSON to text", finds[[2]int](t), finds[[]int](t),
			[]string{"GET /do: the argument p is now written as text, was JSON: callers that write it as JSON get 400"}},
		{"still JSON", finds[Node](t), finds[any](t), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := breaking(test.before, test.after); !slices.Equal(got, test.breaks) {
				t.Errorf("got:\n%q\nwant:\n%q", got, test.breaks)
			}
		})
	}
}

// breaking returns what breaks between two documents, sorted.
func breaking(before, after *openapi.Document) (texts []string) {
	for _, change := range compare.Documents(before, after) {
		if change.Breaks {
			texts = append(texts, change.Text)
		}
	}
	slices.Sort(texts)
	return texts
}

func takes[T any](t *testing.T) *openapi.Document {
	t.Helper()
	return document(t, Takes[T]{}, bus.ParamNames("Do", "p", ""))
}

func gives[T any](t *testing.T) *openapi.Document {
	t.Helper()
	return document(t, Gives[T]{}, bus.ParamNames("Do", "", "p"))
}

// finds is about an argument in a query.
func finds[T any](t *testing.T) *openapi.Document {
	t.Helper()
	return document(t, Finds[T]{}, bus.ParamNames("Do", "p", "n"), bus.Method("Do", bus.HTTPMethod("GET")))
}
