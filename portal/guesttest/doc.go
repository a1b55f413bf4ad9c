// Package guesttest holds, in a module of its own, tests of handlers that other projects have written, behind an ingress.
package guesttest
