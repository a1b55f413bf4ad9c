// Package simulation searches the orders in which things can happen. It contains only tests:
//
//	go test ./bus/test/simulation -seeds 2000    so many bad days, one after the other
//	make simulate SEEDS=100000                   the same
//	make simulate SEED=17                        one of them, in many orders, until it breaks a promise
//	make simulate SEED=17 ORDER=3                one of them, in one order, to the line
//
// The client and the server are the real ones, nats.go included. The broker is a table of queues that speaks the
// protocol of NATS over connections in memory (broker_test.go, link_test.go), and time is that of a testing/synctest
// bubble, so that a day of time-outs takes milliseconds. A seed decides about everything else: how many instances there
// are, what is called, how long each message is under way, and what breaks, when and for how long (world_test.go).
// What callers and handlers have seen is compared in the end with what the bus promises (properties_test.go). A failure
// prints its seed. Goroutines that wake at the same moment run in any order: replay, a module of its own, decides it,
// so that a seed and an order have one history.
//
// The tests would be worth little if they could not fail: faults_test.go has faults of the client and of the server,
// each of which some property has to find.
//
// All worlds of a process share one bubble, since nats.go keeps timers for the whole process. Nothing else in this
// package may connect to a broker.
package simulation
