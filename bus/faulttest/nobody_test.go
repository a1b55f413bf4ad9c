package faulttest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
)

// TestNobody calls hosts without an instance, one call after the other.
func TestNobody(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		brokers int
	}{{"1 broker", 1}, {"3 brokers", 3}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, test.brokers, brokerConfig{})
			caller := s.caller(t, 0)
			var took []time.Duration
			for range pick(100, 5000) {
				began := time.Now()
				err := caller.Call(t.Context(), "https://nobody.example/do", task{}, nil)
				took = append(took, time.Since(began))
				failed, _ := errors.AsType[*bus.Error](err)
				require.NotNil(t, failed)
				require.Equal(t, bus.ExecutedNo, failed.Executed)
				require.ErrorIs(t, err, bus.ErrNoResponder)
			}
			figures.addRow(t, "nobody subscribed, "+test.name, "p99 ≤ 20 ms", "%d calls: %s", len(took), spread(took))
		})
	}
}
