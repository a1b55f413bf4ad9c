package bus_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
)

// box says what it was asked for. The body of Update is taken, so that the other arguments are in the query.
type box struct{}

type (
	boxArguments struct {
		ID    string   `json:"id"`
		Grid  [][]int  `json:"grid"`
		Books []book   `json:"books"`
		Pair  [2]int   `json:"pair"`
		Any   any      `json:"any"`
		Tags  []string `json:"tags"`
		Sizes []int    `json:"sizes"`
		Book  book     `json:"httpRequestBody"`
	}
	noteArguments struct {
		ID   string  `json:"id"`
		Note *string `json:"note"`
	}
	rawArguments struct {
		Raw json.RawMessage `json:"raw"`
	}
)

func (box) Update(id string, grid [][]int, books []book, pair [2]int, any any, tags []string, sizes []int, httpRequestBody book) (told string) {
	return fmt.Sprintf("%s %v %v %v %T %v %q %v %s", id, grid, books, pair, any, any, tags, sizes, httpRequestBody.Title)
}

func (box) Read(id string, note *string) (httpResponseBody string) {
	if note == nil {
		return "none"
	}
	return fmt.Sprintf("%q", *note)
}

func (box) ListAll(raw json.RawMessage) (httpResponseBody string) { return string(raw) }

const boxURL = "https://shelf.example/boxes/{id}"

func TestArguments_BesideABody(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		serve(t, w.connect("shelf.example"), box{})
		caller := w.connect("caller.example")
		emma := book{Title: "Emma", Tags: []string{"a"}}
		call(t, caller, "PUT "+boxURL, boxArguments{"7", [][]int{{1, 2}, {}}, []book{emma}, [2]int{3, 4}, "5", []string{"[a]", "null"}, []int{8, 9}, emma}, 200,
			toldResults{`7 [[1 2] []] [{Emma [a]}] [3 4] string 5 ["[a]" "null"] [8 9] Emma`})
		call(t, caller, "PUT "+boxURL, boxArguments{ID: "7", Any: []any{"a", 1}}, 200, toldResults{`7 [] [] [0 0] []interface {} [a 1] [] [] `})
		call(t, caller, "PUT "+boxURL, boxArguments{ID: "7"}, 200, toldResults{`7 [] [] [0 0] <nil> <nil> [] [] `})

		var out toldResults
		args := bus.Args{"id": 7, "grid": [][]int{{1}}, "books": []book{emma, emma}, "sizes": []int{1, 2}, "httpRequestBody": emma}
		if err := caller.Call(t.Context(), "PUT "+boxURL, args, &out); err != nil || out.Told != "7 [[1]] [{Emma [a]} {Emma [a]}] [0 0] <nil> <nil> [] [1 2] Emma" {
			t.Errorf("%q, %v", out.Told, err)
		}
		for _, lossy := range []any{[]string{"a", ""}, []*int{nil}} {
			err := caller.Call(t.Context(), "PUT "+boxURL, bus.Args{"id": 7, "tags": lossy, "httpRequestBody": emma}, nil)
			failed, ok := errors.AsType[*bus.Error](err)
			if !ok || failed.Status != 400 || failed.Executed != bus.ExecutedNo ||
				!strings.Contains(failed.Detail, "argument tags of PUT "+boxURL+" goes into the query: there it must be a list without null and empty texts") {
				t.Errorf("%v: %v", lossy, err)
			}
		}
	})
}

// TestJSONInAQuery: a JSON text is not the text that it stands for.
func TestJSONInAQuery(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		serve(t, w.connect("shelf.example"), box{})
		caller := w.connect("caller.example")
		for _, raw := range []string{`"5"`, `5`, `"a"`, `true`, `{"a":1}`} {
			call(t, caller, "GET https://shelf.example/boxes", rawArguments{json.RawMessage(raw)}, 200, raw)
		}
	})
}

// TestEmptyTextBehindAPointer: what is empty in a query counts as absent.
func TestEmptyTextBehindAPointer(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		serve(t, w.connect("shelf.example"), box{})
		caller := w.connect("caller.example")
		empty, text := "", "a"
		call(t, caller, "GET "+boxURL, noteArguments{"7", nil}, 200, "none")
		call(t, caller, "GET "+boxURL, noteArguments{"7", &empty}, 200, `""`)
		call(t, caller, "GET "+boxURL, noteArguments{"7", &text}, 200, `"a"`)
	})
}
