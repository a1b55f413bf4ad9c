package restmap_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/restmap"
)

type (
	readsThing   struct{}
	createsThing struct{}
	updatesThing struct{}
	listsThings  struct{}

	readsTitle struct{}
	deletesOne struct{}

	namesBody   struct{}
	namesStatus struct{}
	namesResult struct{}

	readsText   struct{}
	readsTime   struct{}
	findsThing  struct{}
	loadsByTwo  struct{}
	echoesBody  struct{}
	sendsStatus struct{}
	getsPrice   struct{}
	deletesText struct{}
	deletesPart struct{}
	countsGone  struct{}
	deletesREST struct{}
)

func (readsThing) Read(ctx context.Context, id int) (thing product, err error)       { return }
func (createsThing) CreateThing(thing *product) (id int)                             { return }
func (updatesThing) Update(id int, thing product)                                    {}
func (listsThings) ListThings(limit int) (things []*product)                         { return }
func (readsTitle) Read(ctx context.Context, id int) (title string, err error)        { return }
func (deletesOne) Delete(id int)                                                     {}
func (getsPrice) GetPrice(id int) (price float64)                                    { return }
func (deletesText) Delete(path string)                                               {}
func (deletesPart) DeleteAll(id int)                                                 {}
func (countsGone) Delete(id int) (left int)                                          { return }
func (deletesREST) Delete(id int)                                                    {}
func (deletesREST) Read(id int) (httpResponseBody string)                            { return }
func (namesBody) Create(requestBody product) (id int)                                { return }
func (namesStatus) Create(httpRequestBody product) (id int, statusCode int)          { return }
func (namesResult) Read(id int) (http_response product)                              { return } //nolint:revive,staticcheck // a mistake
func (readsText) Read(path string) (text string)                                     { return }
func (readsTime) Get(zone string) (now time.Time)                                    { return }
func (findsThing) FindThing(id int) (thing product)                                  { return }
func (loadsByTwo) Load(shop, id int) (thing product)                                 { return }
func (echoesBody) Echo(requestBody string) (responseBody string, statusCode int)     { return }
func (sendsStatus) CreateOrder(item string, status string) (number int, code string) { return }

// TestMap_NearMiss reads what is said of methods that look like REST and would be served as RPC.
func TestMap_NearMiss(t *testing.T) {
	t.Parallel()
	const or = ", or say that RPC is meant, with bus.RPC() or with //busline:route POST "
	for _, test := range []struct {
		name   string
		impl   any
		method string
		want   string
	}{
		{"Read", readsThing{}, "Read", "method Read: is named like REST, and would be served as RPC at /read: " +
			"for GET /reads-things/{id} name its result httpResponseBody" + or + "/read in its interface"},
		{"Create", createsThing{}, "CreateThing", "for POST /things name its argument httpRequestBody" + or +
			"/create-thing"},
		{"Update", updatesThing{}, "Update", "for PUT /updates-things/{id} name its second argument httpRequestBody" + or},
		{"List", listsThings{}, "ListThings", "for GET /things name its result httpResponseBody" + or},
		{"a text", readsTitle{}, "Read", "for GET /reads-titles/{id} name its result httpResponseBody" + or + "/read"},
		{"Delete", deletesOne{}, "Delete", "method Delete: is named like REST, and would be served as RPC at /delete: " +
			"for DELETE /deletes-ones/{id} call it DeleteREST" + or + "/delete in its interface"},
		{"a near body", namesBody{}, "Create", "method Create: requestBody is an ordinary name here: write httpRequestBody" +
			or + "/create"},
		{"a near status", namesStatus{}, "Create",
			"method Create: statusCode is an ordinary name here: write httpStatusCode" + or},
		{"a near result", namesResult{}, "Read",
			"method Read: http_response is an ordinary name here: write httpResponseBody" + or},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := restmap.Map(describe(t, test.impl), restmap.Options{})
			assert.ErrorContains(t, err, test.want)
			for name, chosen := range map[string]restmap.MethodOptions{
				"RPC": {RPC: true}, "a path": {Path: "/here"}, "a method": {HTTPMethod: "POST"},
			} {
				options := restmap.Options{Methods: map[string]restmap.MethodOptions{test.method: chosen}}
				endpoints, err := restmap.Map(describe(t, test.impl), options)
				require.NoError(t, err, name)
				if name == "RPC" {
					assert.Equal(t, restmap.RPC, endpoints[0].Style)
				}
			}
		})
	}
}

// TestMap_NoNearMiss has methods that are clearly RPC.
func TestMap_NoNearMiss(t *testing.T) {
	t.Parallel()
	for _, impl := range []any{readsText{}, readsTime{}, findsThing{}, loadsByTwo{}, echoesBody{}, sendsStatus{},
		getsPrice{}, deletesText{}, deletesPart{}, countsGone{}} {
		endpoints, err := restmap.Map(describe(t, impl), restmap.Options{})
		require.NoError(t, err, "%T", impl)
		assert.Equal(t, restmap.RPC, endpoints[0].Style, "%T", impl)
	}
}

// TestMap_NearMissSibling has a method whose sibling shows that it is REST.
func TestMap_NearMissSibling(t *testing.T) {
	t.Parallel()
	endpoints, err := restmap.Map(describe(t, deletesREST{}), restmap.Options{})
	require.NoError(t, err)
	for _, each := range endpoints {
		assert.Equal(t, restmap.REST, each.Style, each.Name)
	}
}
