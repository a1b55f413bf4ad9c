// Package tutorial holds the programs of docs/tutorial.md. There they are a module of their own, shop.example:
//
//	shippingapi   an interface, and the client that is generated from it
//	shippingsvc   a service that implements it
//	ordersvc      a service that calls it, and the test of both
//	cmd           a program for each service, and one for the ingress and the portal
//
// The test of this package does what the page says: it makes that module, generates, tests, builds and runs it.
package tutorial
