// Package benchmarks measures the cost of a call, by the path that it takes:
//
//	go test -run '^$' -bench . ./benchmarks
//
// Caller, service and broker share one process, so time and allocations cover all of them together. Compare figures
// only with others of the same run on the same machine; README.md has such tables. The module in the folder peers
// measures other libraries beside ours.
package benchmarks
