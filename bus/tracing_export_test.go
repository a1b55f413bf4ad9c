package bus

import "github.com/busline/busline/bus/wire"

// TraceIDOf returns the trace that a traceparent names.
func TraceIDOf(parent string) string {
	return traceIDOf(wire.Header{{Name: "traceparent", Value: parent}})
}

// RunningControls returns how many requests of the framework are handled.
func RunningControls(c *Conn) int {
	inside, _ := c.server.Controls.Count()
	return inside
}
