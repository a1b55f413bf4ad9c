package trace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/subject"
)

// Trace is what the instances on a plane remember of one trace.
type Trace struct {
	ID    string  `json:"id"`
	Roots []*Node `json:"roots"` // none: no instance remembers the trace
	// Instances is how many instances have answered, and Without how many of these do not use [Record]. An instance that
	// asks without Record does not count.
	Instances int `json:"instances"`
	Without   int `json:"without"`
	// Failed are the instances that have not answered, or not with their calls. The rest is shown.
	Failed []Peer `json:"failed,omitempty"`
	// LeftOut is how many calls exceed the limits: 2000 of an instance, [MaxCalls] in all.
	LeftOut int `json:"leftOut,omitempty"`
}

// Peer is an instance of which a trace has nothing, and why.
type Peer struct {
	Host string `json:"host"`
	ID   string `json:"id"`
	Why  string `json:"why"`
}

// maxFailed limits how many instances are listed as failed.
const maxFailed = 1000

// Gather asks all instances on the plane of a connection for the calls of a trace, whose id is that of [ParseID], and
// puts these together. The token of ctx says who asks (see [bus.WithActor]): an instance may show its calls to
// operators alone. It sends one multicast, and waits for as long as one takes. An error says that this failed;
// instances that do not answer are in the trace. It is safe for concurrent use.
func Gather(ctx context.Context, conn *bus.Conn, id string) (*Trace, error) {
	if !isID(id) {
		return nil, fmt.Errorf("%.60q is not the id of a trace: see trace.ParseID", id)
	}
	address := fmt.Sprintf("https://%s:%d%s?id=%s", subject.HostAll, subject.ControlPort, feature.TracePath, id)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	g := &gathering{trace: Trace{ID: id}, own: conn.ID()}
	for response, err := range conn.Multicast(request) {
		if err == nil {
			g.take(response)
			continue
		}
		failed, ok := errors.AsType[*bus.Error](err)
		if !ok || failed.Host == "" {
			return nil, err
		}
		g.fail(failed.Host, failed.ID, err)
	}
	g.trace.Roots = Build(g.calls)
	slices.SortFunc(g.trace.Failed, func(a, b Peer) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.ID, b.ID))
	})
	return &g.trace, nil
}

// gathering is a trace whose answers come in.
type gathering struct {
	trace Trace
	own   string // the id of the instance that asks
	calls []Call
}

func (g *gathering) fail(host, id string, err error) {
	if len(g.trace.Failed) < maxFailed {
		g.trace.Failed = append(g.trace.Failed, Peer{host, id, err.Error()})
	}
}

// take takes the answer of an instance.
func (g *gathering) take(response *http.Response) {
	defer response.Body.Close()
	host, id := response.Header.Get("Bus-From-Host"), response.Header.Get("Bus-From-Id")
	isWithout := response.StatusCode == http.StatusNotFound || response.StatusCode == http.StatusMethodNotAllowed
	if isWithout && id == g.own {
		return
	}
	g.trace.Instances++
	switch {
	case response.StatusCode == http.StatusOK:
	case isWithout:
		g.trace.Without++
		return
	default:
		g.fail(host, id, errorOf(response))
		return
	}
	found, err := readAnswer(response)
	if err != nil {
		g.fail(host, id, err)
		return
	}
	g.trace.LeftOut += max(0, min(found.More, 1<<30))
	for i := range found.Calls {
		each := &found.Calls[i]
		each.remembered(host, id)
		switch {
		case each.TraceID != g.trace.ID:
			g.trace.LeftOut++
		case len(g.calls) == MaxCalls:
			g.trace.LeftOut++
		default:
			g.calls = append(g.calls, *each)
		}
	}
}

// remembered sets the instance that remembers a call: it answers only for itself.
func (c *Call) remembered(host, id string) {
	if c.Side == bus.ServerSide {
		c.To, c.ToID = host, id
	} else {
		c.Side, c.From, c.FromID = bus.ClientSide, host, id
	}
}

// errorOf returns what an instance answers in place of its calls.
func errorOf(response *http.Response) error {
	var problem struct {
		Detail string `json:"detail"`
	}
	_ = json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&problem) // else the status says it
	if problem.Detail == "" {
		return fmt.Errorf("it answers %d", response.StatusCode)
	}
	return fmt.Errorf("it answers %d: %.500s", response.StatusCode, problem.Detail)
}

// readAnswer reads the calls of an instance.
func readAnswer(response *http.Response) (found answer, err error) {
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "application/json" {
		return answer{}, fmt.Errorf("its answer is %.60q, and not JSON: something else serves %s on its port %d", kind,
			feature.TracePath, subject.ControlPort)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	switch {
	case err != nil:
		return answer{}, err
	case len(body) > maxAnswerBytes:
		return answer{}, fmt.Errorf("its answer exceeds the limit of %d bytes", maxAnswerBytes)
	}
	if err := json.Unmarshal(body, &found); err != nil {
		return answer{}, fmt.Errorf("its answer is no list of calls: %w", err)
	}
	found.Calls = found.Calls[:min(len(found.Calls), maxCallsOfInstance)]
	return found, nil
}
