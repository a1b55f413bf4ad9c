// Package peer has other ways to call a function in another process, each with a client and a server on loopback TCP as
// its documentation shows them, and Busline among them.
package peer

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/busline/busline/benchmarks/peers/rounds"
)

// Names of the peers with which others are compared.
const (
	floor      = "nats request"
	rival      = "grpc-go"
	localFloor = "inprocgrpc"
	logFloor   = "jetstream"
	proxy      = "httputil.ReverseProxy"
	gateway    = "grpc-gateway"
)

// Callers per core: enough to keep all cores busy, but not so many that messages in transit fill the memory.
const (
	callersPerCore      = 64
	largeCallersPerCore = 8
)

// instances is the number of instances that answer a multicast.
const instances = 16

// distant returns the peers whose clients and servers may be in different processes.
func distant() []peer {
	brokerStage := stage{"broker", startBroker}
	natsRequest, natsMicro := stage{"nats service", startNATSRequest}, stage{"nats micro service", startNATSMicro}
	grpcServer, connectServer, httpServer := stage{"grpc server", startGRPC}, stage{"connect server",
		startConnect}, stage{"http server", startNetHTTP}
	return []peer{
		{floor, []stage{brokerStage, natsRequest}, dialNATS},
		{"nats micro", []stage{brokerStage, natsMicro}, dialNATS},
		{rival, []stage{grpcServer}, dialGRPC},
		{"connect-go, HTTP/1.1", []stage{connectServer}, dialConnectH1},
		{"connect-go, h2c", []stage{connectServer}, dialConnectH2C},
		{"net/http, JSON", []stage{httpServer}, dialNetHTTP},
		{"busline", []stage{brokerStage, {"busline service", startBusline}}, dialBusline},
	}
}

// local returns the peers within a process.
func local() []peer {
	return []peer{{localFloor, nil, dialInprocGRPC}, {"busline, short circuit", nil, dialShortCircuit}}
}

// gateways returns ways from HTTP to a service behind it.
func gateways() []peer {
	brokerStage := stage{"broker", startBroker}
	numbers := dialGateway("x", "y")
	return []peer{
		{proxy, []stage{{"http server", startNetHTTP}, {"proxy", startReverseProxy}}, numbers},
		{gateway, []stage{{"grpc server", startGRPC}, {"grpc-gateway", startGRPCGateway}}, dialGateway("start", "end")},
		{"busline ingress, broker", []stage{brokerStage, {"busline service", startBusline}, {"ingress", startIngress}},
			numbers},
		{"busline ingress, short circuit", []stage{brokerStage, {"ingress and service", startIngressBeside}}, numbers},
	}
}

// Scenarios returns everything that can be measured.
func Scenarios() []rounds.Scenario {
	cores := runtime.GOMAXPROCS(0)
	callers, largeCallers := callersPerCore*cores, largeCallersPerCore*cores
	adding, echo1K, echo64K := work(adding), echoing(1<<10), echoing(64<<10)
	all := []rounds.Scenario{
		{Title: "Add", Floor: floor, Rival: rival, Callers: callers, Contenders: adding.by(here, distant())},
		{Title: "Echo 1 KiB", Floor: floor, Rival: rival, Callers: callers, Contenders: echo1K.by(here, distant())},
		{Title: "Echo 64 KiB", Floor: floor, Rival: rival, Callers: largeCallers, Contenders: echo64K.by(here, distant())},
		{Title: "Add between processes", Floor: floor, Rival: rival, Callers: callers,
			Contenders: adding.by(apart, distant())},
		{Title: "Echo 1 KiB between processes", Floor: floor, Rival: rival, Callers: callers,
			Contenders: echo1K.by(apart, distant())},
		{Title: "multicast of Add to 16", Floor: floor, Callers: largeCallers, Contenders: []rounds.Contender{
			{Name: floor, Start: startNATSMulticast},
			{Name: "busline", Start: startBuslineMulticast},
		}},
		{Title: "stream of 1000 elements", Floor: rival, Callers: largeCallers, Contenders: streaming(false)},
		{Title: "an event stored", Floor: logFloor, Callers: callers, Contenders: storing()},
		{Title: "Add in the process", Floor: localFloor, Callers: callers, Contenders: adding.by(here, local())},
		{Title: "Echo 1 KiB in the process", Floor: localFloor, Callers: callers, Contenders: echo1K.by(here, local())},
		{Title: "Echo 64 KiB in the process", Floor: localFloor, Callers: callers, Contenders: echo64K.by(here, local())},
		{Title: "stream of 1000 elements in the process", Floor: localFloor, Callers: largeCallers,
			Contenders: streaming(true)},
	}
	for _, connections := range []int{64, 512, 2000} {
		all = append(all, rounds.Scenario{
			Title: fmt.Sprintf("Add over HTTP, %d connections", connections), Floor: proxy, Rival: gateway, Callers: connections,
			Contenders: adding.by(apart, gateways()),
		})
	}
	return all
}

// Ledger returns what the ledger keeps, all within this process: each scenario has its floor and Busline alone.
func Ledger() []rounds.Scenario {
	inProcess := rounds.Scenario{Title: "Add over HTTP", Floor: proxy, Callers: callersPerCore,
		Contenders: work(adding).by(here, gateways())}
	var kept []rounds.Scenario
	for _, each := range append(Scenarios(), inProcess) {
		if !slices.Contains([]string{"Add", "Echo 1 KiB", "Echo 64 KiB", "multicast of Add to 16", "Add over HTTP",
			"stream of 1000 elements", "an event stored", "Add in the process"}, each.Title) {
			continue
		}
		each.Contenders = slices.DeleteFunc(each.Contenders, func(c rounds.Contender) bool {
			return c.Name != each.Floor && !strings.HasPrefix(c.Name, "busline") || c.Name == "busline ingress, short circuit"
		})
		kept = append(kept, each)
	}
	return kept
}
