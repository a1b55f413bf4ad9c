package bus

import (
	"context"
	"errors"
	"net"
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

// InProcessBroker is a broker in this process, such as *broker.Broker of bus/broker or a nats-server. It may be a
// [QuietBroker], too.
type InProcessBroker interface {
	InProcessConn() (net.Conn, error)
}

// QuietBroker is an [InProcessBroker] that can tell when no message is on its way, as one in a testing/synctest bubble
// can: see bustest.Virtual. [Conn.Close] then waits for such a moment to unsubscribe, instead of draining: to drain,
// nats.go uses timers that it shares with the whole process, and a timer must not leave its bubble.
type QuietBroker interface {
	InProcessBroker
	// AwaitQuiet returns nil at a moment at which no message is on its way to or from any client, and none leaves
	// before the goroutine that called it waits for something. The error says why there was no such moment while ctx
	// lasted.
	AwaitQuiet(ctx context.Context) error
}

// WithURL sets the address of the broker, or several addresses separated by commas. An empty one stands for the default;
// another one beside [WithBroker] or [WithNATS] is an error of Connect. Default: BUS_NATS_URL, else nats://127.0.0.1:4222.
func WithURL(url string) ConnectOption {
	return func(c *connectConfig) {
		if url != "" {
			c.linkConfig.url, c.urlGiven = url, true
		}
	}
}

// WithBroker connects to a broker in this process, without a socket and without a login: use [WithURL] or [WithNATS] for a broker
// that has users. BUS_NATS_URL does not count then, and one of these beside it is an error of Connect. Default: none.
func WithBroker(broker InProcessBroker) ConnectOption {
	return func(c *connectConfig) {
		value := reflect.ValueOf(broker)
		if broker == nil || !value.Type().Comparable() || value.Kind() == reflect.Pointer && value.IsNil() {
			c.faults = append(c.faults, errors.New("bus.WithBroker: pass a pointer to a broker, such as the one that broker.Start returns"))
			return
		}
		yielding, isYielding := broker.(testbroker.Yielding)
		if isYielding {
			broker = yielding.Broker
		}
		c.linkConfig.provider, c.testBroker = broker, isYielding
	}
}

// WithNATS uses a broker connection that the application already has. Its callbacks and settings are left as
// they are, and it is never closed. Its reconnect buffer should be off (nats.ReconnectBufSize(-1)), or requests
// made during an outage may be delivered late. BUS_NATS_URL does not count then, and [WithURL] or [WithBroker] beside it is
// an error of Connect. Default: a connection of our own.
func WithNATS(connection *nats.Conn) ConnectOption {
	return func(c *connectConfig) {
		if connection == nil {
			c.faults = append(c.faults, errors.New("bus.WithNATS: the connection is nil"))
		}
		c.linkConfig.nats = connection
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
	return func(c *connectConfig) { c.linkConfig.unbatched = true }
}

// WithoutServiceProtocol keeps the connection from answering the service protocol of NATS ($SRV.PING, $SRV.INFO,
// $SRV.STATS), so that "nats micro ls" does not show it. Default: a connection that serves something answers, if the
// broker's permissions allow it; see docs/nats.md.
func WithoutServiceProtocol() ConnectOption {
	return func(c *connectConfig) { c.unlisted = true }
}

// WithConnectTimeout sets how long Connect tries to reach the broker, which may be started later. With 0 it tries once, for programs
// that people wait for: where nobody listens it fails at once. Default: 5 s.
func WithConnectTimeout(timeout time.Duration) ConnectOption {
	return func(c *connectConfig) { c.linkConfig.connectTimeout = timeout }
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

// WithShortCircuit says whether a call to an instance in the same process stays in the process. Default: yes,
// unless BUS_SHORT_CIRCUIT is 0.
func WithShortCircuit(on bool) ConnectOption {
	return func(c *connectConfig) { c.shortCircuit, c.circuitFault = on, nil }
}

// WithShortCircuitCheck compares, in tests, calls that stay in the process with what the broker would have carried.
// Every such call of this connection is also written as text and read again, and report is called with each difference:
// an error that names the call, the part (request, ack or response), and both values. The handler runs once, and the
// call itself is not affected. report is called before the call returns, from any goroutine, possibly from several at
// once. Default: no comparison.
func WithShortCircuitCheck(report func(difference error)) ConnectOption {
	return func(c *connectConfig) { c.checkCircuit = report }
}

// WithVerifier sets the verifier of tokens. The caller closes it, after the connection. nil stands for the default, and
// new(claims.Verifier) for none: a connection that serves nothing needs no keys, whatever BUS_JWKS says.
// Default: one of the connection's own if BUS_JWKS names a key set, with BUS_JWT_ISSUER and BUS_JWT_AUDIENCE; else
// none, and no token is accepted.
func WithVerifier(verifier *claims.Verifier) ConnectOption {
	return func(c *connectConfig) { c.verifier = verifier }
}

// WithHandlerLimit sets how many handlers run at once; further requests are answered 503. Default: 10 000.
func WithHandlerLimit(limit int) ConnectOption {
	return func(c *connectConfig) { c.handlerLimit = limit }
}

// WithMessageLimit sets the largest body in bytes, of a request or a response, that the connection sends or accepts,
// from 64 KiB to 512 MiB; a larger one is answered 413, or 500 if it is the response of a service of this connection. A
// body that exceeds the broker's own limit travels in parts.
// Default: 32 MiB.
//
// Of messages that come in parts a connection keeps at most 16 times as much, and 8 times as much of the requests of
// one sender; beyond that the answer is 503. How much of the limit an endpoint accepts is up to [BodyLimit].
func WithMessageLimit(bytes int) ConnectOption {
	return func(c *connectConfig) { c.messageLimit = bytes }
}

// WithAckWait sets how long a call waits for an ack, a multicast for the first one, before it concludes that no server
// is available. It matters where the broker cannot tell at once that nobody is there. A multicast waits at least 250 ms.
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
// is the document, GET /openapi.json; whoever refuses that hides the service from the portal. [Intercept] is for what is
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
