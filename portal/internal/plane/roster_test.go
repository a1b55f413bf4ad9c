package plane_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/portal/internal/plane"
)

// look makes hosts answer, one instance each and in that order, and returns those that are admitted, and how many are
// left out.
func look(roster *plane.Roster, hosts ...string) (admitted []string, leftOut int) {
	answering := roster.Gather()
	for _, host := range hosts {
		answering.Add(plane.Peer{Host: host, ID: "i1aaaaaaaa"})
	}
	peers, leftOut := answering.Admit()
	for _, each := range peers {
		admitted = append(admitted, each.Host)
	}
	return admitted, leftOut
}

// TestRoster_Admit holds that the instances that are known longest come first, that the number is bounded, and that an
// instance may miss some looks.
func TestRoster_Admit(t *testing.T) {
	t.Parallel()
	roster := new(plane.Roster)
	look(roster, "counter.example")
	var invented []string
	for at := range 6000 {
		invented = append(invented, fmt.Sprintf("a%d.example", at))
	}
	for range 8 {
		admitted, leftOut := look(roster, invented...)
		require.Len(t, admitted, 4096)
		require.Equal(t, 1904, leftOut)
	}
	admitted, leftOut := look(roster, append(invented, "counter.example")...)
	require.Len(t, admitted, 4096)
	assert.Equal(t, "counter.example", admitted[0])
	assert.Equal(t, 1905, leftOut)
}
