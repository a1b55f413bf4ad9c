// Package benchmarks measures what a call costs, by the path that it takes:
//
//	go test -run '^$' -bench . ./benchmarks
//
// Caller, service and broker share one process, so time and allocations are those of all of them together. A figure
// means something beside another one of the same run on the same machine; see README.md for such tables. The module
// in the folder peers measures other ways to make a call beside ours.
package benchmarks
