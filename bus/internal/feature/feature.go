// Package feature is the bridge between package bus and the packages above it that extend a connection, such as
// bus/events. It has what these need and a program does not.
//
// An extension knows the bus by [Bus], which package bus sets. A connection knows its extensions by [Extension].
package feature

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
	"github.com/busline/busline/restmap/openapi31"
)

// Bus is package bus, which sets it.
//
//nolint:gochecknoglobals // bus cannot be imported from below, and would show what is not for programs if it exported it
var Bus Framework

// Framework is what an extension needs of package bus without a connection.
type Framework interface {
	// Conn returns a connection, a *bus.Conn that is not nil.
	Conn(conn any) Conn
	// Handlers returns the configuration of handlers that serve on a port.
	Handlers(port int) Handlers
	// Error returns an error as a *bus.Error; nil for nil.
	Error(err error) error
	// Unsent is Error for a request that was not sent. err is not nil.
	Unsent(err error) error
	// NoConnection is the error for a request to an address over a nil connection.
	NoConnection(address string) error
	// Check returns an error for endpoints that a host cannot serve. It compiles their claims.
	Check(host string, endpoints []Endpoint) error
	// OpenAPI returns the document of endpoints, for their authors.
	OpenAPI(service openapi.Service, endpoints []Endpoint) ([]byte, error)
	// Twin returns a second attempt at a call that a connection makes. exchange is its *bus.Exchange, and its request is
	// no stream. Call Twin before the first attempt, and Settle or Release after it.
	Twin(ctx context.Context, exchange any) Twin
	// Recording returns a bus.ConnectOption. Each connection calls newRecorder for a recorder of its own; of several
	// options the last one counts. Connect returns the error.
	Recording(newRecorder func() (Recorder, error)) any
}

// Recorder sees each call that a connection makes or serves, except those to port 888. It keeps no reference to an
// exchange, which is a *bus.Exchange, so that the memory of a call is used again. It is safe for concurrent use.
type Recorder interface {
	// Open is called once the connection, a *bus.Conn, is ready. After an error Connect fails.
	Open(ctx context.Context, conn any) error
	// Begin is called before a call passes the interceptors, inside of those of bus.WithObservers. It may add to the
	// header of the request.
	Begin(ctx context.Context, exchange any)
	// NameTrace is called before a further attempt at a call. It adds the id of the trace to the header of the request.
	NameTrace(exchange any)
	// End is called when the call has ended.
	End(ctx context.Context, exchange any, call Ended)
}

// Ended is how a call has ended.
type Ended struct {
	Err      error // that the interceptors have returned
	Status   int
	Began    time.Time
	Took     time.Duration
	Attempts int   // how often the call was sent; 0 on the server side
	Streamed int64 // bytes of a stream that the server side has sent
}

// Twin is a second attempt at a unicast call, which may run beside the first.
type Twin interface {
	// Exchange returns the *bus.Exchange of this attempt.
	Exchange() any
	// Deadline returns when the time of the call ends.
	Deadline() time.Time
	// Takers returns the ids of the instances that have acked the first attempt, while it runs.
	Takers() []string
	// Address makes an instance of the host the target. Call it before this attempt. After an error nothing can be sent.
	Address(id string) error
	// Settle gives the call the outcome of one of both attempts, which have ended, and returns the error of the call.
	Settle(first, second error, isSecond bool) error
	// Release frees a twin that was not sent.
	Release()
}

// Conn is a connection as its extensions use it. It is safe for concurrent use.
type Conn interface {
	// Extension returns the extension of a name, which open makes when the connection is first asked for it.
	Extension(name string, open func() Extension) Extension

	// Base is the context of all handlers. It ends when Close gives up on them.
	Base() context.Context
	// IsClosing reports whether Close was called.
	IsClosing() bool
	// IsStrict reports whether the connection is that of a test, where what is not known is refused.
	IsStrict() bool
	// VerifiesTokens reports whether the connection has keys for the tokens of its callers.
	VerifiesTokens() bool
	// Shared is where the connections of a test's bus keep what they know of each other. It is not nil if IsStrict.
	Shared() *sync.Map
	// Description is that of the service; "" for none.
	Description() string

	Broker() *natsconn.Conn
	Client() *client.Client
	Server() *server.Server

	// Log writes a line soon, on another goroutine.
	Log(line *zerolog.Event, message string)
	// LimitedLine begins a line that others can cause as often as they like: nil, which takes all fields, if many of that
	// reason were written a moment ago.
	LimitedLine(level zerolog.Level, reason string) *zerolog.Event
	// Drop counts and logs a message that is not answered.
	Drop(subject string, why error)
	// Failure returns the error that a response of status 400 or above has, with the same text as a *bus.Error.
	Failure(response *wire.Response) *status.Error

	// Destination prepares requests to an address, "POST https://orders.example:417/on-ordered", with arguments of a type,
	// nil for none.
	Destination(address string, arguments reflect.Type) (Destination, error)
	// FindDestination is Destination for an address that a program may make up at any time.
	FindDestination(address string, arguments reflect.Type) (Destination, error)
	// OneWay sends a request that nobody answers: through the interceptors, whose last one calls send.
	OneWay(ctx context.Context, request Request, send func(context.Context) error) error
	// NoteCallee notes that the connection may call an address, for its permissions.
	NoteCallee(address subject.Address)

	// Registering calls register while nothing else is registered, unless the connection is closing. The context ends
	// after the time that a registration may wait for the broker.
	Registering(register func(ctx context.Context) error) error
	// Install makes endpoints live, all or none. They are reached by the subscriptions; nil stands for those of their
	// routes. then, if it is not nil, runs at the end, and takes them back if it fails. Call it while registering.
	Install(ctx context.Context, into *server.Router, endpoints []Endpoint, subscriptions []*natsconn.Subscription,
		then func() error) error
	// InstallControls serves endpoints of the framework. Call it while registering.
	InstallControls(ctx context.Context, controls []Control) error
	// Listen subscribes to a subject, beside all endpoints, until stop is called.
	Listen(ctx context.Context, subscription *natsconn.Subscription) (stop func(), err error)
	// Announce greets the other instances: what the instance serves has changed.
	Announce(ctx context.Context)

	// NoteRule notes that an endpoint may require claims, and warns if no caller can have any.
	NoteRule(endpoint Endpoint)
	// TokenMissing returns an error for a request without a token that an endpoint requires.
	TokenMissing(request *wire.Request, endpoint Endpoint) error
	// Forbidden is the error for claims that do not give access.
	Forbidden() error
}

// Extension is what a connection tells its extension, and asks it. It is safe for concurrent use.
type Extension interface {
	// Permissions returns what the user of the connection needs for the extension.
	Permissions() (publish, subscribe []natsconn.Permission)
	// Events returns the events that the connection publishes, and a caller with these claims may see; nil for none.
	Events(verified claims.Claims) (*openapi31.Events, error)
	// Expose writes the metrics of the extension. with adds the labels of the connection.
	Expose(text *metrics.Text, with func(...metrics.Label) []metrics.Label)
	// Notes has a sentence for each thing that operators should know.
	Notes() []string
	// Greeted is called when an instance has come, this one included, or leaves.
	Greeted(host, id string, stays bool)
	// Reconnected is called after an outage of the broker.
	Reconnected()
	// SetReady is called when the instance is not ready any more for what is balanced over instances, or is again.
	SetReady(ready bool)
	// Close is called when the handlers have returned, or the time of Close is up.
	Close()
}

// Handlers is the configuration of handlers, by the options of package bus.
type Handlers interface {
	// Describe finds the methods of impl, or only those of the interface as. It returns an error for an invalid option.
	Describe(as reflect.Type, impl any) (*reflectapi.Service, error)
	// Settings returns what applies to all methods, and to each that has options of its own.
	Settings() []Settings
	// Routes returns the options of all methods for their routes.
	Routes() restmap.Options
	// Endpoints returns the endpoints of mapped methods, which serve what source sends.
	Endpoints(source string, mapped []*restmap.Endpoint, service *reflectapi.Service) []Endpoint
	// Rule returns an endpoint that only has the claims, and is not served.
	Rule() (Endpoint, error)
	// SetStrict refuses what is not known.
	SetStrict(strict bool)
}

// Settings are those of one method, or of all.
type Settings struct {
	Port    int
	Queue   bool // one instance gets a request, not each
	Secured bool // it requires claims
	Limited bool // it requires callers
}

// Endpoint is one endpoint of package bus.
type Endpoint interface {
	// Routed is what the server knows of it.
	Routed() *server.Endpoint
	// Mapped is what it was made of.
	Mapped() *restmap.Endpoint
	// Claims is the expression that it requires claims to satisfy; "" for none.
	Claims() string
	// Allows reports whether a caller with these claims may call the endpoint, and see it in documents.
	Allows(verified claims.Claims) bool
	// Guard has check refuse requests before they are handled.
	Guard(check func(*server.Incoming) error)
}

// Control is an endpoint of the framework, on port 888.
type Control struct {
	Method, Path string
	NoQueue      bool // every instance gets a request, not one
	OnAll        bool // it is reached on the host "all" and on one instance, and not on the host
	Serve        func(w http.ResponseWriter, r *http.Request) error
}

// Destination encodes arguments to requests to one address. It is safe for concurrent use.
type Destination interface {
	// Request returns a request with arguments of the type of the destination.
	Request(arguments any) (Request, error)
	// WithBody returns a request with a JSON body. The address must have no parameters.
	WithBody(body []byte) Request
}

// Request is a request that is not sent yet.
type Request interface {
	// Outgoing is what the client sends.
	Outgoing() *client.Outgoing
}

// InterfaceOf returns T if it is an interface, whose methods are to be served; nil stands for all methods of the value.
func InterfaceOf[T any]() reflect.Type {
	if t := reflect.TypeFor[T](); t.Kind() == reflect.Interface && t.NumMethod() > 0 {
		return t
	}
	return nil
}

// NoOption returns the error for a nil option. A nil option is not skipped, because it may have been meant as
// bus.RequireClaims.
func NoOption(place int) error { return fmt.Errorf("option %d is nil: leave it out", place+1) }

// Paths on port 888 whose callers may have a token.
const (
	AsyncAPIPath = "/asyncapi.json"
	PublishPath  = "/publish/"
	TracePath    = "/trace"
)

// SubscribeOption is an option for handlers of events. Those of package bus set the configuration, those of an
// extension what the extension knows of.
type SubscribeOption interface{ ApplyToHandlers(config Handlers) }

// PublishOption is the same for events that are published.
type PublishOption interface{ ApplyToPublisher(config Handlers) }
