package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
)

// An interface with a generated client is what client and service agree on. The client knows nothing but the interface, so
// options must not change where it calls.

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

// DeclaredBy returns the operation with the name of what declares it, "shopapi.Orders.Cancel", which generated clients set: a call
// that the service answers with 404 or 405 because it has no such route then asks the service where it serves a method of that
// name, and says how the two differ.
func (o Operation[Arguments, Results]) DeclaredBy(name string) Operation[Arguments, Results] {
	o.declaredBy = name
	return o
}

// explain adds to the error of a call that reached no route how the declarations of caller and service differ.
func (o Operation[Arguments, Results]) explain(ctx context.Context, err error) error {
	failed, ok := errors.AsType[*Error](err)
	missing := ok && failed.Executed == ExecutedNo && (failed.Status == http.StatusNotFound || failed.Status == http.StatusMethodNotAllowed)
	if !missing || o.declaredBy == "" {
		return err
	}
	explained := *failed
	explained.Detail += "; " + o.conn.difference(ctx, o.to, o.declaredBy)
	return &explained
}

// difference says where a service serves a method that is declared elsewhere for a caller.
func (c *Conn) difference(ctx context.Context, to *destination, declaredBy string) string {
	host := ""
	if parsed, err := url.Parse(to.address); err == nil {
		host = parsed.Hostname()
	}
	name := declaredBy[strings.LastIndexByte(declaredBy, '.')+1:]
	told := fmt.Sprintf("%s is %s %s for the caller", declaredBy, to.method, pathOf(to.address))
	var answer allowed
	err := c.Call(ctx, "GET https://"+host+":"+strconv.Itoa(subject.ControlPort)+client.AllowPath, Args{"name": name}, &answer)
	switch {
	case err != nil || answer.Routes == nil: // a foreign service does not know names
	case len(*answer.Routes) == 0:
		told += ", and the service serves no method " + name
	default:
		told += ", and the service serves " + name + " as " + strings.Join(*answer.Routes, " and ")
	}
	return told + ": let both use one version of the interface"
}

// routesOf returns where methods of a name are served.
func (r *registry) routesOf(name string) []string {
	routes := []string{}
	for _, e := range r.all() {
		if e.mapped.Method != nil && e.mapped.Method.Name == name && e.source == "" {
			routes = append(routes, fmt.Sprintf("%s on port %d", e.mapped.ClientRoute(), e.Port))
		}
	}
	return routes
}
