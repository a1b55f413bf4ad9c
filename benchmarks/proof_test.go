package benchmarks_test

import (
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

// BenchmarkProof measures what the proof of the caller costs: a call without keys, one that carries a proof, and one of
// an endpoint that requires it.
func BenchmarkProof(b *testing.B) {
	keys := bustest.NewServiceKeys(b, callerHost)
	for _, path := range busPaths() {
		for _, test := range []struct {
			name            string
			caller, serving []bus.ConnectOption
			serve           []bus.ServeOption
		}{
			{"without", nil, nil, nil},
			{"key", []bus.ConnectOption{keys.Prove()}, nil, nil},
			{"required", []bus.ConnectOption{keys.Prove()}, []bus.ConnectOption{keys.Trust()},
				[]bus.ServeOption{bus.RequireCallers(callerHost)}},
		} {
			b.Run(path.name+"/"+test.name, func(b *testing.B) {
				shared := path.join(b)
				serve(b, connect(b, serviceHost, append(test.serving, shared...)...), test.serve...)
				caller := typedClient(connect(b, callerHost, append(test.caller, shared...)...), serviceHost)
				inModes(b, callersPerCore, path.clocked, caller.adding())
			})
		}
	}
}
