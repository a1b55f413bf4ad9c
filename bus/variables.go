package bus

import (
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"github.com/busline/busline/reflectapi/similar"
)

// variables are the environment variables that Busline reads, in all its packages.
//
//nolint:gochecknoglobals // a constant
var variables = []string{
	"BUS_BASE_URL", "BUS_EVENT_OPERATORS", "BUS_HTTP_ADDR", "BUS_JWKS", "BUS_JWT_AUDIENCE", "BUS_JWT_ISSUER", "BUS_LOG_FORMAT", "BUS_LOG_LEVEL",
	"BUS_NATS_CA", "BUS_NATS_CERT", "BUS_NATS_CREDS", "BUS_NATS_KEY", "BUS_NATS_NKEY", "BUS_NATS_PASSWORD", "BUS_NATS_TOKEN", "BUS_NATS_URL",
	"BUS_NATS_USER", "BUS_PLANE", "BUS_SHORT_CIRCUIT", "BUS_TOKEN",
}

// warnedVariables are those of which a log has a warning: one for each process.
var warnedVariables sync.Map //nolint:gochecknoglobals // the environment is that of the process, too

// warnOfVariables logs the variables of an environment that are none of Busline and resemble one: who set them believes that they count.
// A logger that writes no warnings leaves them to one that does.
func warnOfVariables(logger zerolog.Logger, environment []string) {
	if logger.GetLevel() > zerolog.WarnLevel {
		return
	}
	for _, each := range environment {
		name, value, _ := strings.Cut(each, "=")
		ofKubernetes := strings.HasSuffix(name, "_PORT") && strings.Contains(value, "://") // of a Service bus-nats: tcp://10.0.0.1:4222
		if !strings.HasPrefix(name, "BUS_") || ofKubernetes {
			continue
		}
		hint := similar.DidYouMean(name, variables)
		if hint == "" {
			continue
		}
		if _, warned := warnedVariables.LoadOrStore(name, true); !warned {
			logger.Warn().Msg("the environment variable " + name + " is unknown, and ignored" + hint)
		}
	}
}
