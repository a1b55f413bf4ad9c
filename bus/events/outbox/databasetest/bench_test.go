package databasetest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// relayed is how many rows wait when a relay begins.
const relayed = 20_000

// BenchmarkOutbox_Relay measures how many rows a relay publishes in a second, to a broker in the same process.
func BenchmarkOutbox_Relay(b *testing.B) {
	for name, open := range map[string]func(testing.TB) database{"SQLite": newSQLite, "PostgreSQL": newPostgreSQL} {
		b.Run(name, func(b *testing.B) {
			s := newSite(b, open(b))
			s.publisher(b)
			require.NoError(b, s.box.Migrate(b.Context()))
			var took time.Duration
			for range b.N {
				all := make([]ordered, relayed)
				for i := range all {
					all[i] = ordered{string(rune('a' + i%20)), i}
				}
				s.publish(b, b.Context(), true, all...)
				began := time.Now()
				s.relay(b)
				s.drained(b)
				took += time.Since(began)
				s.stop(b)
			}
			b.ReportMetric(float64(relayed*b.N)/took.Seconds(), "rows/s")
		})
	}
}
