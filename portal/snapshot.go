package portal

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/restmap/openapi"
)

// parallelFetches is how many documents are fetched at a time.
const parallelFetches = 16

// snapshot is the aggregated document at one moment. It is not changed once it is made.
type snapshot struct {
	before, after []byte // the document as JSON, before and after the base URL
	instances     []byte // the running instances, as JSON
	visible       visibility
	leftOut       []string // sentences
}

// gather makes a snapshot of the bus with the rights of the caller.
func (c *catalog) gather(ctx context.Context, _ time.Time) (*snapshot, error) {
	ctx = bus.WithActor(ctx, c.token)
	found, err := c.discover(ctx)
	if err != nil {
		return nil, err
	}
	members, leftOut := c.fetchAll(ctx, found.places)
	if found.leftOut > 0 {
		leftOut = append(leftOut, fmt.Sprintf("%d instances are left out: more than %d answer, and these came last.", found.leftOut, maxPeers))
	}
	instances, err := c.describeInstances(found, members)
	if err != nil {
		return nil, err
	}
	visible := visibleIn(members)
	document := openapi.Merge(openapi.Info{
		Title:       "Services on the bus",
		Description: strings.Join(leftOut, "\n"),
		Version:     cmp.Or(c.conn.Version(), "0"),
	}, "", members)
	made, err := newSnapshot(document, instances)
	if err != nil {
		return nil, err
	}
	made.visible, made.leftOut = visible, leftOut
	return made, nil
}

// fetchAll fetches the documents of all places in their order. It returns them, and which are missing and why, both sorted
// by place.
func (c *catalog) fetchAll(ctx context.Context, places []place) (members []openapi.Member, leftOut []string) {
	documents := make([]*openapi.Document, len(places))
	faults := make([]error, len(places))
	room := make(chan struct{}, parallelFetches)
	var fetching sync.WaitGroup
	for at, from := range places {
		room <- struct{}{}
		fetching.Go(func() {
			defer func() { <-room }()
			documents[at], faults[at] = c.fetch(ctx, from)
		})
	}
	fetching.Wait()
	order := make([]int, len(places))
	for at := range order {
		order[at] = at
	}
	slices.SortFunc(order, func(a, b int) int { return places[a].compare(places[b]) })
	for _, at := range order {
		from := places[at]
		if faults[at] != nil {
			leftOut = append(leftOut, from.String()+" is left out: "+faults[at].Error()+".")
		} else if documents[at] != nil {
			members = append(members, openapi.Member{Host: from.host, Port: from.port, Document: documents[at]})
		}
	}
	return members, leftOut
}

// newSnapshot marshals the document once; only the base URL differs from reader to reader.
func newSnapshot(document *openapi.Document, instances []byte) (*snapshot, error) {
	mark := rand.Text()
	document.Servers = []openapi.Server{{URL: mark}}
	text, err := document.JSON()
	if err != nil {
		return nil, err
	}
	before, after, found := bytes.Cut(text, quote(mark))
	if !found {
		return nil, errors.New("the document has no server")
	}
	return &snapshot{before: before, after: after, instances: instances}, nil
}

// json returns the document for readers that reach the ingress at the base URL.
func (s *snapshot) json(baseURL string) []byte {
	return bytes.Join([][]byte{s.before, s.after}, quote(baseURL))
}
