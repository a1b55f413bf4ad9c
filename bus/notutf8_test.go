package bus_test

import (
	"net/http"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

// TestNotUTF8 has options with texts that no document can hold.
func TestNotUTF8(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect("wrapper.example")
	for want, try := range map[string]func() error{
		`connect none.example: bus.WithDescription: "caf\xe9" is not valid UTF-8, which documents are in`: func() error {
			_, err := bus.Connect(t.Context(), "none.example", bus.WithDescription("caf\xe9"))
			return err
		},
		`connect none.example: bus.WithVersion: "\xff" is not valid UTF-8, which documents are in`: func() error {
			_, err := bus.Connect(t.Context(), "none.example", bus.WithVersion("\xff"))
			return err
		},
		`serve bus_test.wrapper on wrapper.example: wrapper.Wrapped: bus.Description: "caf\xe9" is not valid UTF-8, which documents are in`: func() error {
			return bus.Serve(conn, wrapper{}, bus.Method("Wrapped", bus.Description("caf\xe9")))
		},
		`handle GET /x on wrapper.example: GET /x: bus.Description: "\xff" is not valid UTF-8, which documents are in`: func() error {
			return conn.Handle("GET", "/x", http.NotFoundHandler(), bus.Description("\xff"))
		},
	} {
		if err := try(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
