package main

import (
	"context"
	"io"
	"os"

	tracesdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/busline/busline/bus/otelbus"
	"github.com/busline/busline/examples/internal/waterfall"
)

// trace writes the spans of all connections to a file: "-" is standard error, "" is nowhere.
func (s *showcase) trace(file string) error {
	if file == "" {
		return nil
	}
	var out io.Writer = os.Stderr
	if file != "-" {
		created, err := os.Create(file)
		if err != nil {
			return err
		}
		s.atEnd(func(context.Context) error { return created.Close() })
		out = created
	}
	provider := tracesdk.NewTracerProvider(tracesdk.WithSyncer(waterfall.New(out)))
	s.atEnd(provider.Shutdown)
	s.connectOptions = append(s.connectOptions, otelbus.Observe(otelbus.WithTracerProvider(provider)))
	return nil
}
