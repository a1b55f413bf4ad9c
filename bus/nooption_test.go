package bus_test

import (
	"net/http"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

// TestNoOption hands over options that are nil, as a function may return that has none to set.
func TestNoOption(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	conn := b.Connect("wrapper.example")
	passing := func(next bus.Handler) bus.Handler { return next }
	for want, try := range map[string]func() error{
		"connect none.example: option 2 is nil: leave it out": func() error {
			_, err := bus.Connect(t.Context(), "none.example", bus.WithPlane("p"), nil)
			return err
		},
		"serve bus_test.wrapper on wrapper.example: option 1 is nil: leave it out": func() error {
			return bus.Serve(conn, wrapper{}, nil, bus.Public())
		},
		`serve bus_test.wrapper on wrapper.example: bus.Method("Wrapped"): option 2 is nil: leave it out`: func() error {
			return bus.Serve(conn, wrapper{}, bus.Method("Wrapped", bus.Public(), nil))
		},
		"subscribe bus_test.wrapper of wrapper.example to the events of source.example: option 1 is nil: leave it out": func() error {
			return bus.Subscribe(conn, "source.example", wrapper{}, nil)
		},
		"400 Bad Request: events of wrapper.example: option 2 is nil: leave it out": func() error {
			_, err := bus.NewEvents(conn, "wrapper.example", bus.Durable(), nil)
			return err
		},
		"connect none.example: interceptor 2 is nil: leave it out of bus.WithInterceptors": func() error {
			_, err := bus.Connect(t.Context(), "none.example", bus.WithInterceptors(passing, nil))
			return err
		},
		"serve bus_test.wrapper on wrapper.example: wrapper.Wrapped: interceptor 1 is nil: leave it out of bus.Intercept": func() error {
			return bus.Serve(conn, wrapper{}, bus.Intercept(nil))
		},
		"serve bus_test.wrapper on wrapper.example: bus.Source: the file system is nil; give it an embed.FS": func() error {
			return bus.Serve(conn, wrapper{}, bus.Source(nil))
		},
		"option 1 is nil: leave it out": func() error { return bus.CheckNames(wrapper{}, nil) },
		"handle GET /x on wrapper.example: option 1 is nil: leave it out": func() error {
			return conn.Handle("GET", "/x", http.NotFoundHandler(), nil)
		},
	} {
		if err := try(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
