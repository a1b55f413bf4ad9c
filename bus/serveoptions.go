package bus

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
)

// ServeOption configures a service as a whole, in [Serve]; [Method] narrows it down to one method.
type ServeOption interface{ applyToService(*serviceConfig) }

// SubscribeOption configures the handlers of events, in [Subscribe].
type SubscribeOption interface{ applyToSubscription(*serviceConfig) }

// ServiceOption may be used in [Serve] and in [Subscribe].
type ServiceOption interface {
	ServeOption
	SubscribeOption
}

// MethodOption configures one method, inside [Method].
type MethodOption interface{ applyToMethod(*methodConfig) }

// HandleOption configures an http.Handler, in [Conn.Handle].
type HandleOption interface{ applyToEndpoint(*endpointConfig) }

// EndpointOption may be used in [Serve], [Method] and [Conn.Handle]; in Serve it applies to all methods for which Method does not
// say otherwise.
type EndpointOption interface {
	ServeOption
	MethodOption
	HandleOption
}

// HandlerOption may be used wherever an EndpointOption may, and in [Subscribe].
type HandlerOption interface {
	EndpointOption
	SubscribeOption
}

// DescriptionOption may be used in [Method] and [Conn.Handle], not in [Serve]: one text does not fit all methods.
type DescriptionOption interface {
	MethodOption
	HandleOption
}

// serviceConfig is what the options of Serve set.
type serviceConfig struct {
	describe  []reflectapi.Option
	resource  string
	postOnly  bool
	strict    bool
	endpoints endpointConfig
	methods   map[string][]MethodOption
	durable   *durable // of Subscribe: how stored events are had; nil: they are not
	err       error    // what is wrong with the options themselves
}

// methodConfig is what the options of one method set.
type methodConfig struct {
	restmap.MethodOptions
	endpointConfig
}

func newServiceConfig(options []ServeOption) *serviceConfig {
	config := &serviceConfig{endpoints: newEndpointConfig(), methods: make(map[string][]MethodOption)}
	apply(config, options, ServeOption.applyToService)
	return config
}

// apply applies the options of Serve or Subscribe.
func apply[Option any](s *serviceConfig, options []Option, applyTo func(Option, *serviceConfig)) {
	for i, option := range options {
		if any(option) == nil {
			s.err = cmp.Or(s.err, noOption(i))
			continue
		}
		applyTo(option, s)
	}
	s.err = cmp.Or(s.err, s.endpoints.err)
}

// noOption is the error for an option that is nil. It is unknown what it was to be, and it may have been RequireClaims.
func noOption(place int) error { return fmt.Errorf("option %d is nil: leave it out", place+1) }

// method returns the configuration of one method: that of the service, then its own.
func (s *serviceConfig) method(name string) methodConfig {
	config := methodConfig{endpointConfig: s.endpoints}
	config.judged = false // what is said of a method replaces what is said of all
	for _, option := range s.methods[name] {
		option.applyToMethod(&config)
	}
	return config
}

// routing returns what restmap needs to know of the options.
func (s *serviceConfig) routing() restmap.Options {
	options := restmap.Options{Resource: s.resource, PostOnly: s.postOnly, Strict: s.strict, Methods: make(map[string]restmap.MethodOptions, len(s.methods))}
	for name := range s.methods {
		options.Methods[name] = s.method(name).MethodOptions
	}
	return options
}

type serveOption func(*serviceConfig)

func (o serveOption) applyToService(c *serviceConfig) { o(c) }

type subscribeOption func(*serviceConfig)

func (o subscribeOption) applyToSubscription(c *serviceConfig) { o(c) }

type serviceOption func(*serviceConfig)

func (o serviceOption) applyToService(c *serviceConfig)      { o(c) }
func (o serviceOption) applyToSubscription(c *serviceConfig) { o(c) }

// Resource names the collection of a REST service whose methods are bare verbs: Resource("products") serves
// Create as POST /products. Default: from the type's name.
func Resource(collection string) ServeOption {
	return serveOption(func(c *serviceConfig) { c.resource = collection })
}

// PostOnly serves functions in RPC style under POST alone, so that nothing changes because a person follows a link or a
// browser loads a page in advance. Those that only read may be opened again, each with [HTTPMethod]. It does not apply to REST
// and web endpoints. Default: GET and POST.
func PostOnly() ServeOption {
	return serveOption(func(c *serviceConfig) { c.postOnly = true })
}

// DisallowUnknownFields has functions refuse requests that name what they do not read, in a query, a form or at any depth of a JSON body, with
// 400 and the name: a misspelled argument is not taken for one that is missing. Then callers cannot send an argument that
// their callee does not know yet, so update services before their callers. Calls within the process pass as text. It does
// not apply to web endpoints, nor to events. Default: it is ignored.
func DisallowUnknownFields() ServeOption {
	return serveOption(func(c *serviceConfig) { c.strict = true })
}

// ParamNames gives the names of a method's arguments and results, in order and separated by commas, without the context and
// the error: ParamNames("Add", "x, y", "sum"). Default: from the source or the executable.
func ParamNames(method, arguments, results string) ServiceOption {
	return describeOption(reflectapi.Names(method, arguments, results))
}

// SourceFS passes the source of the service, from which names and doc comments are read. It works in every build:
//
//	//go:embed *.go
//	var source embed.FS
//
// Default: the source on disk, else the executable's debug data.
func SourceFS(files fs.FS) ServiceOption { return describeOption(reflectapi.Source(files)) }

// ExcludeMethods leaves methods out, by their Go names: they are not served.
func ExcludeMethods(methods ...string) ServiceOption {
	return describeOption(reflectapi.Without(methods...))
}

func describeOption(option reflectapi.Option) ServiceOption {
	return serviceOption(func(c *serviceConfig) { c.describe = append(c.describe, option) })
}

// Method sets options of one method, by its Go name.
func Method(name string, options ...MethodOption) ServiceOption {
	return serviceOption(func(c *serviceConfig) {
		if i := slices.Index(options, nil); i >= 0 {
			c.err = cmp.Or(c.err, fmt.Errorf("bus.Method(%q): %w", name, noOption(i)))
			return
		}
		c.methods[name] = append(c.methods[name], options...)
	})
}

type methodOption func(*methodConfig)

func (o methodOption) applyToMethod(c *methodConfig) { o(c) }

// Path sets the path of a method, "/objects/{id}"; {name} stands for an argument, {name+} at the end for the
// rest of the path. With [RPCAndREST] it is that of the REST route alone. Generated clients do not know it, and call the default: the
// interface that they are generated from declares a path in the comment of the method, //busline:route POST /orders/{id}/cancel.
// Default: from the method's name, or what its interface declares.
func Path(path string) MethodOption {
	return methodOption(func(c *methodConfig) { c.MethodOptions.Path = path })
}

// HTTPMethod sets the only HTTP method under which a method is served, "PUT", or "*" for any. With [RPCAndREST] it is that of
// the REST route alone. Generated clients do not know it, and use the default. Default: GET and POST for RPC, that of the
// verb for REST, any for web endpoints.
func HTTPMethod(method string) MethodOption {
	return methodOption(func(c *methodConfig) { c.MethodOptions.HTTPMethod = method })
}

// RPCAndREST serves a method both as RPC and as REST. [Path] and [HTTPMethod] then apply to the REST route alone. Default: one
// of them.
func RPCAndREST() MethodOption {
	return methodOption(func(c *methodConfig) { c.MethodOptions.Both = true })
}

type endpointOption func(*endpointConfig)

func (o endpointOption) applyToService(c *serviceConfig)   { o(&c.endpoints) }
func (o endpointOption) applyToMethod(c *methodConfig)     { o(&c.endpointConfig) }
func (o endpointOption) applyToEndpoint(c *endpointConfig) { o(c) }

type handlerOption struct{ endpointOption }

func (o handlerOption) applyToSubscription(c *serviceConfig) { o.applyToService(c) }

// Port sets the port, 1 to 65535. By convention 443 is public, 444 internal; 417, of events, and 888, the framework's
// own, are refused. Generated clients learn it from -host of apigen, or from ForHost. Default: 443.
func Port(port int) EndpointOption {
	return endpointOption(func(c *endpointConfig) { c.port = port })
}

// NoQueue makes every instance answer each request, instead of one of them. Default: one.
func NoQueue() HandlerOption {
	return handlerOption{func(c *endpointConfig) { c.queue = false }}
}

// RequireClaims requires a token whose claims satisfy an expression, RequireClaims(`"hr" in roles && level >= 3`); see bus/claims for
// the language. Without a token the answer is 401, with insufficient claims 403, and documents show the endpoints only
// to those who may call them. A claim that is absent makes a comparison false. Default: no token is required.
//
// In [Method] it replaces that of [Serve]. An empty expression is an error: see [AllowAnonymous]. So is a second one in the
// same place: join both expressions with "and".
func RequireClaims(expression string) HandlerOption {
	return handlerOption{func(c *endpointConfig) { c.judge(true, expression) }}
}

// AllowAnonymous requires no token; use it in [Method] where [Serve] has RequireClaims. Beside RequireClaims it is an error. Default: no token is required.
func AllowAnonymous() HandlerOption {
	return handlerOption{func(c *endpointConfig) { c.judge(false, "") }}
}

// Undocumented leaves endpoints out of the documents. They can still be called. Default: shown.
func Undocumented() EndpointOption {
	return endpointOption(func(c *endpointConfig) { c.hidden = true })
}

// Intercept wraps what is served in interceptors, inside those of the connection, and in [Method] inside those of
// [Serve]; the first one is the outermost. Default: none. See [Interceptor].
func Intercept(interceptors ...Interceptor) HandlerOption {
	return handlerOption{func(c *endpointConfig) {
		c.interceptors = append(slices.Clip(c.interceptors), interceptors...)
	}}
}

// TimeBudget sets when the context of a handler ends at the latest, whatever its caller allows. A handler that ignores
// its context is not cut off, and its answer is sent when it returns, unless the time that the caller allows has ended
// before: that ends the call for the caller, whatever the handler does. An http.Handler has to announce a Content-Length
// for that: without it the answer may be half of one, and is 504. 0 stands for the default. Default: what the caller
// allows, 20 s unless it says otherwise.
func TimeBudget(longest time.Duration) HandlerOption {
	return handlerOption{func(c *endpointConfig) { c.timeBudget = longest }}
}

// MaxBodyBytes sets the largest request body in bytes; a larger one is answered 413. A limit above that of
// [WithMaxMessageBytes] has no effect, and 0 stands for the default. Default: 4 MiB for functions, 32 MiB for web endpoints
// and http.Handlers.
func MaxBodyBytes(bytes int) HandlerOption {
	return handlerOption{func(c *endpointConfig) { c.bodyLimit = bytes }}
}

type descriptionOption string

func (o descriptionOption) applyToMethod(c *methodConfig)     { c.description = string(o) }
func (o descriptionOption) applyToEndpoint(c *endpointConfig) { c.description = string(o) }

// Description describes an endpoint in the documents. Default: the method's doc comment.
func Description(text string) DescriptionOption { return descriptionOption(text) }
