package bus

import (
	"cmp"
	"fmt"
	"os"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"
)

// environmentLogger makes the logger that BUS_LOG_LEVEL and BUS_LOG_FORMAT ask for.
func environmentLogger() (zerolog.Logger, error) {
	level, err := zerolog.ParseLevel(cmp.Or(os.Getenv("BUS_LOG_LEVEL"), "info"))
	if err != nil {
		return zerolog.Nop(), fmt.Errorf("BUS_LOG_LEVEL %q: use trace, debug, info, warn, error or disabled", os.Getenv("BUS_LOG_LEVEL"))
	}
	terminal := isatty.IsTerminal(os.Stderr.Fd())
	console := terminal
	switch format := os.Getenv("BUS_LOG_FORMAT"); format {
	case "":
	case "json":
		console = false
	case "console":
		console = true
	default:
		return zerolog.Nop(), fmt.Errorf("BUS_LOG_FORMAT %q: use json or console", format)
	}
	logger := zerolog.New(os.Stderr)
	if console {
		logger = zerolog.New(zerolog.ConsoleWriter{Out: os.Stderr, NoColor: !terminal})
	}
	return logger.Level(level).With().Timestamp().Logger(), nil
}

// loggerOf returns the logger of an instance.
func (c *connectConfig) loggerOf(host, id string) zerolog.Logger {
	return c.logger.With().Str("host", host).Str("id", id).Logger()
}
