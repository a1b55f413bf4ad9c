package bus

import (
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/internal/testbroker"
)

// ConnectOption configures a connection. Connection options start with With; what describes a service or an
// endpoint is a plain noun (see [ServeOption]). An option wins over the environment.
type ConnectOption func(*connectConfig)

// WithURL sets the address of the broker, or several addresses separated by commas. An empty one stands for the default;
// another one beside [WithBroker] or [WithNATS] is an error of Connect. Default: BUS_NATS_URL, else nats://127.0.0.1:4222.
func WithURL(url string) ConnectOption {
	return func(c *connectConfig) {
		if url != "" {
			c.broker.URL, c.urlGiven = url, true
		}
	}
}

// WithBroker connects to a broker in this process, such as *broker.Broker of bus/broker or a nats-server, without a socket and without a login: use [WithURL] or [WithNATS] for a broker
// that has users. BUS_NATS_URL does not count then, and one of these beside it is an error of Connect. Default: none.
func WithBroker(broker nats.InProcessConnProvider) ConnectOption {
	return func(c *connectConfig) {
		ofTest, isOfTest := broker.(testbroker.Broker)
		if isOfTest {
			broker, c.checkCircuit = ofTest.InProcessConnProvider, ofTest.ReportDifference
		}
		value := reflect.ValueOf(broker)
		if broker == nil || !value.Type().Comparable() || value.Kind() == reflect.Pointer && value.IsNil() {
			c.errs = append(c.errs, errors.New("bus.WithBroker: pass a pointer to a broker, such as the one that broker.Start returns"))
			return
		}
		c.broker.Provider, c.testBroker = broker, isOfTest
	}
}

// WithNATS uses a broker connection that the application already has. Its callbacks and settings are left as
// they are, and it is never closed. Its reconnect buffer should be off (nats.ReconnectBufSize(-1)), or requests
// made during an outage may be delivered late. BUS_NATS_URL does not count then, and [WithURL] or [WithBroker] beside it is
// an error of Connect. Default: a connection of our own.
func WithNATS(connection *nats.Conn) ConnectOption {
	return func(c *connectConfig) {
		if connection == nil {
			c.errs = append(c.errs, errors.New("bus.WithNATS: the connection is nil"))
		}
		c.broker.NATS = connection
	}
}

// WithoutSharing gives the connection a broker connection of its own, and no short circuit to others. Default: the
// connections of a process that use the same broker as the same user share one.
func WithoutSharing() ConnectOption {
	return func(c *connectConfig) { c.ownLink = true }
}

// WithoutBatching writes each message to the broker connection as soon as the broker client does. Default: messages
// that several goroutines send at about the same time leave in one write; a message sent alone is not delayed by it.
func WithoutBatching() ConnectOption {
	return func(c *connectConfig) { c.broker.Unbatched = true }
}

// WithoutServiceProtocol keeps the connection from answering the service protocol of NATS ($SRV.PING, $SRV.INFO,
// $SRV.STATS), so that "nats micro ls" does not show it. Default: a connection that serves something answers, if the
// broker's permissions allow it; see docs/nats.md.
func WithoutServiceProtocol() ConnectOption {
	return func(c *connectConfig) { c.unlisted = true }
}

// WithConnectTimeout sets how long Connect tries to reach the broker, which may be started later. With 0 it tries once, for programs
// that people wait for: where no broker listens it fails at once. Default: 5 s.
func WithConnectTimeout(timeout time.Duration) ConnectOption {
	return func(c *connectConfig) { c.broker.ConnectTimeout = timeout }
}

// WithPlane sets the communication plane, [A-Za-z0-9_-]+. Services on different planes never meet. Default:
// BUS_PLANE, else "bus".
func WithPlane(plane string) ConnectOption {
	return func(c *connectConfig) { c.plane = plane }
}

// WithVersion sets the service's version, shown in its documents. Default: "", which is 0 in documents.
func WithVersion(version string) ConnectOption {
	return func(c *connectConfig) { c.version = version }
}

// WithDescription describes the service in its documents. Default: the doc comments of the types it serves.
func WithDescription(description string) ConnectOption {
	return func(c *connectConfig) { c.description = description }
}

// WithBaseURL sets the address under which people reach the ingress, shown in documents. Default: BUS_BASE_URL, else
// the address under which the ingress was reached, else, for requests made on the bus itself, http://127.0.0.1:8080.
func WithBaseURL(url string) ConnectOption {
	return func(c *connectConfig) { c.baseURL = strings.TrimSuffix(url, "/") }
}

// WithoutShortCircuit makes every call travel over the broker, also to an instance in the same process. Default: such a call stays
// in the process, unless BUS_SHORT_CIRCUIT is 0.
func WithoutShortCircuit() ConnectOption {
	return func(c *connectConfig) { c.shortCircuit, c.circuitFault = false, nil }
}

// WithVerifier sets the verifier of tokens. The caller closes it, after the connection. nil stands for the default, and
// new(claims.Verifier) for none: a connection that serves nothing needs no keys, whatever BUS_JWKS says.
// Default: one of the connection's own if BUS_JWKS names a key set, with BUS_JWT_ISSUER and BUS_JWT_AUDIENCE; else
// none, and no token is accepted.
func WithVerifier(verifier *claims.Verifier) ConnectOption {
	return func(c *connectConfig) { c.verifier = verifier }
}

// WithMaxHandlers sets how many handlers run at once; further requests are answered 503. Default: 10 000.
func WithMaxHandlers(limit int) ConnectOption {
	return func(c *connectConfig) { c.handlerLimit = limit }
}

// WithMaxMessageBytes sets the largest body in bytes, of a request or a response, that the connection sends or accepts,
// from 64 KiB to 512 MiB; a larger one is answered 413, or 500 if it is the response of a service of this connection. A
// body that exceeds the broker's own limit travels in parts.
// Default: 32 MiB.
//
// Of messages that come in parts a connection keeps at most 16 times as much, and 8 times as much of the requests of
// one sender; beyond that the answer is 503. How much of the limit an endpoint accepts is up to [MaxBodyBytes].
func WithMaxMessageBytes(bytes int) ConnectOption {
	return func(c *connectConfig) { c.messageLimit = bytes }
}

// WithAckWait sets how long a call waits for an ack, a multicast for the first one, before it concludes that no server
// is available. It matters where the broker cannot tell at once that no instance is there. A multicast waits at least 250 ms.
// Default: 1 s.
func WithAckWait(wait time.Duration) ConnectOption {
	return func(c *connectConfig) { c.ackWait = wait }
}

// WithLogger sets the logger; the fields host and id are added to it. Default: one that writes to standard error, at
// BUS_LOG_LEVEL (info), as JSON or, on a terminal or with BUS_LOG_FORMAT=console, as text. See [WithSlog] for one of
// log/slog.
func WithLogger(logger zerolog.Logger) ConnectOption {
	return func(c *connectConfig) { c.logger, c.slog = &logger, nil }
}

// WithInterceptors wraps all calls in interceptors, those that the connection makes as well as those that it serves, the
// first one outermost; several of these options add up. The Side of an [Exchange] tells which it is. Among what is served
// is the document, GET /openapi.json; an interceptor that refuses it hides the service from the portal. [Intercept] is for what is
// served alone. Default: none. See [Interceptor].
func WithInterceptors(interceptors ...Interceptor) ConnectOption {
	return func(c *connectConfig) { c.interceptors = append(c.interceptors, interceptors...) }
}

// WithBodies lets interceptors see the bodies of all requests and responses. Default: those of a call that stays in the
// process may be passed as Go values, which is faster, and are not seen.
func WithBodies() ConnectOption {
	return func(c *connectConfig) { c.bodies = true }
}

// WithTracerProvider sets where spans of calls go (OpenTelemetry). Default: to the provider of the process,
// otel.GetTracerProvider, if one was set before Connect; else there are no spans, and the headers traceparent,
// tracestate and baggage travel along the chain of calls unchanged.
func WithTracerProvider(provider trace.TracerProvider) ConnectOption {
	return func(c *connectConfig) { c.tracerProvider = provider }
}

// WithMeterProvider sets where the metrics http.server.request.duration and http.client.request.duration go
// (OpenTelemetry). Default: to the provider of the process, otel.GetMeterProvider, if one was set before Connect. GET
// :888/metrics does not depend on it.
func WithMeterProvider(provider metric.MeterProvider) ConnectOption {
	return func(c *connectConfig) { c.meterProvider = provider }
}
