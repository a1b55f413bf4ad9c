package serving_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/test/kit"
)

// stack has a function whose argument is a segment of the path, and one that is guarded, below it.
type stack struct{}

func (stack) Take(id string) (taken string) { return id }

func (stack) Pages(id string) (pages int) { return len(id) }

// TestDetour has a handler that cleans paths, as http.FileServer does, be asked by a client without a token for what is
// guarded, in all the ways in which its path can be written.
func TestDetour(t *testing.T) {
	t.Parallel()
	i := kit.NewIssuer(t)
	files := http.FileServerFS(fstest.MapFS{
		"open.txt": {Data: []byte("open")}, "dir/b.txt": {Data: []byte("open")}, "private/x": {Data: []byte("secret")},
		"one.txt": {Data: []byte("secret")},
	})
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee, caller := w.Connect("files.example", i.Trust()), w.Connect("caller.example")
		for path, options := range map[string][]bus.HandleOption{
			"/files/{path+}":         nil,
			"/files/private/{path+}": {bus.RequireClaims(kit.Keepers)},
			"/files/one.txt":         {bus.RequireClaims(kit.Keepers)},
			"/files/limited/{path+}": {bus.RequireCallers("orders.example")},
			"/files/dir/{path+}":     {bus.RequireClaims(kit.Keepers + " or true")},
		} {
			require.NoError(t, callee.Handle(http.MethodGet, path, http.StripPrefix("/files", files), options...))
		}
		kit.Serve(t, callee, stack{}, bus.Method("Take", bus.HTTPMethod("GET"), bus.Path("/stack/{id}")),
			bus.Method("Pages", bus.HTTPMethod("GET"), bus.Path("/stack/{id}/pages"), bus.RequireClaims(kit.Keepers)))
		for path, want := range map[string]int{
			"/files/open.txt":                   200,
			"/files//open.txt":                  200,
			"/files/x/../open.txt":              200,
			"/files/":                           200,
			"/files/private/x":                  401,
			"/files/private/":                   401,
			"/files/dir/b.txt":                  401,
			"/files/dir/../private/x":           404,
			"/files/one.txt":                    401,
			"/files/limited/x":                  403,
			"/files//limited/x":                 404,
			"/files/private/../limited/x":       404,
			"/files//private/x":                 404,
			"/files//private/":                  404,
			"/files/./private/x":                404,
			"/files/x/../private/x":             404,
			"/files/../private/x":               404, // the handler has no folder above its own
			"/files/../../files/x/../private/x": 404,
			"/files/%2e/private/x":              404,
			"/files/%2E%2e/private/x":           404,
			"/files/.%2fprivate/x":              404,
			"/files/private%2fx":                404,
			"/files/private%2F":                 404,
			"/files/one.txt/":                   404,
			"/files/one.txt/.":                  404,
			"/stack/a%2Fpages":                  200, // is a name for a function
			"/stack/..":                         200,
		} {
			response, got := kit.Do(t, caller, http.MethodGet, "https://files.example"+path, "", "")
			assert.Equal(t, want, response.StatusCode, path)
			assert.NotContains(t, got, "secret", path)
			if want == 404 && !strings.Contains(got, "files.example serves nothing at "+path) {
				t.Errorf("%s: %s", path, got)
			}
		}
		keeper := w.Connect("keeper.example")
		for path, want := range map[string]int{
			"/files/private/x": 200, "/files/private//x": 200, "/files/private/y/../x": 200,
			"/files/private/../dir/b.txt": 404, // which asks for other claims
		} {
			request, err := http.NewRequestWithContext(bus.WithActor(t.Context(), i.Keeper()), http.MethodGet,
				"https://files.example"+path, http.NoBody)
			require.NoError(t, err)
			response, err := keeper.Do(request)
			require.NoError(t, err, "%s for a keeper", path)
			assert.Equal(t, want, response.StatusCode, "%s for a keeper", path)
		}
	})
}

// TestHandle_OpenMethods registers a handler with claims and a wider one, in both orders.
func TestHandle_OpenMethods(t *testing.T) {
	t.Parallel()
	const narrow, wide, others = "/files/private/{path+}", "/files/{path+}", "DELETE, OPTIONS, PATCH, POST, PUT"
	guarded := []bus.HandleOption{bus.RequireClaims(kit.Keepers)}
	limited := []bus.HandleOption{bus.RequireCallers("orders.example")}
	type route struct {
		method, path string
		options      []bus.HandleOption
	}
	i, keys := kit.NewIssuer(t), bustest.NewServiceKeys(t, "orders.example")
	b := bustest.New(t)
	for _, test := range []struct {
		name                   string
		narrower, wider, third route
		open                   string
	}{
		{"any method", route{"GET", narrow, guarded}, route{"*", wide, nil}, route{}, others},
		{"below a parameter", route{"GET", "/files/a.txt", guarded}, route{"*", "/files/{name}", nil}, route{}, others},
		{"one method", route{"GET", narrow, guarded}, route{"POST", wide, nil}, route{}, "POST"},
		{"callers", route{"GET", narrow, limited}, route{"POST", wide, nil}, route{}, "POST"},
		{"the same callers", route{"GET", narrow, limited}, route{"*", wide, limited}, route{}, ""},
		{"other claims", route{"GET", narrow, guarded}, route{"POST", wide, []bus.HandleOption{bus.RequireClaims("true")}},
			route{}, "POST"},
		{"reading", route{"POST", narrow, guarded}, route{"*", wide, nil}, route{}, "DELETE, GET, HEAD, OPTIONS, PATCH, PUT"},
		{"a third covers one", route{"GET", narrow, guarded}, route{"*", wide, nil}, route{"POST", narrow, guarded},
			"DELETE, OPTIONS, PATCH, PUT"},
		{"a third covers it", route{"GET", narrow, guarded}, route{"POST", wide, nil}, route{"*", narrow, guarded}, ""},
		{"the same claims", route{"GET", narrow, guarded}, route{"*", wide, guarded}, route{}, ""},
		{"all methods guarded", route{"*", narrow, guarded}, route{"*", wide, nil}, route{}, ""},
		{"the same methods", route{"GET", narrow, guarded}, route{"GET", wide, nil}, route{}, ""},
		{"reading is open", route{"POST", narrow, guarded}, route{"GET", wide, nil}, route{}, ""},
		{"nothing guarded", route{"GET", narrow, nil}, route{"*", wide, guarded}, route{}, ""},
		{"elsewhere", route{"GET", "/other/{path+}", guarded}, route{"*", wide, nil}, route{}, ""},
		{"the same path", route{"GET", narrow, guarded}, route{"POST", narrow, nil}, route{}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, order := range [][2]route{{test.narrower, test.wider}, {test.wider, test.narrower}} {
				logged := new(kit.Lines)
				conn := b.Connect("files.example", i.Trust(), keys.Trust(),
					bus.WithLogger(zerolog.New(logged).Level(zerolog.WarnLevel)))
				for _, each := range []route{test.third, order[0], order[1]} {
					if each.path == "" {
						continue
					}
					require.NoError(t, conn.Handle(each.method, each.path, http.NotFoundHandler(), each.options...))
				}
				from, to := test.narrower.method+" "+test.narrower.path, test.wider.method+" "+test.wider.path
				want := fmt.Sprintf("the claims or callers of %s do not guard its paths under %s, which %s answers without them: "+
					"ask for the same there, or serve %s under the method *", from, test.open, to, test.narrower.path)
				if warned := logged.Count(want) == 1; warned != (test.open != "") || !warned && logged.String() != "" {
					t.Errorf("%s, %s first: %s", test.name, order[0].path, logged)
				}
			}
		})
	}
}
