package main

import (
	"context"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/benchmarks/child"
)

func TestMain(m *testing.M) {
	isChild, err := child.Run(context.Background(),
		map[string]child.Role{brokerRole: child.Broker, instancesRole: beInstances, portalRole: bePortal})
	if !isChild {
		os.Exit(m.Run())
	}
	if err != nil {
		log.Fatal(err)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	var tables strings.Builder
	arguments := strings.Fields("-instances 1,5,3 -processes 2 -settle 0 -look 0 -announcements 20")
	require.NoError(t, run(t.Context(), arguments, &tables))
	assert.Regexp(t, `\n\| 5 +\| 2 +\|`, tables.String())
	assert.Regexp(t, `\n\| … deliveries of the broker, 1/s +\|`, tables.String())
	assert.NotContains(t, tables.String(), "NaN")
}

func TestRun_Refuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ arguments, want string }{
		{"-instances 10,many", `-instances 10,many: "many" is no number above zero`},
		{"-processes 0", `-processes 0: "0" is no number above zero`},
		{"-instanzes 1", "flag provided but not defined: -instanzes"},
	} {
		assert.ErrorContains(t, run(t.Context(), strings.Fields(test.arguments), new(strings.Builder)), test.want)
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	of := func(m *figures) float64 { return 3 + 2*float64(m.instances) }
	found := fit([]figures{{instances: 10}, {instances: 100}, {instances: 400}}, of)
	assert.InDelta(t, 3, found.base, 1e-6)
	assert.InDelta(t, 2003, found.at(1000), 1e-6)
}
