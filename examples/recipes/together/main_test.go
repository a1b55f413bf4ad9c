package main_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/exampletest"
	"github.com/busline/busline/examples/internal/recipetest"
)

// TestPage has both services answer the commands of the page: in one process, and in two.
func TestPage(t *testing.T) {
	t.Parallel()
	executable := exampletest.Build(t, ".")
	for _, processes := range [][]string{{"stock.example,shop.example"}, {"stock.example", "shop.example"}} {
		b := bustest.New(t, broker.Listen("127.0.0.1:0"))
		var started []*exampletest.Program
		for _, services := range processes {
			program := exampletest.Start(t, executable,
				"BUS_NATS_URL="+b.Broker().URL(), "BUS_PLANE="+b.Plane(), "SERVICES="+services)
			for host := range strings.SplitSeq(services, ",") {
				program.Await("ready " + host)
			}
			started = append(started, program)
		}
		recipetest.Curl(t, b, "together", nil)
		for _, program := range started {
			program.Stop()
		}
	}
}

func TestServices_Unknown(t *testing.T) {
	t.Parallel()
	status, stderr := exampletest.Start(t, exampletest.Build(t, "."), "SERVICES=stok.example").Wait()
	assert.Equal(t, 1, status)
	assert.Contains(t, stderr, `SERVICES names "stok.example"; use stock.example, shop.example or both`)
}
