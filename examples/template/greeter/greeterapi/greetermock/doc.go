// Package greetermock is a mock of the service for tests of its callers.
package greetermock
