package bus

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
)

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
