// Package faulttest breaks what the bus stands on, and compares what callers were told with what has run. It holds tests
// alone:
//
//	go test ./bus/faulttest    the short form, with few rounds
//	make faults                the same tests with many, and a table of what was measured; some 20 minutes
//
// Brokers, and instances that are to be killed, are processes of their own: the test binary, started again. Every call
// has a number, every handler writes down the number before it works, in a file where its process may be killed, and at
// the end the two are put side by side: see verdict_test.go. What must never be is asserted; how long things took is
// only told, as it depends on the machine. What was measured once stands in docs/reliability.md.
package faulttest
