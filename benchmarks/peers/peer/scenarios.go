// Package peer has other ways to call a function in another process, each with a client and a server on loopback TCP as
// its documentation shows them, and Busline among them.
package peer

import "github.com/busline/busline/benchmarks/peers/rounds"

// Names of the peers with which others are compared.
const (
	floor      = "nats request"
	rival      = "grpc-go"
	localFloor = "inprocgrpc"
)

// Callers per core: enough to keep all cores busy, but not so many that messages in transit fill the memory.
const (
	callers      = 64
	largeCallers = 8
)

// instances is the number of instances that answer a multicast.
const instances = 16

// Scenarios returns everything that can be measured.
func Scenarios() []rounds.Scenario {
	distant := []unary{
		{floor, startNATSRequest},
		{"nats micro", startNATSMicro},
		{rival, startGRPC},
		{"connect-go, HTTP/1.1", startConnectH1},
		{"connect-go, h2c", startConnectH2C},
		{"net/http, JSON", startNetHTTP},
		{"busline", startBusline},
	}
	local := []unary{
		{localFloor, startInprocGRPC},
		{"busline, short circuit", startShortCircuit},
	}
	add, echo1K, echo64K := work{adding, callers}, work{echoing(1 << 10), callers}, work{echoing(64 << 10), largeCallers}
	return []rounds.Scenario{
		{Title: "Add", Floor: floor, Rival: rival, Callers: add.callers, Contenders: add.by(distant)},
		{Title: "Echo 1 KiB", Floor: floor, Rival: rival, Callers: echo1K.callers, Contenders: echo1K.by(distant)},
		{Title: "Echo 64 KiB", Floor: floor, Rival: rival, Callers: echo64K.callers, Contenders: echo64K.by(distant)},
		{Title: "multicast of Add to 16", Floor: floor, Callers: largeCallers, Contenders: []rounds.Contender{
			{Name: floor, Start: startNATSMulticast},
			{Name: "busline", Start: startBuslineMulticast},
		}},
		{Title: "Add in the process", Floor: localFloor, Callers: add.callers, Contenders: add.by(local)},
		{Title: "Echo 1 KiB in the process", Floor: localFloor, Callers: echo1K.callers, Contenders: echo1K.by(local)},
		{Title: "Echo 64 KiB in the process", Floor: localFloor, Callers: echo64K.callers, Contenders: echo64K.by(local)},
	}
}
