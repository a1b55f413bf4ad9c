package kit

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
)

// Gathered is what a multicast has yielded, in order.
type Gathered struct {
	IDs    []string // of responses, before the first error
	Errors []error
}

// Gather makes a multicast and takes what comes, at most limit items.
func Gather(ctx context.Context, t *testing.T, conn *bus.Conn, limit int) (all Gathered) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, CalculatorURL+"/who", nil)
	require.NoError(t, err)
	for response, err := range conn.Multicast(request) {
		if (response == nil) == (err == nil) {
			t.Errorf("yielded %v with %v", response, err)
		}
		switch {
		case err != nil:
			all.Errors = append(all.Errors, err)
		case len(all.Errors) > 0:
			t.Errorf("a response after %v", all.Errors)
		default:
			_ = response.Body.Close()
			all.IDs = append(all.IDs, response.Header.Get("Bus-From-Id"))
		}
		if limit--; limit == 0 {
			break
		}
	}
	slices.Sort(all.IDs)
	return all
}

// Everything has Gather take all that comes.
const Everything = -1
