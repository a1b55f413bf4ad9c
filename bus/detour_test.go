package bus_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/busline/busline/bus"
)

// stack has a function whose argument is a segment of the path, and one that is guarded, below it.
type stack struct{}

func (stack) Take(id string) (taken string) { return id }

func (stack) Pages(id string) (pages int) { return len(id) }

// TestDetour has a handler that cleans paths, as http.FileServer does, be asked by somebody without a token for what is
// guarded, in all the ways in which its path can be written.
func TestDetour(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	files := http.FileServerFS(fstest.MapFS{
		"open.txt": {Data: []byte("open")}, "dir/b.txt": {Data: []byte("open")}, "private/x": {Data: []byte("secret")}, "one.txt": {Data: []byte("secret")},
	})
	overBoth(t, func(t *testing.T, w *world) {
		callee, caller := w.connect("files.example", i.trust()), w.connect("caller.example")
		for path, options := range map[string][]bus.HandleOption{
			"/files/{path+}":         nil,
			"/files/private/{path+}": {bus.Claims(keepers)},
			"/files/one.txt":         {bus.Claims(keepers)},
			"/files/dir/{path+}":     {bus.Claims(keepers + " or true")},
		} {
			if err := callee.Handle(http.MethodGet, path, http.StripPrefix("/files", files), options...); err != nil {
				t.Fatal(err)
			}
		}
		serve(t, callee, stack{}, bus.Method("Take", bus.HTTPMethod("GET"), bus.Path("/stack/{id}")),
			bus.Method("Pages", bus.HTTPMethod("GET"), bus.Path("/stack/{id}/pages"), bus.Claims(keepers)))
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
			response, got := do(t, caller, http.MethodGet, "https://files.example"+path, "", "")
			if response.StatusCode != want || strings.Contains(got, "secret") {
				t.Errorf("%s: %d %s, want %d", path, response.StatusCode, got, want)
			}
			if want == 404 && !strings.Contains(got, "files.example serves nothing at "+path) {
				t.Errorf("%s: %s", path, got)
			}
		}
		keeper := w.connect("keeper.example")
		for path, want := range map[string]int{
			"/files/private/x": 200, "/files/private//x": 200, "/files/private/y/../x": 200,
			"/files/private/../dir/b.txt": 404, // which asks for other claims
		} {
			request, err := http.NewRequestWithContext(bus.ActAs(t.Context(), i.keeper()), http.MethodGet, "https://files.example"+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := keeper.Do(request)
			if err != nil || response.StatusCode != want {
				t.Errorf("%s for a keeper: %v, %v, want %d", path, response, err, want)
			}
		}
	})
}
