package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi"
)

// client holds what the template needs for a client.
type client struct {
	Name       string // "Client"
	Multicast  string // the type of the client that calls every instance
	Maker      string // the function that makes clients: "newClient"
	Comment    string // more about the client, "" for none
	Implements bool   // the client implements the interface; false if a web method is missing
	Events     bool   // it publishes events
	HostGo     string // as an expression: "Host", `"calculator.example"`
	Host       string // its value
	Ported     bool   // it calls ports that the interface declares
	Operations []*clientMethod
	Problems   []*clientProblem
}

// clientProblem holds what the template needs for a kind of failure with details.
type clientProblem struct {
	Name    string // of the type of its details, "OutOfStock"
	Details string // the type, "OutOfStock" or "problems.OutOfStock"
	Status  int
	Type    string // "out-of-stock"
}

// clientMethod holds what the template needs for one method.
type clientMethod struct {
	Name    string
	Field   string // of the client: "add"
	Comment string
	Method  string // the HTTP method: "POST"
	Path    string // "/products/{id}"
	Port    int    // 0 for that of the host
	Key     string // the argument that orders the event, "" for none

	Idempotent bool   // each call has a key
	Params     string // "ctx context.Context, x int"
	Outcomes   string // "sum int, err error"
	Given      string // "ctx, addArguments{x, y}"
	Taken      string // "response, err :="
	Returned   string // "response.Results.Sum, err"; the whole call if it streams
	Streams    bool   // Outcomes is the type of a stream

	Arguments, Results string // the types of the operation: "addArguments", "struct{}"
	// The structs to declare for these, nil if a struct exists already.
	ArgumentFields, ResultFields []clientField
}

// Declared returns the outcomes as they are declared.
func (m *clientMethod) Declared() string {
	if m.Streams {
		return m.Outcomes
	}
	return "(" + m.Outcomes + ")"
}

// Target returns the path, after the port if it is not that of the host.
func (m *clientMethod) Target() string {
	if m.Port == 0 {
		return m.Path
	}
	return fmt.Sprintf(":%d%s", m.Port, m.Path)
}

// Streams reports whether a method streams.
func (c *client) Streams() bool {
	return slices.ContainsFunc(c.Operations, func(m *clientMethod) bool { return m.Streams })
}

type clientField struct{ Name, Type, JSON string }

// clientNames are the names that a client declares.
type clientNames struct {
	client, prefix string
	events         bool
}

// namesFor returns the names of a client: AddResults belongs to Client, and OrdersAddResults to OrdersClient. A
// publisher of events counts as a client here.
func namesFor(wanted request) clientNames {
	suffix := "Client"
	if wanted.events {
		suffix = "Publisher"
	}
	return clientNames{wanted.client, strings.TrimSuffix(wanted.client, suffix), wanted.events}
}

func (n clientNames) maker() string { return "new" + n.client }
func (n clientNames) multicast() string {
	if n.events {
		return n.prefix + "Outcomes"
	}
	return n.prefix + "Multicast"
}

func (n clientNames) arguments(method string) string {
	return unexported(n.prefix+method) + "Arguments"
}

func (n clientNames) results(method string) string { return n.prefix + method + "Results" }

// client returns what the template needs for a description without diagnostics.
func (d *description) client(names clientNames, host host, packages *imports) *client {
	c := &client{
		Name: names.client, Multicast: names.multicast(), Maker: names.maker(),
		Implements: true, Events: names.events, HostGo: host.expression, Host: host.address,
	}
	var webMethods []string
	fields := newScope("conn", "host")
	for _, o := range d.operations {
		if o.served.Kind == reflectapi.Web {
			webMethods = append(webMethods, o.name)
			continue
		}
		c.Operations = append(c.Operations, o.clientMethod(names, fields, packages, d.source.isClosed))
		c.Ported = c.Ported || o.port != 0
	}
	c.Problems = d.problems(names, packages)
	if len(webMethods) > 0 {
		c.Implements = false
		c.Comment = fmt.Sprintf("Web methods are not here, call them with http.Client{Transport: conn}: %s.",
			strings.Join(webMethods, ", "))
	}
	return c
}
