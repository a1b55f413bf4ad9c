package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
)

// Subscribe subscribes impl to the events of a publisher, a host such as "orders.example". Each method handles one
// event, and its name begins with On: OnOrdered([ctx context.Context,] arguments…) error. With an interface as type
// parameter, Subscribe[ordersapi.Events](conn, ordersapi.Host, impl), only its methods count; to subscribe to some of
// the events, declare an interface with only these. The subscriptions are live when Subscribe returns; on an error none
// is, and the error names everything that is wrong. It waits for the broker for at most 5 s.
//
// The service of conn gets each event at most once: its instances share them. With [bus.NoQueue] every instance gets
// each event. The error of a handler is logged on this side; the publisher does not learn of it.
//
// A warning names a publisher of which no instance is there a minute later, and events that it does not have.
//
// With [Durable] the service gets the events that the publisher has stored, at least once, including those published
// while it was away; and it gets nothing else. So the publisher needs Durable, too: events of a publisher without it,
// and those of [Publish], do not reach the service. A warning names the events of which none has ever come, and so
// does /-/ready (see [bus.WithProbes]) until one does.
//
// It takes the options of this package and, of package bus, those of handlers (bus.NoQueue, bus.TimeBudget,
// bus.Intercept, bus.MaxBodyBytes, bus.RequireClaims) and of services (bus.ExcludeMethods, bus.Method, bus.ParamNames,
// bus.SourceFS); in bus.Method no port, path or HTTP method. Handlers run concurrently, each on a goroutine of its own;
// impl must allow that. [bus.Conn.Close] loses no event that has arrived.
func Subscribe[T any](conn *bus.Conn, publisher string, impl T, options ...SubscribeOption) error {
	if conn == nil {
		return fmt.Errorf("%T cannot be subscribed to the events of %s without a connection", impl, publisher)
	}
	if err := sourcesOf(conn).subscribe(feature.InterfaceOf[T](), publisher, impl,
		newSubscribeConfig(options)); err != nil {
		return fmt.Errorf("subscribe %T of %s to the events of %s: %w", impl, conn.Host(), publisher, err)
	}
	return nil
}

// SubscribeOption configures the handlers of events, in [Subscribe]: [Durable] and the options below, or a
// HandlerOption, ClaimsOption or ServiceOption of package bus. Others cannot implement it.
type SubscribeOption interface{ feature.SubscribeOption }

// subscribeConfig holds what the options of Subscribe set.
type subscribeConfig struct {
	handlers feature.Handlers
	durable  *storing // nil: events are not stored
	err      error    // the first invalid option
}

// subscribeOption is an option of this package.
type subscribeOption func(*subscribeConfig)

// ApplyToHandlers implements [SubscribeOption].
func (subscribeOption) ApplyToHandlers(feature.Handlers) {}

func (o subscribeOption) configure(c *subscribeConfig) { o(c) }

func newSubscribeConfig(options []SubscribeOption) *subscribeConfig {
	config := &subscribeConfig{handlers: feature.Bus.Handlers(subject.EventPort)}
	for i, option := range options {
		if option == nil {
			config.err = cmp.Or(config.err, feature.NoOption(i))
			continue
		}
		option.ApplyToHandlers(config.handlers)
		if own, is := option.(interface{ configure(config *subscribeConfig) }); is {
			own.configure(config)
		}
	}
	return config
}

func (s *sources) subscribe(as reflect.Type, source string, impl any, config *subscribeConfig) error {
	if err := validSource(source); err != nil {
		return err
	}
	config.handlers.SetStrict(s.IsStrict())
	events, service, err := plan(as, source, impl, config)
	if err != nil {
		return err
	}
	if err := s.register(source, events, config.durable); err != nil {
		return err
	}
	for _, warning := range service.Warnings {
		s.logger.Warn().Str("service", service.Name).Msg(warning)
	}
	return nil
}

// handledEvent is an event with what handles it.
type handledEvent struct {
	feature.Endpoint
	stored bool
}

// name returns the name of the event, "on-ordered".
func (e *handledEvent) name() string { return strings.TrimPrefix(e.Routed().Path, "/") }

// key returns the argument that orders the event, "" for none.
func (e *handledEvent) key() string { return e.Mapped().Method.Declared.Key }

// queueOf returns the host whose instances share the event, "" if each gets it.
func (e *handledEvent) queueOf(conn *bus.Conn) string {
	if e.Routed().Queue {
		return conn.Host()
	}
	return ""
}

func endpointsOf(events []*handledEvent) []feature.Endpoint {
	endpoints := make([]feature.Endpoint, len(events))
	for i, each := range events {
		endpoints[i] = each.Endpoint
	}
	return endpoints
}

// plan finds the methods of impl and makes their endpoints.
func plan(as reflect.Type, source string, impl any,
	config *subscribeConfig) ([]*handledEvent, *reflectapi.Service, error) {
	if config.err != nil {
		return nil, nil, config.err
	}
	service, err := config.handlers.Describe(as, impl)
	if err != nil {
		return nil, nil, err
	}
	events, err := mapEvents(source, service, config.handlers, config.durable != nil, config.check())
	return events, service, err
}

// mapEvents makes the endpoints of events that are described. It returns all errors, joined with those of the options.
func mapEvents(source string, service *reflectapi.Service, handlers feature.Handlers, stored bool,
	invalid error) ([]*handledEvent, error) {
	routing := handlers.Routes()
	errs := []error{invalid}
	if err := service.Declared.CheckScope(reflectapi.OfEventInterface); err != nil {
		errs = append(errs, fmt.Errorf("the interface %w", err))
	}
	for _, method := range service.Methods {
		if unfit := checkMethod(method, routing.Methods[method.Name]); unfit != nil {
			errs = append(errs, fmt.Errorf("method %s: %w", method.Name, unfit))
		}
		routing.Methods[method.Name] = restmap.MethodOptions{HTTPMethod: http.MethodPost}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	mapped, err := restmap.Map(service, routing)
	if err != nil {
		return nil, err
	}
	endpoints := handlers.Endpoints(source, mapped, service)
	events := make([]*handledEvent, len(endpoints))
	for i, each := range endpoints {
		events[i] = &handledEvent{each, stored}
	}
	return events, nil
}

// check returns an error for options that do not apply to events.
func (s *subscribeConfig) check() error {
	var errs []error
	for _, each := range s.handlers.Settings() {
		if each.Port != subject.EventPort {
			errs = append(errs, fmt.Errorf("events are on port %d: leave bus.Port out", subject.EventPort))
		}
		if each.Limited {
			errs = append(errs, errors.New("events come from the host that is subscribed to: leave out bus.RequireCallers"))
		}
		if s.durable != nil && !each.Queue {
			errs = append(errs,
				errors.New("stored events go to one instance of a service, not to all of them: leave out bus.NoQueue or "+
					"events.Durable"))
		}
		if s.durable != nil && each.Secured {
			errs = append(errs,
				errors.New("stored events carry no token whose claims could be checked: leave out bus.RequireClaims or "+
					"events.Durable"))
		}
	}
	if s.durable != nil {
		errs = append(errs, s.durable.check())
	}
	return errors.Join(errs...)
}

// checkMethod returns an error for a method that cannot handle an event.
func checkMethod(method *reflectapi.Method, chosen restmap.MethodOptions) error {
	switch {
	case !isEventName(method.Name):
		return fmt.Errorf("is not an event handler: rename it to On%s, or leave it out with bus.ExcludeMethods(%q)",
			method.Name, method.Name)
	case method.Kind == reflectapi.Web:
		return errors.New("is a web endpoint: make it a function, such as OnOrdered(ctx context.Context, id int) error")
	case len(method.Results) > 0:
		return fmt.Errorf("returns %s, which no caller receives: return only an error", method.Results[0].Name)
	case !method.ReturnsError:
		return errors.New("returns no error, so it cannot report a failure: add an error as its result")
	case method.Declared.CheckScope(reflectapi.OfEvent) != nil:
		return fmt.Errorf("its interface %w", method.Declared.CheckScope(reflectapi.OfEvent))
	case chosen != restmap.MethodOptions{}:
		return errors.New("has a path or an HTTP method of its own, but its name decides which event it handles: " +
			"leave out bus.Path, bus.HTTPMethod and bus.RPCAndREST")
	case strings.HasSuffix(method.Name, "REST"):
		return errors.New("ends in REST, but an event is not a REST endpoint: rename it")
	default:
		return nil
	}
}

// isEventName distinguishes OnOrdered from Online.
func isEventName(name string) bool {
	rest, is := strings.CutPrefix(name, "On")
	first, _ := utf8.DecodeRuneInString(rest)
	return is && rest != "" && !unicode.IsLower(first)
}

// register makes events of a source live, all or none.
func (s *sources) register(source string, events []*handledEvent, stored *storing) error {
	return s.Registering(func(ctx context.Context) error {
		if stored != nil {
			if err := stored.subscribe(ctx, s, source, events, stored.Options); err != nil {
				return err
			}
			s.addHandled(events)
			if s.list(ctx) {
				s.Announce(ctx)
			}
			return nil
		}
		if err := s.Install(ctx, s.router(source), endpointsOf(events), nil, nil); err != nil {
			return err
		}
		s.addHandled(events)
		s.awaitPublisher(source, events)
		s.list(ctx)
		s.Announce(ctx) // a caller of Outcomes has to know of one more subscriber
		return nil
	})
}
