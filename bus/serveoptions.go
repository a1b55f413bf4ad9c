package bus

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

// ServeOption configures a service as a whole, in [Serve]. Each [ServiceOption], [EndpointOption], [HandlerOption] and
// [ClaimsOption] is one, too. [Method] limits options to one method.
type ServeOption interface{ applyToService(*serviceConfig) }

// ServiceOption may be used in [Serve], and in Subscribe of bus/events.
type ServiceOption interface {
	ServeOption
	feature.SubscribeOption
}

// MethodOption configures one method, inside [Method].
type MethodOption interface{ applyToMethod(*methodConfig) }

// HandleOption configures an http.Handler, in [Conn.Handle]: an [EndpointOption], [HandlerOption], [ClaimsOption] or
// [DescriptionOption].
type HandleOption interface{ applyToEndpoint(*endpointConfig) }

// EndpointOption may be used in [Serve], [Method] and [Conn.Handle]. In Serve it applies to all methods; an option in
// Method overrides it.
type EndpointOption interface {
	ServeOption
	MethodOption
	HandleOption
}

// HandlerOption may be used wherever an EndpointOption may, and in Subscribe of bus/events.
type HandlerOption interface {
	EndpointOption
	feature.SubscribeOption
}

// ClaimsOption may be used wherever a HandlerOption may, and in NewPublisher of bus/events.
type ClaimsOption interface {
	HandlerOption
	feature.PublishOption
}

// DescriptionOption may be used in [Method] and [Conn.Handle]. It may not be used in [Serve]: one text does not fit all
// methods.
type DescriptionOption interface {
	MethodOption
	HandleOption
}

// serviceConfig holds what the options of Serve set, and those for handlers of events.
type serviceConfig struct {
	describe  []reflectapi.Option
	resource  string
	postOnly  bool
	strict    bool
	endpoints endpointConfig
	methods   map[string][]MethodOption
	err       error // the first invalid option
}

// methodConfig holds what the options of one method set.
type methodConfig struct {
	restmap.MethodOptions
	endpointConfig
}

func newServiceConfig(options []ServeOption) *serviceConfig {
	config := &serviceConfig{endpoints: newEndpointConfig(), methods: make(map[string][]MethodOption)}
	for i, option := range options {
		if option == nil {
			config.err = cmp.Or(config.err, feature.NoOption(i))
			continue
		}
		option.applyToService(config)
	}
	config.err = cmp.Or(config.err, config.endpoints.err)
	return config
}

// method returns the configuration of one method: the options of the service, then those of the method.
func (s *serviceConfig) method(name string) methodConfig {
	config := methodConfig{endpointConfig: s.endpoints}
	config.judged, config.limited = false, false // the access rule of a method replaces that of the service
	for _, option := range s.methods[name] {
		option.applyToMethod(&config)
	}
	return config
}

// routing returns the options that restmap needs.
func (s *serviceConfig) routing() restmap.Options {
	options := restmap.Options{Resource: s.resource, PostOnly: s.postOnly, Strict: s.strict,
		Methods: make(map[string]restmap.MethodOptions, len(s.methods))}
	for name := range s.methods {
		options.Methods[name] = s.method(name).MethodOptions
	}
	return options
}

type serveOption func(*serviceConfig)

func (o serveOption) applyToService(c *serviceConfig) { o(c) }

type serviceOption func(*serviceConfig)

func (o serviceOption) applyToService(c *serviceConfig)         { o(c) }
func (o serviceOption) ApplyToHandlers(config feature.Handlers) { o(serviceConfigOf(config)) }

// Resource names the collection of a REST service whose methods are bare verbs: Resource("products") serves Create as
// POST /products. Where generated clients call the service, declare it in the comment of their interface instead:
// //busline:resource products. Default: derived from the type's name.
func Resource(collection string) ServeOption {
	return serveOption(func(c *serviceConfig) { c.resource = collection })
}

// PostOnly serves RPC functions only under POST, so that following or prefetching a link changes nothing. [HTTPMethod]
// opens a method that only reads to GET again. PostOnly does not apply to REST and web endpoints. Default: GET and
// POST.
func PostOnly() ServeOption {
	return serveOption(func(c *serviceConfig) { c.postOnly = true })
}

// DisallowUnknownFields rejects requests to functions with unknown fields, in a query, a form or at any depth of JSON.
// The answer is 400 and names the field. So a misspelled argument is not taken for a missing one. Callers then cannot
// send an argument that their callee does not know yet: update services before their callers. The option does not apply
// to web endpoints, nor to events outside of bustest. An ignored field that resembles a known one is logged once, as a
// warning. Default: unknown fields are ignored, but on a bus of bustest.
func DisallowUnknownFields() ServeOption {
	return serveOption(func(c *serviceConfig) { c.strict = true })
}

// ParamNames sets the names of a method's arguments and results, in order, without context and error: ParamNames("Add",
// "x, y", "sum"). Default: read from the source or the executable.
func ParamNames(method, arguments, results string) ServiceOption {
	return describeOption(reflectapi.ParamNames(method, arguments, results))
}

// SourceFS passes the source of the service, from which names and doc comments are read. It works in every build:
//
//	//go:embed *.go
//	var source embed.FS
//
// Default: the source on disk, else the executable's debug data.
func SourceFS(files fs.FS) ServiceOption { return describeOption(reflectapi.SourceFS(files)) }

// ExcludeMethods leaves out methods, by their Go names.
func ExcludeMethods(methods ...string) ServiceOption {
	return describeOption(reflectapi.ExcludeMethods(methods...))
}

func describeOption(option reflectapi.Option) ServiceOption {
	return serviceOption(func(c *serviceConfig) { c.describe = append(c.describe, option) })
}

// Method sets options of one method, by its Go name.
func Method(name string, options ...MethodOption) ServiceOption {
	return serviceOption(func(c *serviceConfig) {
		if i := slices.Index(options, nil); i >= 0 {
			c.err = cmp.Or(c.err, fmt.Errorf("bus.Method(%q): %w", name, feature.NoOption(i)))
			return
		}
		c.methods[name] = append(c.methods[name], options...)
	})
}

type methodOption func(*methodConfig)

func (o methodOption) applyToMethod(c *methodConfig) { o(c) }

// Path sets the path of a method, "/objects/{id}"; {name} stands for an argument, {name+} at the end for the rest of
// the path. With [RPCAndREST] it applies only to the REST route. Where generated clients call the method, declare the
// path in the comment of their interface instead: //busline:route POST /orders/{id}/cancel. Default: derived from the
// method's name, or the path that its interface declares.
func Path(path string) MethodOption {
	return methodOption(func(c *methodConfig) { c.MethodOptions.Path = path })
}

// HTTPMethod sets the only HTTP method under which a method is served, "PUT", or "*" for any. With [RPCAndREST] it
// applies only to the REST route. Where generated clients call the method, declare it in the comment of their interface
// instead: //busline:method PUT. Default: GET and POST
// for RPC, that of the verb for REST, any for web endpoints.
func HTTPMethod(method string) MethodOption {
	return methodOption(func(c *methodConfig) { c.MethodOptions.HTTPMethod = method })
}

// RPCAndREST serves a method both as RPC and as REST. [Path] and [HTTPMethod] then apply only to the REST route.
// Default: one of the two.
func RPCAndREST() MethodOption {
	return methodOption(func(c *methodConfig) { c.MethodOptions.Both = true })
}

// RPC serves a method as RPC although it is nearly REST, such as Read(id int) (book Book). Without this option that
// is an error, as its author may have meant httpResponseBody; [Path] and [HTTPMethod] say what is meant, too. An
// interface with a generated client says so in the comment of the method, with //busline:route POST /read. Default: by
// the names of the method and its arguments.
//
// These methods are nearly REST. What is said of Read holds for Get and Load, what is said of Update for Patch and
// Delete, and a noun may follow a verb that is not alone:
//
//   - a verb with an argument such as requestBody, reqBody or httpBody, or a result such as responseBody, statusCode or
//     httpStatus, in any case and with underscores
//   - Read alone, whose only argument is id, with one result
//   - Read of one argument that is written as text, with a struct as its one result
//   - List with a list of structs as its one result
//   - Create of a struct
//   - Update of an argument that is written as text, and a struct
//   - Delete alone, whose only argument is id, without a result
func RPC() MethodOption {
	return methodOption(func(c *methodConfig) { c.MethodOptions.RPC = true })
}

type endpointOption func(*endpointConfig)

func (o endpointOption) applyToService(c *serviceConfig)   { o(&c.endpoints) }
func (o endpointOption) applyToMethod(c *methodConfig)     { o(&c.endpointConfig) }
func (o endpointOption) applyToEndpoint(c *endpointConfig) { o(c) }

type handlerOption struct{ endpointOption }

func (o handlerOption) ApplyToHandlers(config feature.Handlers) {
	o.applyToService(serviceConfigOf(config))
}

// Port sets the port, 1 to 65535. By convention 443 is public and 444 internal. 417, used for events, and 888, used by
// the framework, are rejected. Where generated clients call the service, declare the port in the comment of their
// interface or of its method instead: //busline:port 444. Default: 443, or the port that the interface declares.
func Port(port int) EndpointOption {
	return endpointOption(func(c *endpointConfig) { c.port, c.portSet = port, true })
}

// NoQueue delivers each request to every instance. Default: one instance gets it.
func NoQueue() HandlerOption {
	return handlerOption{func(c *endpointConfig) { c.queue = false }}
}

// RequireClaims requires a token whose claims satisfy an expression, RequireClaims(`"hr" in roles && level >= 3`). See
// bus/claims for the language. Without a token the answer is 401, with insufficient claims 403. Documents show the
// endpoints only to callers that may call them. A comparison with an absent claim is false. Default: no token is
// required.
//
// In [Method] it replaces that of [Serve]. An empty expression is an error: see [AllowAnonymous]. A second expression
// in the same place is an error as well: join both with "and".
//
// In NewPublisher of bus/events it says which callers see the events in documents, and may publish them by hand. It
// does not restrict the program itself, nor who subscribes.
func RequireClaims(expression string) ClaimsOption {
	return claimsOption{handlerOption{func(c *endpointConfig) { c.judge(true, expression) }}}
}

type claimsOption struct{ handlerOption }

func (o claimsOption) ApplyToPublisher(config feature.Handlers) { o.ApplyToHandlers(config) }

// AllowAnonymous requires no token; use it in [Method] where [Serve] has RequireClaims. It is an error in the same
// place as RequireClaims. Default: no token is required.
func AllowAnonymous() HandlerOption {
	return handlerOption{func(c *endpointConfig) { c.judge(false, "") }}
}

// RequireCallers limits who may call to services of these hosts: RequireCallers("orders.example", "*.billing.example"),
// where *. stands for all hosts below. They prove who they are with a key, see [WithServiceKey]; the connection needs
// the set of these keys, see [WithServiceKeySet]. A caller without a proof, or with another host, gets 403, one with an
// invalid proof 401. Documents say which hosts may call. With [RequireClaims] both have to hold. Default: all may call.
//
// A second one in the same place is an error. Where generated clients call the service, declare it in the comment of
// their interface or of its method instead: //busline:callers orders.example. For a method the first of these counts:
// the option in [Method], the directive of the method, the option of [Serve], the directive of the interface.
func RequireCallers(hosts ...string) EndpointOption {
	return endpointOption(func(c *endpointConfig) { c.limit(hosts) })
}

// Undocumented omits endpoints from the documents. They can still be called. Default: shown.
func Undocumented() EndpointOption {
	return endpointOption(func(c *endpointConfig) { c.hidden = true })
}

// Intercept wraps the endpoints in interceptors, inside those of the connection, and in [Method] inside those of
// [Serve]. The first interceptor is the outermost. Default: none. See [Interceptor].
func Intercept(interceptors ...Interceptor) HandlerOption {
	return handlerOption{func(c *endpointConfig) {
		c.interceptors = append(slices.Clip(c.interceptors), interceptors...)
	}}
}

// TimeBudget sets the longest time until the context of a handler ends, even if its caller allows more. A handler that
// ignores its context is not interrupted, and its answer is sent when it returns, unless the caller's time budget has
// ended before: that always ends the call for the caller. An http.Handler has to announce a Content-Length for such a
// late answer: without it the answer may be truncated, and is replaced by 504. Once a response is a stream, longest
// counts anew from each part with bytes of it, and the caller's time budget does not end the context any more: without
// this option the stream lasts until the handler returns, the caller leaves, its token expires or the instance closes.
// 0 stands for the default. Default: the caller's time budget, 20 s unless the caller sets another.
func TimeBudget(longest time.Duration) HandlerOption {
	return handlerOption{func(c *endpointConfig) { c.timeBudget = longest }}
}

// MaxBodyBytes sets the largest request body in bytes. A larger body is answered 413. A limit above that of
// [WithMaxMessageBytes] has no effect on a body in memory, and 0 stands for the default. Default: 4 MiB for functions;
// for web endpoints and http.Handlers 32 MiB in memory, and none for a body that comes as a stream.
func MaxBodyBytes(bytes int) HandlerOption {
	return handlerOption{func(c *endpointConfig) { c.bodyLimit = bytes }}
}

type descriptionOption string

func (o descriptionOption) applyToMethod(c *methodConfig)     { c.description = string(o) }
func (o descriptionOption) applyToEndpoint(c *endpointConfig) { c.description = string(o) }

// Description describes an endpoint in the documents. Default: the method's doc comment.
func Description(text string) DescriptionOption { return descriptionOption(text) }

type webOption func(*openapi.WebDoc)

func (o webOption) applyToMethod(c *methodConfig) { o.applyToEndpoint(&c.endpointConfig) }

func (o webOption) applyToEndpoint(c *endpointConfig) {
	if c.web == nil { // no option for a whole service sets it, so that no two endpoints share it
		c.web = new(openapi.WebDoc)
	}
	o(c.web)
}

// ListedMethods lists a web endpoint that takes any HTTP method under these in the documents. It does not change what
// is served. Default: GET, POST with a body.
func ListedMethods(methods ...string) DescriptionOption {
	return webOption(func(w *openapi.WebDoc) { w.Methods = append(slices.Clip(w.Methods), methods...) })
}

// QueryParam describes text that a web endpoint reads from the query, for documents, forms and generated clients. A
// description may be "". The handler itself still has to check it. Default: none.
func QueryParam(name, description string, required bool) DescriptionOption {
	return webOption(func(w *openapi.WebDoc) {
		w.Query = append(slices.Clip(w.Query), openapi.QueryParam{Name: name, Description: description, Required: required})
	})
}

// Consumes describes the media types of the body that a web endpoint reads, "text/csv". The handler itself still has to
// check them. Default: no body.
func Consumes(mediaTypes ...string) DescriptionOption {
	return webOption(func(w *openapi.WebDoc) { w.Consumes = append(slices.Clip(w.Consumes), mediaTypes...) })
}

// FormField describes a field or file of a form. A web endpoint reads it; documents, the portal and busline call have
// its fields. The kind is "string", "integer", "number" or "boolean", for a file "file" or its media types, and begins
// with [] if there may be several of the name. Text about it is keywords such as those of //busline:arg, a description
// or both. The handler itself still has to check the form. Default: no form.
//
//	bus.FormField("title", "string", "required maxLength=80 title of the page")
//	bus.FormField("photos", "[]image/png,image/jpeg", "what the page shows")
//
// An interface says the same in the comment of the method, with //busline:field title string required maxLength=80
// title of the page.
func FormField(name, kind, about string) DescriptionOption {
	return webOption(func(w *openapi.WebDoc) {
		w.Form = append(slices.Clip(w.Form), reflectapi.FormField{Name: name, Type: kind, About: about})
	})
}

// Produces describes the media types in which a web endpoint answers, "text/plain". Errors are problem+json besides.
// Default: unknown.
func Produces(mediaTypes ...string) DescriptionOption {
	return webOption(func(w *openapi.WebDoc) { w.Produces = append(slices.Clip(w.Produces), mediaTypes...) })
}
