package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"

	"github.com/rs/zerolog"
)

// WithSlog sets a logger of log/slog, in place of one of [WithLogger]; the fields host and id are added to it. Its level may change
// while the connection is open. Default: none.
func WithSlog(logger *slog.Logger) ConnectOption {
	return func(c *connectConfig) {
		if logger == nil {
			c.faults = append(c.faults, errors.New("bus.WithSlog: the logger is nil"))
			return
		}
		to := zerolog.New(slogWriter{logger})
		c.logger, c.slog = &to, logger
	}
}

// slogLevel returns the level of slog that is called as one of zerolog. Slog's are four apart, zerolog's one.
func slogLevel(level zerolog.Level) slog.Level {
	if level == zerolog.NoLevel {
		return slog.LevelInfo
	}
	return slog.Level(4 * (level - zerolog.InfoLevel))
}

// slogWriter takes what a zerolog.Logger writes to a slog.Logger.
type slogWriter struct{ logger *slog.Logger }

// WriteLevel logs one line: {"level":"warn","host":"library.example","message":"message dropped"}.
func (s slogWriter) WriteLevel(level zerolog.Level, line []byte) (int, error) {
	ctx := context.Background()
	if !s.logger.Enabled(ctx, slogLevel(level)) {
		return len(line), nil
	}
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return 0, err
	}
	message, _ := fields[zerolog.MessageFieldName].(string)
	delete(fields, zerolog.MessageFieldName)
	delete(fields, zerolog.LevelFieldName)
	attributes := make([]slog.Attr, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		attributes = append(attributes, slogAttribute(name, fields[name]))
	}
	s.logger.LogAttrs(ctx, slogLevel(level), message, attributes...)
	return len(line), nil
}

// Write is for lines without a level.
func (s slogWriter) Write(line []byte) (int, error) { return s.WriteLevel(zerolog.InfoLevel, line) }

// slogAttribute keeps the digits of an integer, which a float64 would show as 1e+06.
func slogAttribute(name string, value any) slog.Attr {
	number, ok := value.(json.Number)
	if !ok {
		return slog.Any(name, value)
	}
	if integer, err := number.Int64(); err == nil {
		return slog.Int64(name, integer)
	}
	float, _ := number.Float64() // what zerolog has written is a number
	return slog.Float64(name, float)
}
