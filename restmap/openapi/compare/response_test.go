package compare_test

import (
	"iter"
	"slices"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/restmap/openapi"
	"github.com/busline/busline/restmap/openapi/compare"
)

// Below are ways to answer one request: with a result, with its status, too, with another result, and as an
// http.Handler does.
type (
	Makes       struct{}
	MakesStatus struct{}
	MakesText   struct{}
)

func (Makes) CreateThing(httpRequestBody Item) (id int)                           { return }
func (MakesStatus) CreateThing(httpRequestBody Item) (id int, httpStatusCode int) { return }
func (MakesText) CreateThing(httpRequestBody Item) (id string)                    { return }

type (
	listsThings   struct{}
	streamsThings struct{}
	streamsOthers struct{}

	thing struct {
		Name string `json:"name"`
	}
	other struct {
		Name int    `json:"name"`
		More string `json:"more"`
	}
)

func (listsThings) Things(limit int) (things []thing)          { return }
func (streamsThings) Things(limit int) iter.Seq2[thing, error] { return nil }
func (streamsOthers) Things(limit int) iter.Seq2[other, error] { return nil }

func TestResponses(t *testing.T) {
	t.Parallel()
	makes := document(t, Makes{}, bus.ParamNames("CreateThing", "httpRequestBody", "id"))
	status := document(t, MakesStatus{}, bus.ParamNames("CreateThing", "httpRequestBody", "id, httpStatusCode"))
	text := document(t, MakesText{}, bus.ParamNames("CreateThing", "httpRequestBody", "id"))
	nothing := document(t, Makes{}, bus.ParamNames("CreateThing", "httpRequestBody", "id"))
	for _, response := range nothing.Paths["/shop.example:443/things"].Post.Responses {
		response.Content = nil
	}
	each := func(impl any) *openapi.Document { return document(t, impl) }
	hidden := document(t, Makes{}, bus.ParamNames("CreateThing", "httpRequestBody", "id"))
	delete(hidden.Paths["/shop.example:443/things"].Post.Responses, "default")
	for _, test := range []struct {
		name          string
		before, after *openapi.Document
		want          []compare.Change
	}{
		{"a status", makes, status, []compare.Change{
			{Breaks: true, Text: "POST /things: the result may now have another status than 200: callers that take others for " +
				"errors have to expect that"},
		}},
		{"no status", status, makes, []compare.Change{
			{Breaks: true,
				Text: "POST /things: the result now always has the status 200: callers that wait for another have to expect that"},
		}},
		{"another result", makes, text, []compare.Change{
			{Breaks: true,
				Text: "POST /things: the result's id is now string, was integer (int64): callers that read the old type fail"},
		}},
		{"a status that is not described", makes, hidden, []compare.Change{
			{Breaks: true, Text: "POST /things: the response with status default is no longer described"},
		}},
		{"a stream", each(listsThings{}), each(streamsThings{}), []compare.Change{
			{Breaks: true, Text: "POST /things: the result is now a stream: callers that read it as a whole fail"},
		}},
		{"no stream", each(streamsThings{}), each(listsThings{}), []compare.Change{
			{Breaks: true, Text: "POST /things: the result is no longer a stream: callers that read its elements fail"},
		}},
		{"another element", each(streamsThings{}), each(streamsOthers{}), []compare.Change{
			{Breaks: true,
				Text: "POST /things: the element's name is now integer (int64), was string: callers that read the old type fail"},
			{Text: "POST /things: the element's more is new"},
		}},
		{"the same stream", each(streamsThings{}), each(streamsThings{}), nil},
		{"no body", makes, nothing, []compare.Change{
			{Breaks: true,
				Text: "POST /things: the response with status 200 no longer has a body: callers that read it find nothing"},
			{Breaks: true,
				Text: "POST /things: the response with status default no longer has a body: callers that read it find nothing"},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := compare.Documents(test.before, test.after); !slices.Equal(got, test.want) {
				t.Errorf("%s:\n%s\nwant:\n%s", test.name, lines(got), lines(test.want))
			}
		})
	}
}
