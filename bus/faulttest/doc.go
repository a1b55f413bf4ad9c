// Package faulttest breaks brokers, links and instances, and compares the results that callers got with the calls that
// ran. It contains only tests:
//
//	go test ./bus/faulttest    the short form, with few rounds
//	make faults                the same tests with many rounds, and a table of measurements; about 20 minutes
//
// Brokers, and instances that a test kills, are separate processes: the test binary, started again. Every call has a
// number, every handler records it before it works (in a file if its process may be killed), and at the end both lists
// are compared: see verdict_test.go. The tests assert what must never happen; durations are only reported, because they
// depend on the machine. benchmarks/faults.md has measurements.
package faulttest
