package bus

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/internal/fragment"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/restmap/openapi"
)

// connectConfig is the configuration of Connect: defaults, overridden by the environment, overridden by options.
type connectConfig struct {
	plane          string
	version        string
	description    string
	baseURL        string
	shortCircuit   bool
	circuitFault   error       // an invalid BUS_SHORT_CIRCUIT; nil if an option overrides it
	checkCircuit   func(error) // receives differences between the transports; nil: no check
	handlerLimit   int
	messageLimit   int // bytes
	ackWait        time.Duration
	allowResponses bool             // see WithAllowResponses
	unlisted       bool             // see WithoutServiceProtocol
	verifier       *claims.Verifier // of tokens; nil: the one of claimsConfig
	claimsConfig   claims.Config    // from the environment
	logger         *zerolog.Logger
	slog           *slog.Logger         // what logger writes to; nil: logger is not backed by slog
	tracerProvider trace.TracerProvider // nil: that of the process
	meterProvider  metric.MeterProvider // nil: that of the process
	interceptors   []Interceptor
	bodies         bool // interceptors see bodies
	linkConfig     linkConfig
	urlGiven       bool    // url was set by an option
	testBroker     bool    // provider is the broker of a test
	ownLink        bool    // see WithoutSharing
	errs           []error // of invalid options
}

// linkConfig is the address of the broker and the login. It is comparable: connections of a process with equal values
// share one broker connection.
type linkConfig struct {
	url            string // one or several, separated by commas
	provider       nats.InProcessConnProvider
	nats           *nats.Conn
	credentials    string // file
	nkeySeed       string // file
	user, password string
	token          string
	ca, cert, key  string // files
	unbatched      bool
	connectTimeout time.Duration // 0: one attempt, see patience
}

// patience returns how long to wait for the broker. A single attempt usually ends by itself earlier.
func (c linkConfig) patience() time.Duration { return cmp.Or(c.connectTimeout, defaultConnectTimeout) }

// Defaults, unless an option or the environment overrides them.
const (
	defaultPlane          = "bus"
	defaultHandlerLimit   = 10_000
	defaultAckWait        = time.Second // 250 ms cause false alarms under load
	defaultConnectTimeout = 5 * time.Second
	dialTimeout           = 2 * time.Second // of one attempt
)

// newConnectConfig returns the configuration from the environment and the options. Only this function and
// [environmentLogger], which it calls if no option sets a logger, read the environment.
func newConnectConfig(options []ConnectOption) (*connectConfig, error) {
	config := environmentConfig()
	for i, option := range options {
		if option == nil {
			return nil, noOption(i)
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
	return config, config.validate()
}

// environmentConfig returns the defaults, overridden by the environment.
func environmentConfig() *connectConfig {
	shortCircuit, circuitFault := environmentCircuit()
	return &connectConfig{
		plane:        cmp.Or(os.Getenv("BUS_PLANE"), defaultPlane),
		baseURL:      strings.TrimSuffix(os.Getenv("BUS_BASE_URL"), "/"),
		shortCircuit: shortCircuit,
		circuitFault: circuitFault,
		handlerLimit: defaultHandlerLimit,
		messageLimit: fragment.DefaultMessageLimit,
		ackWait:      defaultAckWait,
		claimsConfig: claims.Config{
			KeySet: os.Getenv("BUS_JWKS"), Issuer: os.Getenv("BUS_JWT_ISSUER"), Audience: os.Getenv("BUS_JWT_AUDIENCE"),
		},
		linkConfig: linkConfig{
			url:            cmp.Or(os.Getenv("BUS_NATS_URL"), nats.DefaultURL),
			credentials:    os.Getenv("BUS_NATS_CREDS"),
			nkeySeed:       os.Getenv("BUS_NATS_NKEY"),
			user:           os.Getenv("BUS_NATS_USER"),
			password:       os.Getenv("BUS_NATS_PASSWORD"),
			token:          os.Getenv("BUS_NATS_TOKEN"),
			ca:             os.Getenv("BUS_NATS_CA"),
			cert:           os.Getenv("BUS_NATS_CERT"),
			key:            os.Getenv("BUS_NATS_KEY"),
			connectTimeout: defaultConnectTimeout,
		},
	}
}

// environmentCircuit reads BUS_SHORT_CIRCUIT.
func environmentCircuit() (on bool, err error) {
	set := cmp.Or(os.Getenv("BUS_SHORT_CIRCUIT"), "1")
	if on, err = strconv.ParseBool(set); err != nil {
		return false, fmt.Errorf("BUS_SHORT_CIRCUIT %q is not a boolean: set it to 0 to send every call over the broker, or leave it unset", set)
	}
	return on, nil
}

func (c *connectConfig) validate() error {
	if len(c.errs) > 0 {
		return errors.Join(c.errs...)
	}
	if c.circuitFault != nil {
		return c.circuitFault
	}
	if err := subject.CheckPlane(c.plane); err != nil {
		return fmt.Errorf("plane %q (BUS_PLANE or bus.WithPlane): %w", c.plane, err)
	}
	if err := openapi.CheckBaseURL(c.baseURL); err != nil {
		return fmt.Errorf("base URL (BUS_BASE_URL or bus.WithBaseURL): %w", err)
	}
	if c.linkConfig.connectTimeout < 0 {
		return fmt.Errorf("connect timeout %s is below zero: set how long to try with bus.WithConnectTimeout, or 0 to try once", c.linkConfig.connectTimeout)
	}
	if err := checkInterceptors(c.interceptors, "bus.WithInterceptors"); err != nil {
		return err
	}
	if err := cmp.Or(checkText("bus.WithDescription", c.description), checkText("bus.WithVersion", c.version)); err != nil {
		return err
	}
	if c.handlerLimit < 1 {
		return fmt.Errorf("handler limit %d is too low: set at least 1 with bus.WithMaxHandlers", c.handlerLimit)
	}
	if c.messageLimit < fragment.MinMessageLimit || c.messageLimit > fragment.MaxMessageLimit {
		return fmt.Errorf("message limit of %d bytes is out of range: set %d to %d with bus.WithMaxMessageBytes", c.messageLimit, fragment.MinMessageLimit, fragment.MaxMessageLimit)
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
	return c.linkConfig.validate()
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
			return fmt.Errorf("%s is set, and BUS_JWKS is not, without which no token is accepted: set BUS_JWKS, or unset %[1]s", each.name)
		}
	}
	return nil
}

// validate returns an error if the address of the broker or the login is invalid. With WithNATS neither is used.
func (c linkConfig) validate() error {
	if c.nats != nil {
		return nil
	}
	if err := c.checkURL(); err != nil {
		return err
	}
	if (c.cert == "") != (c.key == "") {
		return errors.New("BUS_NATS_CERT and BUS_NATS_KEY go together: one of them is missing")
	}
	if c.password != "" && c.user == "" {
		return errors.New("BUS_NATS_PASSWORD is set, and BUS_NATS_USER is not: they go together")
	}
	return nil
}

// chooseBroker returns an error if several options select a broker. The broker of a test does not count: code under
// test may select another one.
func (c *connectConfig) chooseBroker() error {
	var given []string
	for _, each := range []struct {
		option string
		given  bool
	}{
		{"bus.WithNATS", c.linkConfig.nats != nil},
		{"bus.WithBroker", c.linkConfig.provider != nil && !c.testBroker},
		{"bus.WithURL", c.urlGiven},
	} {
		if each.given {
			given = append(given, each.option)
		}
	}
	if len(given) > 1 {
		return fmt.Errorf("%s say which broker to use, each in its way: use one of them", strings.Join(given, " and "))
	}
	if c.urlGiven {
		c.linkConfig.provider = nil
	}
	return nil
}

// checkURL returns an error if the URL of the broker cannot be connected to, so that Connect does not wait. It accepts
// what nats.go can use, although nats.go is laxer than its documentation.
func (c linkConfig) checkURL() error {
	addresses := c.addresses()
	reachable := c.provider != nil || len(addresses) == 0
	for _, address := range addresses {
		to, err := parseBroker(address)
		if err != nil { // err repeats the URL, including the password
			return c.faultyURL(address)
		}
		reachable = reachable || canBeDialled(to)
	}
	if !reachable {
		return c.faultyURL(addresses[0])
	}
	return nil
}

// faultyURL returns the error for an invalid URL. It omits the address if c.url contains a login: the password may be
// what is invalid.
func (c linkConfig) faultyURL(address string) error {
	shown := "the URL of the broker"
	if !strings.Contains(c.url, "@") {
		shown = fmt.Sprintf("the URL of the broker, %q,", address)
	}
	return fmt.Errorf("%s is none (BUS_NATS_URL or bus.WithURL): write nats://host:4222, or several with commas between them; in a password, / is %%2F, @ is %%40, : is %%3A and a comma is %%2C", shown)
}

// addresses returns the broker's URLs one by one. It may return none; nats.go then uses its default.
func (c linkConfig) addresses() (each []string) {
	for address := range strings.SplitSeq(c.url, ",") {
		if address = strings.TrimSpace(address); address != "" {
			each = append(each, address)
		}
	}
	return each
}

// parseBroker parses an address like nats.go: the scheme may be missing.
func parseBroker(address string) (*url.URL, error) {
	if !strings.Contains(address, "://") {
		address = "nats://" + address
	}
	return url.Parse(address)
}

// canBeDialled reports whether an address has the form host:port; both may be missing.
func canBeDialled(to *url.URL) bool {
	place := to.Host
	if to.Port() == "" {
		place = strings.TrimSuffix(place, ":") + ":4222"
	}
	_, port, err := net.SplitHostPort(place)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// foreignScheme returns the first scheme that is not one of NATS, or "". nats.go treats such a scheme as nats, so it is
// no error while the broker is reachable.
func (c linkConfig) foreignScheme() string {
	for _, address := range c.addresses() {
		to, err := parseBroker(address)
		if err == nil && !slices.Contains([]string{"nats", "tls", "ws", "wss"}, to.Scheme) {
			return to.Scheme
		}
	}
	return ""
}
