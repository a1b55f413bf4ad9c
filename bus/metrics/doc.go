// Package metrics counts calls and writes the counts in the text format of Prometheus. The memory of a counter is
// allocated once: observing a call takes no lock and allocates nothing.
package metrics
