// Package guesttest holds, in a module of its own, tests of handlers that other projects have written, over a
// connection and through an ingress, compared with net/http.
package guesttest
