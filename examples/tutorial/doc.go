// Package tutorial contains the programs of docs/learn/tutorial.md. In the tutorial they are a separate module,
// shop.example:
//
//	shippingapi   an interface, and the client that is generated from it
//	shippingsvc   a service that implements the interface
//	ordersvc      a service that calls shippingsvc, and the test of both
//	cmd           a program for each service, and one for the ingress and the portal
//
// The test of this package follows the tutorial: it makes that module, generates, tests, builds and runs it.
package tutorial
