package events

import (
	"errors"
	"fmt"

	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/restmap/openapi"
)

// OpenAPIOf returns the OpenAPI 3.0.0 document, in JSON, of the events of a publisher, a host. It is meant for the
// authors of the publisher, as no document on the bus lists events. It takes the arguments of [Subscribe] but the
// connection, registers nothing, and returns the same errors; impl may be a generated publisher, without a connection.
// With [Durable] the document marks the events as stored, as x-stored.
func OpenAPIOf[T any](publisher string, impl T, options ...SubscribeOption) ([]byte, error) {
	config := newSubscribeConfig(options)
	described, service, err := plan(feature.InterfaceOf[T](), publisher, impl, config)
	if err == nil {
		err = errors.Join(validSource(publisher), feature.Bus.Check(publisher, endpointsOf(described)))
	}
	if err != nil {
		return nil, fmt.Errorf("describe the events of %s in %T: %w", publisher, impl, err)
	}
	document, err := feature.Bus.OpenAPI(openapi.Service{Host: publisher, Description: service.Doc,
		Stored: config.durable != nil}, endpointsOf(described))
	if err != nil {
		return nil, fmt.Errorf("describe the events of %s in %T: %w", publisher, impl, err)
	}
	return document, nil
}
