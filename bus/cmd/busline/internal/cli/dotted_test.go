package cli_test

import (
	"testing"

	"github.com/busline/busline/bus"
)

// Dots has names with dots in them.
type Dots struct{}

// Dotted is an object with such members.
type Dotted struct {
	Flat  string `json:"a.b"`
	Inner struct {
		Level int `json:"c.d"`
	} `json:"in.side"`
	A struct {
		C string `json:"c"`
	} `json:"a"`
	Free map[string]any `json:"free"`
}

// Echo returns what it is given.
func (Dots) Echo(what Dotted) (same Dotted) { return what }

// Update takes it as the whole body.
func (Dots) Update(id int, httpRequestBody Dotted) (httpResponseBody Dotted) { return httpRequestBody }

// TestNames_WithDots gives members with dots in their names, beside parts of members, and keys of a map.
func TestNames_WithDots(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serve("dots.example", func(conn *bus.Conn) error { return bus.Serve(conn, Dots{}, bus.Resource("dots")) })
	const same = `{"a.b":"1","in.side":{"c.d":2},"a":{"c":"3"},"free":{"x":{"y":"4"}}}`
	e.says(`{"same":`+same+"}\n", "call", "dots.example/echo", "what.a.b=1", "what.in.side.c.d=2", "what.a.c=3", "what.free.x.y=4")
	e.says(same+"\n", "call", "-X", "PUT", "dots.example/dots/7", "a.b=1", "in.side.c.d=2", "a.c=3", "free.x.y=4")
	e.refuses(2, "there is no argument what.in: what has a, a.b, free, in.side", "call", "dots.example/echo", "what.in.c.d=2")
	e.refuses(2, "there is no argument what.in.side.c: what.in.side has c.d", "call", "dots.example/echo", "what.in.side.c=2")
}
