package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"

	"github.com/rs/zerolog"
)

// slogWriter takes what a zerolog.Logger writes, which is what Busline logs through, to a slog.Logger:
//
//	zerolog.New(slogWriter{logger})
//
// An app that logs through zerolog itself needs nothing of the kind: it hands its logger over.
type slogWriter struct{ logger *slog.Logger }

// WriteLevel logs one line: {"level":"warn","host":"library.example","message":"message dropped"}. Slog's levels are four
// apart, zerolog's one.
func (s slogWriter) WriteLevel(level zerolog.Level, line []byte) (int, error) {
	ctx, severity := context.Background(), slog.Level(4*(level-zerolog.InfoLevel))
	if !s.logger.Enabled(ctx, severity) {
		return len(line), nil
	}
	var fields map[string]any
	if err := json.Unmarshal(line, &fields); err != nil {
		return 0, err
	}
	message, _ := fields[zerolog.MessageFieldName].(string)
	delete(fields, zerolog.MessageFieldName)
	delete(fields, zerolog.LevelFieldName)
	attributes := make([]slog.Attr, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		attributes = append(attributes, slog.Any(name, fields[name]))
	}
	s.logger.LogAttrs(ctx, severity, message, attributes...)
	return len(line), nil
}

// Write is for lines without a level.
func (s slogWriter) Write(line []byte) (int, error) { return s.WriteLevel(zerolog.InfoLevel, line) }
