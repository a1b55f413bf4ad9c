package compare_test

import (
	"slices"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/restmap/openapi"
	"github.com/busline/busline/restmap/openapi/compare"
)

// Takes and Gives are services around one type, which is an argument of one and a result of the other.
type (
	Takes[T any] struct{}
	Gives[T any] struct{}
)

func (Takes[T]) Do(p T)    {}
func (Gives[T]) Do() (p T) { return }

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
)

func TestSchemas(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before, after *openapi.Document
		breaks        []string
	}{
		"a tree to any":     {takes[Tree](t), takes[any](t), nil},
		"a tree of any":     {takes[Tree](t), takes[map[string]any](t), nil},
		"rows to any":       {takes[Rows](t), takes[[]any](t), nil},
		"rows of text":      {takes[Rows](t), takes[[]string](t), []string{"POST /do: the argument p[] is now string, was array: callers that send the old type get 400 or 422"}},
		"a tree from any":   {gives[any](t), gives[Tree](t), nil},
		"a struct from any": {gives[any](t), gives[Node](t), nil},

		"null at a second place": {takes[Either](t), takes[Both](t), []string{
			"POST /do: the argument p.B may no longer be null: null counts as missing, for which callers may get 422"}},
		"a null result at a second place": {gives[Both](t), gives[Either](t), []string{
			"POST /do: the result's p.B may now be null: callers that read it have to expect that"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var breaks []string
			for _, change := range compare.Documents(test.before, test.after) {
				if change.Breaks {
					breaks = append(breaks, change.Text)
				}
			}
			slices.Sort(breaks)
			if !slices.Equal(breaks, test.breaks) {
				t.Errorf("got:\n%q\nwant:\n%q", breaks, test.breaks)
			}
		})
	}
}

func takes[T any](t *testing.T) *openapi.Document {
	t.Helper()
	return document(t, Takes[T]{}, bus.Names("Do", "p", ""))
}

func gives[T any](t *testing.T) *openapi.Document {
	t.Helper()
	return document(t, Gives[T]{}, bus.Names("Do", "", "p"))
}
