package trace

import (
	"cmp"
	"slices"
	"time"

	"github.com/busline/busline/bus"
)

// MaxCalls is how many calls of a trace are put together. Further ones are left out.
const MaxCalls = 10_000

// Node is a call in the tree of a trace. Its Began is by the clock of its parent.
type Node struct {
	Call

	// Gap says why a call is not directly below its cause, that its cause is not known, or that no callee has a record of
	// it; "" if nothing is missing.
	Gap string `json:"gap,omitempty"`
	// Shift is by how much Began was corrected, because the clocks of two machines differ; 0 if it was not.
	Shift time.Duration `json:"shift,omitempty"`
	// Children are the calls that this one has caused, by their beginning. Below a call of the client side these are the
	// instances that it has reached: several by attempts, by a multicast, or as subscribers.
	Children []*Node `json:"children,omitempty"`
}

// Build puts calls of one trace together, as a tree for each call whose cause is not among them. The records may come
// from anyone: what contradicts itself is shown somewhere, and what comes twice is shown once. Calls beyond [MaxCalls]
// are ignored.
func Build(calls []Call) (roots []*Node) {
	f := newFamily(calls)
	parents := make(map[*Node]*Node, len(f.nodes))
	for _, each := range f.nodes {
		if above := f.parent(each); above != nil && above != each {
			parents[each] = above
		}
	}
	f.cutCycles(parents)
	for _, each := range f.nodes {
		if above := parents[each]; above != nil {
			above.Children = append(above.Children, each)
		} else {
			roots = append(roots, each)
		}
	}
	for _, each := range f.nodes {
		each.noteCallee()
	}
	for _, each := range roots {
		each.align(0)
	}
	return roots
}

// place is an instance, and what a record of it is found by.
type place struct{ host, id, by string }

// family finds the causes of calls.
type family struct {
	nodes    []*Node // by their beginning
	byMsgID  map[string]*Node
	bySpan   map[string]*Node
	bySender map[place]*Node         // calls of the client side by caller and span
	begins   map[place]*Node         // calls that begin the trace, by caller
	served   map[place]*Node         // calls of the server side by callee and message id
	depths   map[instanceDepth]nodes // calls of the server side by callee and depth
}

type instanceDepth struct {
	host, id string
	depth    int
}

type nodes = []*Node

func newFamily(calls []Call) *family {
	f := &family{byMsgID: make(map[string]*Node), bySpan: make(map[string]*Node), bySender: make(map[place]*Node),
		begins: make(map[place]*Node), served: make(map[place]*Node), depths: make(map[instanceDepth]nodes)}
	seen := make(map[place]bool)
	for i := range calls[:min(len(calls), MaxCalls)] {
		each := calls[i]
		each.repair()
		once := place{each.From + " " + each.To, each.FromID + " " + each.ToID, each.Side.String() + each.SpanID +
			each.MsgID + each.ParentMsgID + each.Began.String()}
		if !seen[once] {
			seen[once] = true
			f.nodes = append(f.nodes, &Node{Call: each})
		}
	}
	slices.SortStableFunc(f.nodes, func(a, b *Node) int { return a.Began.Compare(b.Began) })
	for _, each := range f.nodes {
		f.note(each)
	}
	return f
}

// repair makes times usable that no instance can mean.
func (c *Call) repair() {
	const longest = 30 * 24 * time.Hour
	c.Took = min(max(c.Took, 0), longest)
	if year := c.Began.Year(); year < 1970 || year > 2200 {
		c.Began = time.Unix(0, 0)
	}
}

// note notes by what a call is found. The first one counts.
func (f *family) note(n *Node) {
	if n.Side == bus.ServerSide {
		first(f.served, place{n.To, n.ToID, n.MsgID}, n)
		at := instanceDepth{n.To, n.ToID, n.Depth}
		f.depths[at] = append(f.depths[at], n)
		return
	}
	first(f.byMsgID, n.MsgID, n)
	first(f.bySender, place{n.From, n.FromID, n.SpanID}, n)
	if n.SpanID != "" {
		first(f.bySpan, n.SpanID, n)
	}
	if n.ParentMsgID == "" {
		first(f.begins, place{n.From, n.FromID, ""}, n)
	}
}

func first[K comparable](in map[K]*Node, key K, n *Node) {
	if in[key] == nil {
		in[key] = n
	}
}

// parent returns the cause of a call, else the nearest one that is known, and notes the gap. It returns nil for none.
func (f *family) parent(n *Node) *Node {
	if n.Side == bus.ServerSide {
		return f.callOf(n)
	}
	if n.ParentMsgID == "" {
		return nil
	}
	if serving := f.served[place{n.From, n.FromID, n.ParentMsgID}]; serving != nil {
		return serving
	}
	n.Gap = n.From + " does not remember the request that it served"
	return f.bySpan[n.ParentSpanID]
}

// callOf returns the call of the client side that a request has come by.
func (f *family) callOf(n *Node) *Node {
	if call := f.byMsgID[n.MsgID]; call != nil && n.MsgID != "" && call.FromID == n.FromID {
		return call
	}
	if call := f.bySender[place{n.From, n.FromID, n.SpanID}]; call != nil {
		return call
	}
	if call := f.begins[place{n.From, n.FromID, ""}]; call != nil && n.SpanID == "" {
		return call // an attempt before those that name the trace
	}
	n.Gap = n.From + " does not remember this call"
	if call := f.bySpan[n.SpanID]; call != nil {
		return call // it came through the caller, which has passed the span on
	}
	before := f.depths[instanceDepth{n.From, n.FromID, n.Depth - 1}]
	at, _ := slices.BinarySearchFunc(before, n.Began, func(each *Node, began time.Time) int {
		return cmp.Or(each.Began.Compare(began), -1)
	})
	if at == 0 {
		return nil
	}
	return before[at-1]
}

// cutCycles makes a root of a call in each cycle.
func (f *family) cutCycles(parents map[*Node]*Node) {
	walks := make(map[*Node]int, len(f.nodes))
	for walk, n := range f.nodes {
		for n != nil && walks[n] == 0 {
			walks[n] = walk + 1
			n = parents[n]
		}
		if n != nil && walks[n] == walk+1 {
			n.Gap = "what caused this call is contradictory"
			delete(parents, n)
		}
	}
}

// noteCallee notes that a call which was sent has no record of the server side.
func (n *Node) noteCallee() {
	isMissing := n.Side == bus.ClientSide && n.Budget > 0 && n.Executed != bus.ExecutedNo && !n.IsEvent() &&
		(!n.Multicast || n.Answers > 0)
	if !isMissing || slices.ContainsFunc(n.Children, n.hasReached) {
		return
	}
	if n.Gap != "" {
		n.Gap += "; "
	}
	n.Gap += "no record of the callee: it is still running, has forgotten it, or does not use trace.Record"
}

// hasReached reports whether a call below this one is the same at its callee.
func (n *Node) hasReached(child *Node) bool {
	return child.Side == bus.ServerSide && child.FromID == n.FromID
}

// align corrects the beginnings below a call, which itself was shifted.
func (n *Node) align(shift time.Duration) {
	n.Shift, n.Began = shift, n.Began.Add(shift)
	for _, child := range n.Children {
		child.align(shift + n.skew(child, shift))
	}
	slices.SortStableFunc(n.Children, func(a, b *Node) int { return a.Began.Compare(b.Began) })
}

// skew returns by how much the clock of a child's instance differs, 0 if nothing says that it does. Calls of the same
// instance are by one clock. As nothing else is known, a request and its answer take the same time to travel.
func (n *Node) skew(child *Node, shift time.Duration) time.Duration {
	if n.Side == child.Side || n.Side == bus.ServerSide && n.ToID == child.FromID {
		return 0
	}
	late := child.Began.Add(shift).Sub(n.Began)
	spare := n.Took - child.Took
	switch {
	case late >= 0 && (late <= spare || !n.awaits(child)):
		return 0
	case spare < 0 || !n.awaits(child):
		return -late
	default:
		return spare/2 - late
	}
}

// awaits reports whether a call has ended after the request of a child had.
func (n *Node) awaits(child *Node) bool {
	return !n.Multicast && !n.Stream && !child.Stream && !n.IsEvent() && n.MsgID == child.MsgID &&
		(n.Status < 400 || n.Executed == bus.ExecutedYes)
}
