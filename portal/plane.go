package portal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
)

// maxTold is the largest answer of one instance, in bytes.
const maxTold = 4 << 20

// peer identifies one instance.
type peer struct{ host, id string }

// String returns "3k8qz1v0.calculator.example", which is an address of the instance.
func (p peer) String() string { return p.id + "." + p.host }

func (p peer) compare(q peer) int {
	return cmp.Or(cmp.Compare(p.host, q.host), cmp.Compare(p.id, q.id))
}

// valid says whether host and ID are well-formed, so that the peer can be called.
func (p peer) valid() bool { return subject.CheckHost(p.host) == nil && subject.CheckID(p.id) == nil }

// askAll calls port 888 of "all" on every instance of the plane, and passes on each answer, or the error of an instance
// that does not answer. It fails if the call as a whole has failed, or if nobody answers: the calling instance answers
// too, so the broker cannot be reached then.
func askAll(ctx context.Context, conn *bus.Conn, path string, answered func(from peer, body []byte, err error)) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://all:888"+path, http.NoBody)
	if err != nil {
		return err
	}
	anybody := false
	for response, err := range conn.Multicast(request) {
		if err != nil {
			failed, ok := errors.AsType[*bus.Error](err)
			if !ok || failed.Host == "" {
				return err
			}
			if from := (peer{failed.Host, failed.ID}); from.valid() {
				answered(from, nil, errors.New("it did not answer in time"))
			}
			continue
		}
		anybody = true
		from := peer{response.Header.Get("Bus-From-Host"), response.Header.Get("Bus-From-Id")}
		body, err := readTold(response)
		if from.valid() {
			answered(from, body, err)
		}
	}
	if !anybody {
		return bus.Errorf(http.StatusServiceUnavailable, "nobody answers; the broker is out of reach")
	}
	return nil
}

// readTold reads the answer of an instance.
func readTold(response *http.Response) ([]byte, error) {
	defer response.Body.Close()
	switch {
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answers with status %d", response.StatusCode)
	case response.ContentLength > maxTold:
		return nil, fmt.Errorf("it answers with more than %d bytes", maxTold)
	}
	return io.ReadAll(response.Body)
}
