package bus

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

// plan finds the methods of impl and makes their endpoints.
func plan(as reflect.Type, impl any,
	config *serviceConfig) (endpoints []*endpoint, service *reflectapi.Service, err error) {
	if isHandler(as, impl) {
		return nil, nil, errors.New("an http.Handler is no service, and would be at /serve-http alone: use Conn.Handle")
	}
	if service, err = describe(as, impl, config); err != nil {
		return nil, nil, err
	}
	if err := checkOwnMethods(as, service, config); err != nil {
		return nil, nil, err
	}
	mapped, err := restmap.Map(service, config.routing())
	if err != nil {
		return nil, nil, err
	}
	endpoints = endpointsOf(mapped, service, config)
	return endpoints, service, checkClients(service, endpoints)
}

// describe finds the methods of impl, or only those of the interface as.
func describe(as reflect.Type, impl any, config *serviceConfig) (*reflectapi.Service, error) {
	if config.err != nil {
		return nil, config.err
	}
	if as != nil {
		return reflectapi.DescribeAs(as, impl, config.describe...)
	}
	return reflectapi.Describe(impl, config.describe...)
}

// endpointsOf returns the endpoints of mapped methods.
func endpointsOf(mapped []*restmap.Endpoint, service *reflectapi.Service,
	config *serviceConfig) (endpoints []*endpoint) {
	for _, m := range mapped {
		settings := config.method(m.Method.Name).endpointConfig
		if port := portOf(service, m.Method); port != 0 && !settings.portSet {
			settings.port = port
		}
		if declared := m.Method.Declared.Callers; len(declared) > 0 && !settings.limited {
			settings.callers = declared
		} else if len(settings.callers) == 0 {
			settings.callers = service.Declared.Callers
		}
		planned := newEndpoint(settings, service.Name+"."+m.Name, m)
		switch {
		case m.Style == restmap.Web:
			planned.run = runWeb(planned, m.Method.ServeHTTP)
		case m.Element() != nil:
			planned.run = runStream(planned)
		default:
			planned.run = runFunction(planned)
		}
		endpoints = append(endpoints, planned)
	}
	return endpoints
}

// checkOwnMethods returns an error for each method that a struct usually has for its own program, and that callers
// could call. There is none for a service of an interface, or if an option names the method.
func checkOwnMethods(as reflect.Type, service *reflectapi.Service, config *serviceConfig) error {
	if as != nil {
		return nil
	}
	var errs []error
	for _, method := range service.Methods {
		if _, named := config.methods[method.Name]; named || !isLifecycle(method) &&
			!isForItsProgram(service.Type, method.Name) {
			continue
		}
		errs = append(errs, fmt.Errorf("method %s would be served to callers: leave it out with bus.ExcludeMethods(%q), "+
			"or add bus.Method(%q) if that is intended",
			method.Name, method.Name, method.Name))
	}
	return errors.Join(errs...)
}

// isLifecycle reports whether a method has a name with which a struct begins or ends what it does for its own program.
func isLifecycle(method *reflectapi.Method) bool {
	switch method.Name {
	case "Init", "Start", "Run", "Serve", "ListenAndServe", "Restart", "Reset", "Stop", "GracefulStop", "Quit", "Shutdown",
		"Terminate", "Close", "Dispose",
		"Lock", "Unlock", "TryLock", "RLock", "RUnlock", "TryRLock":
		return true
	default:
		return false
	}
}

// isForItsProgram reports whether a method belongs to an interface that is unrelated to the purpose of a service.
func isForItsProgram(t reflect.Type, method string) bool {
	for _, each := range []reflect.Type{
		reflect.TypeFor[http.Handler](),
		reflect.TypeFor[error](),
		reflect.TypeFor[fmt.Stringer](),
		reflect.TypeFor[fmt.GoStringer](),
		reflect.TypeFor[json.Marshaler](),
		reflect.TypeFor[json.Unmarshaler](),
		reflect.TypeFor[encoding.TextMarshaler](),
		reflect.TypeFor[encoding.TextUnmarshaler](),
		reflect.TypeFor[encoding.BinaryMarshaler](),
		reflect.TypeFor[encoding.BinaryUnmarshaler](),
	} {
		if each.Method(0).Name == method && t.Implements(each) {
			return true
		}
	}
	return false
}

// isHandler reports whether impl is a handler of another package, such as a router: it has no methods to serve.
func isHandler(as reflect.Type, impl any) bool {
	_, isMux := impl.(*http.ServeMux)
	return isMux || as == reflect.TypeFor[http.Handler]()
}

// validEndpoints returns all errors of the endpoints of a host, joined.
func validEndpoints(plane, host string, endpoints []*endpoint) error {
	var errs []error
	for _, e := range endpoints {
		for _, err := range e.check(plane, host) {
			errs = append(errs, fmt.Errorf("%s: %w", e.Name, err))
		}
	}
	return errors.Join(errs...)
}

// check returns the errors of an endpoint. It also compiles the claims.
func (e *endpoint) check(plane, host string) (errs []error) {
	if err := subject.CheckPort(e.Port); err != nil {
		errs = append(errs, fmt.Errorf("%w; see bus.Port", err))
	}
	if e.Port == subject.ControlPort {
		errs = append(errs,
			fmt.Errorf("port %d is reserved for the framework: use another port, such as 444 for internal endpoints",
				subject.ControlPort))
	}
	if e.Port == subject.EventPort && e.source == "" {
		errs = append(errs, fmt.Errorf("port %d is reserved for events: use another port, or events.Subscribe",
			subject.EventPort))
	}
	if e.mapped.Method != nil && e.source == "" {
		if err := e.mapped.Method.Declared.CheckScope(reflectapi.OfCall | reflectapi.OfWebMethod); err != nil {
			errs = append(errs, fmt.Errorf("its interface %w", err))
		}
	}
	for _, route := range e.mapped.Routes {
		if route.Method == http.MethodHead {
			errs = append(errs, errors.New("HEAD cannot be served by itself: serve GET, which also answers HEAD"))
		}
		if !e.hidden && !openapi.Lists(route.Method) {
			errs = append(errs, fmt.Errorf("OpenAPI has no HTTP method %s: if it is not misspelt, leave the endpoint out of "+
				"the documents with bus.Undocumented", route.Method))
		}
		if to := e.subject(plane, cmp.Or(e.source, host), route); len(to) > subject.MaxLength {
			errs = append(errs, fmt.Errorf("its path makes a subject of %d bytes, and the limit is %d: shorten the path",
				len(to), subject.MaxLength))
		}
	}
	if err := cmp.Or(e.err, e.compileClaims(), subject.CheckCallers(e.callers)); err != nil {
		errs = append(errs, err)
	}
	if e.bodyLimit < 0 || e.timeBudget < 0 {
		errs = append(errs, errors.New("its body limit or time budget is negative; see bus.MaxBodyBytes and bus.TimeBudget"))
	}
	if err := checkText("bus.Description", e.description); err != nil {
		errs = append(errs, err)
	}
	if err := e.checkWeb(); err != nil {
		errs = append(errs, err)
	}
	if err := checkInterceptors(e.interceptors, "bus.Intercept"); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// An interface with a generated client is what client and service agree on. The client knows nothing but the interface,
// so options must not change where it calls.

// portOf returns the port of a method that its interface declares, 0 if it declares none.
func portOf(service *reflectapi.Service, method *reflectapi.Method) int {
	return cmp.Or(method.Declared.Port, service.Declared.Port)
}

// checkClients returns an error for each method that the generated client of its interface would not find.
func checkClients(service *reflectapi.Service, endpoints []*endpoint) error {
	if service.Declared.Client == "" {
		return nil
	}
	called, err := restmap.ClientRoutes(service)
	if err != nil {
		return err
	}
	var errs []error
	for _, method := range service.Methods {
		route, callable := called[method.Name]
		if !callable {
			continue
		}
		port := cmp.Or(portOf(service, method), subject.PublicPort)
		var served []*endpoint
		found := false
		for _, e := range endpoints {
			if e.mapped.Method == method {
				served = append(served, e)
				found = found || e.Port == port && e.mapped.Serves(route)
			}
		}
		if !found && len(served) > 0 {
			errs = append(errs, drift(method, route, port, served[0]))
		}
	}
	return errors.Join(errs...)
}

// drift is the error for a method that an option moves away from its client.
func drift(method *reflectapi.Method, called restmap.Route, port int, served *endpoint) error {
	declare := fmt.Sprintf("%s %d", reflectapi.PortDirective, served.Port)
	if served.Port == port {
		declare = fmt.Sprintf("%s %s", reflectapi.RouteDirective, served.mapped.Routes[0])
	}
	return fmt.Errorf("method %s: an option serves it as %s on port %d, but its generated client calls %s on port %d: "+
		"leave the option out, or declare it in the interface with %s and run go generate",
		method.Name, served.mapped.Routes[0], served.Port, called, port, declare)
}
