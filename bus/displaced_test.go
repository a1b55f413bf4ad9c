package bus_test

import (
	"net/http"
	"testing"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
)

// TestDisplacedEndpointsAreTold serves paths that OpenAPI cannot distinguish.
func TestDisplacedEndpointsAreTold(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		log := new(lines)
		conn := b.connect("files.example", bus.WithLogger(zerolog.New(log)))
		for _, each := range []struct {
			method, path string
			options      []bus.HandleOption
			told         int
		}{
			{"GET", "/files/{path+}", nil, 0},
			{"PUT", "/files/{name}", nil, 0},
			{"GET", "/files/{name}", []bus.HandleOption{bus.Port(444)}, 0},
			{"GET", "/files/{name}", []bus.HandleOption{bus.Undocumented()}, 0},
			{"", "/files/{a}/{rest+}", nil, 0},
			{"PUT", "/files/{path+}", nil, 1},
			{"DELETE", "/logs/{path+}", nil, 1},
			{"DELETE", "/logs/{name}", nil, 2},
		} {
			if err := conn.Handle(each.method, each.path, http.NotFoundHandler(), each.options...); err != nil {
				t.Fatal(err)
			}
			if told := log.count("not in documents"); told != each.told {
				t.Errorf("after %s %s: %d warnings, want %d:\n%s", each.method, each.path, told, each.told, log)
			}
		}
	})
}

// TestFewEndpointsAreCompared holds that registering an endpoint does not take longer the more others there are.
func TestFewEndpointsAreCompared(t *testing.T) {
	t.Parallel()
	conn := newBus(t).Connect("files.example")
	for _, path := range []string{"/a", "/b", "/a/{x}", "/a/{y+}", "/a/{x}/c", "/{x}/b"} {
		if err := conn.Handle("GET", path, http.NotFoundHandler()); err != nil {
			t.Fatal(err)
		}
	}
	for path, others := range map[string]int{"/a": 1, "/c": 0, "/a/{z}": 2, "/{z}/b": 1} {
		if compared := bus.BesideInDocuments(conn, 443, path); compared != others {
			t.Errorf("%s is compared with %d others, want %d", path, compared, others)
		}
	}
}
