// Package exampletest tests the examples from outside: as programs that run, and as services that keep to their OpenAPI
// documents. It does not depend on Busline, so it can test foreign services, too.
package exampletest
