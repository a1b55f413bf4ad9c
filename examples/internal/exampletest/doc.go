// Package exampletest tests the examples as people meet them: as programs that run, and as services that keep to
// what their OpenAPI documents say. It knows nothing of Busline, so that what it tests may be foreign.
package exampletest
