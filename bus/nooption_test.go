package bus_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

const noHandler = " returned nil in place of a handler: have it return one that calls next, or next itself"

// TestNoOption hands over options that are nil, as a function may return that has none to set.
func TestNoOption(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	conn := b.Connect("wrapper.example")
	var composed atomic.Int64
	passing := func(next bus.CallFunc) bus.CallFunc { return next }
	ending := func(bus.CallFunc) bus.CallFunc { return nil }
	serverOnly := func(next bus.CallFunc) bus.CallFunc { // composed once by Connect, and then for each endpoint
		if composed.Add(1) > 1 {
			return nil
		}
		return next
	}
	late := b.Connect("late.example", bus.WithInterceptors(serverOnly))
	for want, try := range map[string]func() error{
		"connect none.example: option 2 is nil: leave it out": func() error {
			_, err := bus.Connect(t.Context(), "none.example", bus.WithPlane("p"), nil)
			return err
		},
		"serve bus_test.wrapper on wrapper.example: option 1 is nil: leave it out": func() error {
			return bus.Serve(conn, wrapper{}, nil, bus.AllowAnonymous())
		},
		`serve bus_test.wrapper on wrapper.example: bus.Method("Wrapped"): option 2 is nil: leave it out`: func() error {
			return bus.Serve(conn, wrapper{}, bus.Method("Wrapped", bus.AllowAnonymous(), nil))
		},
		"subscribe bus_test.wrapper of wrapper.example to the events of source.example: option 1 is nil: leave it out": func() error {
			return bus.Subscribe(conn, "source.example", wrapper{}, nil)
		},
		"400 Bad Request: events of wrapper.example: option 2 is nil: leave it out": func() error {
			_, err := conn.NewPublisher("wrapper.example", bus.Durable(), nil)
			return err
		},
		"connect none.example: interceptor 2 is nil: leave it out of bus.WithInterceptors": func() error {
			_, err := bus.Connect(t.Context(), "none.example", bus.WithInterceptors(passing, nil))
			return err
		},
		"serve bus_test.wrapper on wrapper.example: wrapper.Wrapped: interceptor 1 is nil: leave it out of bus.Intercept": func() error {
			return bus.Serve(conn, wrapper{}, bus.Intercept(nil))
		},
		"connect none.example: interceptor 2 of bus.WithInterceptors" + noHandler: func() error {
			_, err := bus.Connect(t.Context(), "none.example", append(b.Options(), bus.WithInterceptors(passing, ending))...)
			return err
		},
		"serve bus_test.wrapper on wrapper.example: wrapper.Wrapped: interceptor 2 of bus.Intercept" + noHandler: func() error {
			return bus.Serve(conn, wrapper{}, bus.Intercept(passing), bus.Method("Wrapped", bus.Intercept(ending)))
		},
		"subscribe *bus_test.sink of wrapper.example to the events of source.example: sink.OnCancelled: interceptor 1 of bus.Intercept" + noHandler: func() error {
			return bus.Subscribe(conn, "source.example", newSink(), bus.Intercept(ending))
		},
		"handle GET /x on late.example: GET /x: interceptor 1 of bus.WithInterceptors" + noHandler: func() error {
			return late.Handle("GET", "/x", http.NotFoundHandler())
		},
		"serve bus_test.wrapper on wrapper.example: bus.SourceFS: the file system is nil; give it an embed.FS": func() error {
			return bus.Serve(conn, wrapper{}, bus.SourceFS(nil))
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
