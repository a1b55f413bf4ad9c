package bus

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/busline/busline/restmap/openapi"
)

// OpenAPIOf returns the OpenAPI 3.0.0 document, in JSON, of what [Serve] would serve on a host: all ports, regardless
// of what a caller may do, without hidden endpoints. It is meant for the authors of the service: unlike published
// documents it shows the expressions of [RequireClaims], as x-claims, and as x-also under which other HTTP methods than the
// listed one an endpoint is served. It takes what Serve takes, registers nothing, and has the same errors.
func OpenAPIOf[T any](host string, impl T, options ...ServeOption) ([]byte, error) {
	endpoints, service, err := plan(interfaceOf[T](), impl, newServiceConfig(options))
	if err != nil {
		return nil, fmt.Errorf("describe %T: %w", impl, err)
	}
	served, err := new(documents).missing(nil, endpoints)
	if err == nil {
		err = errors.Join(validOwnHost(host), validEndpoints(defaultPlane, host, endpoints), newRouter().add(slices.Concat(endpoints, served)))
	}
	if err != nil {
		return nil, fmt.Errorf("describe %T: %w", impl, err)
	}
	endpoints = slices.DeleteFunc(endpoints, func(e *endpoint) bool { return e.hidden })
	document, err := writeDocument(openapi.Service{Host: host, Description: service.Doc}, endpoints)
	if err != nil {
		return nil, fmt.Errorf("describe %T: %w", impl, err)
	}
	return document, nil
}

// EventsOpenAPIOf returns the OpenAPI 3.0.0 document, in JSON, of the events of a source, a host. It is meant for the
// authors of the source, as no document on the bus lists events. It takes what [Subscribe] takes, registers nothing, and
// has the same errors; impl may be a generated source, without a connection. With [Durable] it says as x-stored that the
// events are stored.
func EventsOpenAPIOf[T any](source string, impl T, options ...SubscribeOption) ([]byte, error) {
	config := newEventsConfig(options)
	endpoints, service, err := planEvents(interfaceOf[T](), source, impl, config)
	if err == nil {
		err = errors.Join(validSource(source), validEndpoints(defaultPlane, source, endpoints), newRouter().add(endpoints))
	}
	if err != nil {
		return nil, fmt.Errorf("describe the events of %s in %T: %w", source, impl, err)
	}
	stored := config.durable != nil
	document, err := writeDocument(openapi.Service{Host: source, Description: service.Doc, Stored: stored}, endpoints)
	if err != nil {
		return nil, fmt.Errorf("describe the events of %s in %T: %w", source, impl, err)
	}
	return document, nil
}

// OpenAPI returns the document of what the connection serves now, plain handlers included, in the form of
// [OpenAPIOf].
func (c *Conn) OpenAPI() ([]byte, error) {
	document, err := writeDocument(openapi.Service{Host: c.host, Description: c.description}, c.documents.all())
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", c.host, err)
	}
	return document, nil
}

// writeDocument makes the document that authors see.
func writeDocument(service openapi.Service, endpoints []*endpoint) ([]byte, error) {
	service.Port, service.Own = publicPort, true
	for _, e := range endpoints {
		service.Endpoints = append(service.Endpoints, &openapi.Described{
			Endpoint: e.mapped, Description: e.description, Secured: e.secured, Claims: e.claims, Port: e.Port,
		})
	}
	document, err := openapi.Build(service)
	if err != nil {
		return nil, err
	}
	return document.JSON()
}

// all returns the endpoints of all ports that are not hidden, by port.
func (d *documents) all() []*endpoint {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(d.endpoints), func(a, b *endpoint) int { return cmp.Compare(a.Port, b.Port) })
}
