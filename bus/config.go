package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mattn/go-isatty"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/internal/testbroker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi/similar"
	"github.com/busline/busline/restmap/openapi"
)

// connectConfig is the configuration of Connect: defaults, overridden by the environment, overridden by options.
type connectConfig struct {
	plane           string
	version         string
	description     string
	baseURL         string
	shortCircuit    bool
	circuitErr      error                      // an invalid BUS_SHORT_CIRCUIT; nil if an option overrides it
	checkCircuit    func(error)                // receives differences between the transports; nil: no check
	checkResponse   func(*testbroker.Response) // nil: no check
	strict          bool                       // services refuse unknown arguments
	shared          *sync.Map                  // of the connections of a test's bus; nil outside of tests
	handlerLimit    int
	messageLimit    int // bytes
	ackWait         time.Duration
	allowResponses  bool             // see WithAllowResponses
	unlisted        bool             // see WithoutServiceProtocol
	jetStreamDomain string           // "" for that of the broker
	verifier        *claims.Verifier // of tokens; nil: the one of claimsConfig
	claimsConfig    claims.Config    // from the environment
	serviceKey      string           // a file; "" for none
	serviceKeySet   string           // a file or a URL; "" for none
	logger          *zerolog.Logger
	slog            *slog.Logger // what logger writes to; nil: logger is not backed by slog
	observers       []Interceptor
	interceptors    []Interceptor
	recorder        feature.Recorder            // of calls; nil for none
	bodies          bool                        // interceptors see bodies
	readiness       func(context.Context) error // nil: the instance is ready
	broker          natsconn.Config
	urlGiven        bool    // URL was set by an option
	testBroker      bool    // the provider is the broker of a test
	ownLink         bool    // see WithoutSharing
	errs            []error // of invalid options
}

// Defaults, unless an option or the environment overrides them.
const (
	defaultPlane        = "bus"
	defaultHandlerLimit = 10_000
	defaultAckWait      = time.Second // under load 250 ms give false alarms
)

// newConnectConfig returns the configuration from the environment and the options. Only this function and what it calls
// read the environment.
func newConnectConfig(options []ConnectOption) (*connectConfig, error) {
	config := environmentConfig()
	for i, option := range options {
		if option == nil {
			return nil, feature.NoOption(i)
		}
		option(config)
	}
	if config.logger == nil {
		logger, err := environmentLogger()
		if err != nil {
			return nil, err
		}
		config.logger = &logger
	}
	warnOfVariables(*config.logger, os.Environ())
	return config, config.validate()
}

// environmentConfig returns the defaults, overridden by the environment.
func environmentConfig() *connectConfig {
	shortCircuit, circuitErr := environmentCircuit()
	return &connectConfig{
		plane:        cmp.Or(os.Getenv("BUS_PLANE"), defaultPlane),
		baseURL:      strings.TrimSuffix(os.Getenv("BUS_BASE_URL"), "/"),
		shortCircuit: shortCircuit,
		circuitErr:   circuitErr,
		handlerLimit: defaultHandlerLimit,
		messageLimit: stream.DefaultMessageLimit,
		ackWait:      defaultAckWait,
		claimsConfig: claims.Config{
			KeySet: os.Getenv("BUS_JWKS"), Issuer: os.Getenv("BUS_JWT_ISSUER"), Audience: os.Getenv("BUS_JWT_AUDIENCE"),
		},
		serviceKey: os.Getenv("BUS_SERVICE_KEY"), serviceKeySet: os.Getenv("BUS_SERVICE_JWKS"),
		broker: natsconn.Config{
			URL:            cmp.Or(os.Getenv("BUS_NATS_URL"), nats.DefaultURL),
			Credentials:    os.Getenv("BUS_NATS_CREDS"),
			NkeySeed:       os.Getenv("BUS_NATS_NKEY"),
			User:           os.Getenv("BUS_NATS_USER"),
			Password:       os.Getenv("BUS_NATS_PASSWORD"),
			Token:          os.Getenv("BUS_NATS_TOKEN"),
			CA:             os.Getenv("BUS_NATS_CA"),
			Cert:           os.Getenv("BUS_NATS_CERT"),
			Key:            os.Getenv("BUS_NATS_KEY"),
			ConnectTimeout: natsconn.DefaultTimeout,
		},
	}
}

// environmentCircuit reads BUS_SHORT_CIRCUIT.
func environmentCircuit() (on bool, err error) {
	set := cmp.Or(os.Getenv("BUS_SHORT_CIRCUIT"), "1")
	if on, err = strconv.ParseBool(set); err != nil {
		return false, fmt.Errorf("BUS_SHORT_CIRCUIT %q is not a boolean: set it to 0 to send every call over the broker, "+
			"or leave it unset", set)
	}
	return on, nil
}

func (c *connectConfig) validate() error {
	if len(c.errs) > 0 {
		return errors.Join(c.errs...)
	}
	if c.circuitErr != nil {
		return c.circuitErr
	}
	if err := subject.CheckPlane(c.plane); err != nil {
		return fmt.Errorf("plane %q (BUS_PLANE or bus.WithPlane): %w", c.plane, err)
	}
	if err := openapi.CheckBaseURL(c.baseURL); err != nil {
		return fmt.Errorf("base URL (BUS_BASE_URL or bus.WithBaseURL): %w", err)
	}
	if c.broker.ConnectTimeout < 0 {
		return fmt.Errorf("connect timeout %s is below zero: set how long to try with bus.WithConnectTimeout, "+
			"or 0 to try once", c.broker.ConnectTimeout)
	}
	if err := cmp.Or(checkInterceptors(c.observers, "bus.WithObservers"),
		checkInterceptors(c.interceptors, "bus.WithInterceptors")); err != nil {
		return err
	}
	if err := cmp.Or(checkText("bus.WithDescription", c.description),
		checkText("bus.WithVersion", c.version)); err != nil {
		return err
	}
	if strings.ContainsFunc(c.jetStreamDomain, func(r rune) bool { return r <= ' ' || strings.ContainsRune(".*>", r) }) {
		return fmt.Errorf("bus.WithJetStreamDomain(%q): name the domain of the broker's jetstream block; it has no space, "+
			"dot, * or >", c.jetStreamDomain)
	}
	if c.handlerLimit < 1 {
		return fmt.Errorf("handler limit %d is too low: set at least 1 with bus.WithMaxHandlers", c.handlerLimit)
	}
	if c.messageLimit < stream.MinMessageLimit || c.messageLimit > stream.MaxMessageLimit {
		return fmt.Errorf("message limit of %d bytes is out of range: set %d to %d with bus.WithMaxMessageBytes",
			c.messageLimit, stream.MinMessageLimit, stream.MaxMessageLimit)
	}
	if c.ackWait <= 0 {
		return fmt.Errorf("ack wait %s is too short: set a time above zero with bus.WithAckWait", c.ackWait)
	}
	if err := c.chooseBroker(); err != nil {
		return err
	}
	if err := c.checkKeys(); err != nil {
		return err
	}
	return c.broker.Check()
}

// checkText returns an error if the text of an option is not UTF-8: documents contain it.
func checkText(option, text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("%s: %.40q is not valid UTF-8, which documents are in", option, text)
	}
	return nil
}

// checkKeys returns an error if the environment sets an issuer or an audience of tokens but no key set: no token would
// be accepted.
func (c *connectConfig) checkKeys() error {
	if c.verifier != nil || c.claimsConfig.KeySet != "" {
		return nil
	}
	for _, each := range []struct{ name, value string }{
		{"BUS_JWT_ISSUER", c.claimsConfig.Issuer}, {"BUS_JWT_AUDIENCE", c.claimsConfig.Audience},
	} {
		if each.value != "" {
			return fmt.Errorf("%s is set, and BUS_JWKS is not, without which no token is accepted: set BUS_JWKS, or unset %[1]s",
				each.name)
		}
	}
	return nil
}

// chooseBroker returns an error if several options select a broker. The broker of a test does not count: code under
// test may select another one.
func (c *connectConfig) chooseBroker() error {
	var names []string
	for _, each := range []struct {
		option string
		isSet  bool
	}{
		{"bus.WithNATS", c.broker.NATS != nil},
		{"bus.WithBroker", c.broker.Provider != nil && !c.testBroker},
		{"bus.WithURL", c.urlGiven},
	} {
		if each.isSet {
			names = append(names, each.option)
		}
	}
	if len(names) > 1 {
		return fmt.Errorf("%s say which broker to use, each in its way: use one of them", strings.Join(names, " and "))
	}
	if c.urlGiven {
		c.broker.Provider = nil
	}
	return nil
}

// ConnectOption configures a connection. The names of connection options start with With; options of a service or an
// endpoint are plain nouns (see [ServeOption]). An option takes precedence over the environment.
type ConnectOption func(*connectConfig)

// variables are the environment variables that Busline reads, in all its packages.
//
//nolint:gochecknoglobals // a constant
var variables = []string{
	"BUS_BASE_URL", "BUS_OPERATORS", "BUS_HTTP_ADDR", "BUS_JWKS", "BUS_JWT_AUDIENCE", "BUS_JWT_ISSUER",
	"BUS_LOGIN_CLIENT_ID", "BUS_LOGIN_ISSUER", "BUS_LOG_FORMAT", "BUS_LOG_LEVEL",
	"BUS_NATS_CA", "BUS_NATS_CERT", "BUS_NATS_CREDS", "BUS_NATS_KEY", "BUS_NATS_NKEY", "BUS_NATS_PASSWORD",
	"BUS_NATS_TOKEN", "BUS_NATS_URL", "BUS_TRACE_LINK",
	"BUS_NATS_USER", "BUS_PLANE", "BUS_SERVICE_JWKS", "BUS_SERVICE_KEY", "BUS_SHORT_CIRCUIT", "BUS_TOKEN",
}

// warnedVariables are those of which a log has a warning: one for each process.
var warnedVariables sync.Map //nolint:gochecknoglobals // the environment is that of the process, too

// warnOfVariables logs the variables of an environment that are none of Busline and resemble one: who set them believes
// that they count. A logger that writes no warnings leaves them to one that does.
func warnOfVariables(logger zerolog.Logger, environment []string) {
	if logger.GetLevel() > zerolog.WarnLevel {
		return
	}
	for _, each := range environment {
		name, value, _ := strings.Cut(each, "=")
		// of a Service bus-nats: tcp://10.0.0.1:4222
		ofKubernetes := strings.HasSuffix(name, "_PORT") && strings.Contains(value, "://")
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

// environmentLogger returns the logger that BUS_LOG_LEVEL and BUS_LOG_FORMAT configure.
func environmentLogger() (zerolog.Logger, error) {
	level, err := zerolog.ParseLevel(cmp.Or(os.Getenv("BUS_LOG_LEVEL"), "info"))
	if err != nil {
		return zerolog.Nop(), fmt.Errorf("BUS_LOG_LEVEL %q: use trace, debug, info, warn, error or disabled",
			os.Getenv("BUS_LOG_LEVEL"))
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
