package bus

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/testbroker"
)

// WithOptions applies several options in order. So a test passes those of bustest to a function that calls [Run].
// Default: none.
func WithOptions(options ...ConnectOption) ConnectOption {
	return func(c *connectConfig) {
		for i, option := range options {
			if option == nil {
				c.errs = append(c.errs, fmt.Errorf("bus.WithOptions: %w", feature.NoOption(i)))
				continue
			}
			option(c)
		}
	}
}

// WithURL sets the address of the broker, or several separated by commas. An empty url stands for the default. Connect
// returns an error if a url is combined with [WithBroker] or [WithNATS]. Default: BUS_NATS_URL, else
// nats://127.0.0.1:4222.
func WithURL(url string) ConnectOption {
	return func(c *connectConfig) {
		if url != "" {
			c.broker.URL, c.urlGiven = url, true
		}
	}
}

// WithBroker connects to a broker in this process without socket or login, such as *broker.Broker of bus/broker. A
// nats-server of the application is one, too. Use [WithURL] or [WithNATS] for a broker that has users. BUS_NATS_URL is
// ignored then.
// Connect returns an error if [WithURL] or [WithNATS] is set as well. Default: none.
func WithBroker(broker nats.InProcessConnProvider) ConnectOption {
	return func(c *connectConfig) {
		broker := broker // an option is used for any number of connections
		ofTest, isOfTest := broker.(testbroker.Broker)
		if isOfTest {
			broker, c.strict, c.shared = ofTest.InProcessConnProvider, ofTest.Strict, ofTest.Shared
			c.checkCircuit, c.checkResponse = ofTest.ReportDifference, ofTest.CheckResponse
		}
		value := reflect.ValueOf(broker)
		if broker == nil || !value.Type().Comparable() || value.Kind() == reflect.Pointer && value.IsNil() {
			c.errs = append(c.errs,
				errors.New("bus.WithBroker: pass a pointer to a broker, such as the one that broker.Start returns"))
			return
		}
		c.broker.Provider, c.testBroker = broker, isOfTest
	}
}

// WithNATS uses a broker connection that the application already has. Busline does not change its callbacks and
// settings and never closes it. Its reconnect buffer should be off (nats.ReconnectBufSize(-1)), or requests made during
// an outage may be delivered late. BUS_NATS_URL is ignored then. Connect returns an error if [WithURL] or [WithBroker]
// is set as well. Default: Connect opens a connection.
func WithNATS(connection *nats.Conn) ConnectOption {
	return func(c *connectConfig) {
		if connection == nil {
			c.errs = append(c.errs, errors.New("bus.WithNATS: the connection is nil"))
		}
		c.broker.NATS = connection
	}
}

// WithNATSOptions passes further options of nats.go to the broker connection: TLS first, a dialer that goes through a
// proxy, callbacks, an inbox prefix. Several of these options add up, and win over the environment. Busline keeps what
// it relies on: how it reconnects, pings and times out, and batching, which surrounds a custom dialer. Its callbacks
// call yours afterwards. Connections share a broker connection only if they have the same value of this option. Connect
// returns an error for options that Busline cannot work with, such as nats.NoEcho, and for a combination with
// [WithNATS]. Default: none.
func WithNATSOptions(options ...nats.Option) ConnectOption {
	same := &natsconn.Options{All: options}
	return func(c *connectConfig) {
		if c.broker.Options != nil {
			c.broker.Options = &natsconn.Options{All: slices.Concat(c.broker.Options.All, options)}
			return
		}
		c.broker.Options = same
	}
}

// WithJetStreamDomain uses JetStream of another domain for stored events, such as that of the hub from a leaf node
// without JetStream of its own. See also [Conn.JetStreamPrefix]. Default: JetStream of the broker.
func WithJetStreamDomain(domain string) ConnectOption {
	return func(c *connectConfig) { c.jetStreamDomain = domain }
}

// WithoutSharing gives the connection a broker connection of its own, and no short circuit to others. Default: the
// connections of a process that use the same broker as the same user share one.
func WithoutSharing() ConnectOption {
	return func(c *connectConfig) { c.ownLink = true }
}

// WithoutBatching writes each message to the broker connection as soon as the broker client does. It has no effect with
// [WithBroker]: a connection in memory needs the buffer. Default: messages sent at about the same time leave in one
// write; one sent alone is not delayed.
func WithoutBatching() ConnectOption {
	return func(c *connectConfig) { c.broker.Unbatched = true }
}

// WithoutServiceProtocol disables the responses to NATS's service protocol ($SRV), so that "nats micro ls" does not
// show the connection. See docs/reference/nats.md. Default: a connection that serves something responds, if the
// broker's permissions allow it.
func WithoutServiceProtocol() ConnectOption {
	return func(c *connectConfig) { c.unlisted = true }
}

// WithConnectTimeout sets how long Connect tries to reach the broker, which may be started later. With 0 Connect tries
// once and fails at once where no broker listens, which suits interactive programs. Connect returns an error if timeout
// is negative. Default: 5 s; [Run] waits for as long as it takes.
func WithConnectTimeout(timeout time.Duration) ConnectOption {
	return func(c *connectConfig) { c.broker.ConnectTimeout = timeout }
}

// WithPlane sets the communication plane, [A-Za-z0-9_-]+. Services on different planes do not reach each other.
// Default: BUS_PLANE, else "bus".
func WithPlane(plane string) ConnectOption {
	return func(c *connectConfig) { c.plane = plane }
}

// WithVersion sets the service's version, shown in its documents. Default: "", shown as 0.
func WithVersion(version string) ConnectOption {
	return func(c *connectConfig) { c.version = version }
}

// WithDescription describes the service in its documents. Default: the doc comments of the types it serves.
func WithDescription(description string) ConnectOption {
	return func(c *connectConfig) { c.description = description }
}

// WithBaseURL sets the external address of the ingress, shown in documents. Default: BUS_BASE_URL, else the address
// under which the ingress was reached, or http://127.0.0.1:8080 for requests made on the bus.
func WithBaseURL(url string) ConnectOption {
	return func(c *connectConfig) { c.baseURL = strings.TrimSuffix(url, "/") }
}

// WithoutShortCircuit sends calls to an instance in the same process over the broker, too. Default: they stay in the
// process, unless BUS_SHORT_CIRCUIT is 0.
func WithoutShortCircuit() ConnectOption {
	return func(c *connectConfig) { c.shortCircuit, c.circuitErr = false, nil }
}

// WithVerifier sets the verifier of tokens. The caller closes the verifier after the connection. nil stands for the
// default. new(claims.Verifier) accepts no token, regardless of BUS_JWKS; it suits a connection that serves nothing and
// needs no keys. Default: one by BUS_JWKS, BUS_JWT_ISSUER and BUS_JWT_AUDIENCE, which the connection owns; without
// BUS_JWKS none, and no token is accepted.
func WithVerifier(verifier *claims.Verifier) ConnectOption {
	return func(c *connectConfig) { c.verifier = verifier }
}

// WithServiceKey sets the file of the private key with which the connection proves its hostname to those that it calls:
// a JSON Web Key, or a set of them for several hosts, as busline key makes them. The ID of the key is the hostname, or
// begins with it and a slash, "orders.example/2026-11"; of several for the host the last one counts. The file is read
// once. Connect returns an error if it has no key for the host. Each call then carries a proof, signed once a minute
// for each port of a callee: see [RequireCallers]. "" stands for no key. Default: BUS_SERVICE_KEY, else none.
func WithServiceKey(path string) ConnectOption {
	return func(c *connectConfig) { c.serviceKey = path }
}

// WithServiceKeySet sets the JSON Web Key Set with the public keys of the services that may prove who they are: the
// path of a file, or an http or https URL. It is read again every four minutes, and for a key that is not in it. A URL
// that cannot be reached is logged, and no caller is proven until it can be. See [RequireCallers] and [Caller]. ""
// stands for none. Default: BUS_SERVICE_JWKS, else none, and no caller is proven.
func WithServiceKeySet(location string) ConnectOption {
	return func(c *connectConfig) { c.serviceKeySet = location }
}

// WithMaxHandlers sets how many handlers may run at once. Further requests are answered 503. Default: 10 000.
func WithMaxHandlers(limit int) ConnectOption {
	return func(c *connectConfig) { c.handlerLimit = limit }
}

// WithMaxMessageBytes sets the largest request or response body in bytes that the connection sends or accepts (64 KiB
// to 512 MiB). A larger body is answered 413, or 500 if it is the response of a service of this connection. A body that
// exceeds the broker's own limit is sent in fragments. Default: 32 MiB.
//
// A connection holds at most 48 MiB for its peers, or a quarter of GOMEMLIMIT where that is set, and at least 1.5 times
// this size: messages in parts, and what was not read of streams. One sender has three quarters of it; beyond that the
// answer is 503. [MaxBodyBytes] sets how much an endpoint accepts within this limit.
func WithMaxMessageBytes(bytes int) ConnectOption {
	return func(c *connectConfig) { c.messageLimit = bytes }
}

// WithAckWait sets how long a call waits for the first ack before it concludes that no server is available. It matters
// where the broker cannot report at once that no instance is there. A multicast waits at least 250 ms. Default: 1 s.
func WithAckWait(wait time.Duration) ConnectOption {
	return func(c *connectConfig) { c.ackWait = wait }
}

// WithLogger sets the logger. The fields host and id are added to it. See [WithSlog] for a logger of log/slog. Without
// the variables the default has the level info, and writes text on a terminal, else JSON. Default: one for standard
// error, by BUS_LOG_LEVEL and BUS_LOG_FORMAT.
func WithLogger(logger zerolog.Logger) ConnectOption {
	return func(c *connectConfig) { c.logger, c.slog = &logger, nil }
}

// WithInterceptors wraps all calls that the connection makes or serves in interceptors. The first interceptor is the
// outermost; several of these options add up. The Side of an [Exchange] distinguishes the two kinds of calls. The
// document, GET /openapi.json, is served through the interceptors as well; an interceptor that rejects it hides the
// service from the portal. [Intercept] wraps only what is served. Default: none. See [Interceptor].
func WithInterceptors(interceptors ...Interceptor) ConnectOption {
	return func(c *connectConfig) { c.interceptors = append(c.interceptors, interceptors...) }
}

// WithObservers adds interceptors for all calls made and served, outside of Busline's own steps: they see calls that
// these reject. What they see is what the log says and the metrics count. The first one is outermost. It is for
// telemetry, such as [github.com/busline/busline/bus/otelbus.Observe], and for audits. Default: none.
func WithObservers(observers ...Interceptor) ConnectOption {
	return func(c *connectConfig) { c.observers = append(c.observers, observers...) }
}

// WithBodies lets interceptors see the bodies of all requests and responses. Default: calls within the process may pass
// Go values, which is faster, and interceptors see no bodies.
func WithBodies() ConnectOption {
	return func(c *connectConfig) { c.bodies = true }
}
