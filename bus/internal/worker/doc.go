// Package worker runs many handlers on few goroutines.
//
//	dispatcher ──job──> Pool ──────────────> goroutines, used again
//	           ──job──> Backlog ──first──> Pool
//
// A [Pool] runs each job on a goroutine that has run others before. A [Backlog] holds jobs while more messages are waiting, and
// hands them to goroutines that have just finished one. A [Limiter] decides how many handlers run at once, and lets Close wait for the
// last of them. The package knows nothing of messages.
package worker
