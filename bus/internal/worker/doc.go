// Package worker runs many handlers on few goroutines.
//
//	dispatcher ──job──> Pool ──────────────> reused goroutines
//	           ──job──> Backlog ──first──> Pool
//
// A [Pool] runs jobs on goroutines that it reuses. A [Backlog] queues jobs while more messages are waiting, and runs
// them one after the other on few goroutines. A [Limiter] bounds the number of running handlers, and reports when the
// last one is done. The package knows nothing of messages.
package worker
