package bus

import (
	"io"
	"net/http"
	"slices"

	"github.com/busline/busline/bus/metrics"
)

// MetricsHandler returns an http.Handler that writes the metrics of several connections of a process as one page in the
// text format of Prometheus: those that [Conn.ServeMetrics] writes of each. A connection that is given twice counts
// once; without any the page is empty. The handler may be used by several goroutines at once.
func MetricsHandler(conns ...*Conn) http.Handler {
	var once []*Conn
	for _, conn := range conns {
		if !slices.Contains(once, conn) {
			once = append(once, conn)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var merged metrics.Merger
		for _, conn := range once {
			if err := merged.Add(conn.exposition()); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		w.Header().Set("Content-Type", metrics.ContentType)
		_, _ = io.WriteString(w, merged.String()) // it fails when the client is gone
	})
}
