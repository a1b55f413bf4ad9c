package restmap_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
)

// stall sells, and is asked with structs in a query.
type stall struct{}

type (
	search struct {
		Text  string   `json:"text" jsonschema:"maxLength=5"`
		Tags  []string `json:"tags,omitempty"`
		Price span     `json:"price"`
		Limit int      `json:"limit"`
	}
	span struct {
		Least float64 `json:"least"`
		Most  float64 `json:"most"`
	}
	branch struct {
		Name string  `json:"name"`
		Next *branch `json:"next,omitempty"`
	}
)

func (stall) List(filter search, limit int)    {}
func (stall) Two(one, other span, most string) {}
func (stall) Climb(branch branch)              {}

func TestQueryParts(t *testing.T) {
	t.Parallel()
	service, err := reflectapi.Describe(stall{}, reflectapi.ParamNames("List", "filter, limit", ""),
		reflectapi.ParamNames("Two", "one, other, most", ""), reflectapi.ParamNames("Climb", "branch", ""))
	require.NoError(t, err)
	endpoints, err := restmap.Map(service, restmap.Options{Strict: true})
	require.NoError(t, err)
	endpoint := make(map[string]*restmap.Endpoint)
	for _, e := range endpoints {
		endpoint[e.Name] = e
	}
	names := func(method, argument string) (names []string) {
		for _, part := range endpoint[method].QueryParts(argument) {
			names = append(names, part.Name)
		}
		return names
	}
	assert.Equal(t, []string{"text", "tags", "price.least", "price.most", "filter.limit"}, names("List", "filter"))
	assert.Equal(t, []string{"one.least", "one.most"}, names("Two", "one"), "a name that two structs have stands for none")
	assert.Empty(t, names("Climb", "branch"), "it contains itself")
	assert.Empty(t, names("List", "limit"))

	for _, test := range []struct {
		name, query string
		want        search
		limit       int64
		problem     string
	}{
		{"short", "text=tea&tags=a&tags=b&price.least=1.5",
			search{Text: "tea", Tags: []string{"a", "b"}, Price: span{Least: 1.5}}, 0, ""},
		{"in full", "filter.text=tea&filter.price.most=2", search{Text: "tea", Price: span{Most: 2}}, 0, ""},
		{"both, of different members", "text=tea&filter.limit=3&limit=4", search{Text: "tea", Limit: 3}, 4, ""},
		{"beside JSON", `filter={"text":"tea"}&price.least=1`, search{Text: "tea", Price: span{Least: 1}}, 0, ""},
		{"empty", "text=&price.least=", search{}, 0, ""},
		{"both spellings of one", "text=tea&filter.text=mate", search{}, 0, "text (query): is given more than once"},
		{"of the wrong type", "price.least=much", search{}, 0, "price.least (query): expects a number"},
		{"too long", "text=camomile", search{}, 0, "text (query): expects at most 5 characters"},
		{"too long, in full", "filter.text=camomile", search{}, 0, "filter.text (query): expects at most 5 characters"},
		{"unknown", "colour=green", search{}, 0, "colour (query): is unknown; known are filter, limit, price, tags, text"},
		{"unknown inside", "price.mean=1", search{}, 0, "price.mean (query): is unknown; known are least, most"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in, err := endpoint["List"].Decode(&restmap.Request{Query: test.query})
			if test.problem != "" {
				require.EqualError(t, err, test.problem)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, in.Field(0).Interface())
			assert.Equal(t, test.limit, in.Field(1).Int())
		})
	}
}
