// Package metrics counts calls and tells of them in the text format of Prometheus. It counts in memory that is there once
// and for all: observing a call takes no lock and allocates nothing.
package metrics
