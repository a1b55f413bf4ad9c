package simulation_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
)

// world is one bad day: a broker, callers, instances of one host, and a plan of what is called and what breaks.
type world struct {
	seed    uint64
	plan    *plan
	draw    *rand.Rand // of the broker, for what the plan does not say
	history history

	mu      sync.Mutex // protects all below, the broker, its links, and what was seen of calls
	broker  *broker
	nodes   []*node // instances first, in the order of their start
	callers []*node
}

// node is a process with a connection to the bus.
type node struct {
	world   *world
	name    string // "echo-1"
	host    string
	conn    *bus.Conn
	link    *link // the latest
	crashed bool
	leaving bool // it is told to close, or has

	crashedAt time.Time
	closeErr  error
}

const (
	echoHost   = "echo.example"
	callerHost = "caller.example"
)

// weather is how long messages are under way.
type weather struct {
	usual, worst time.Duration
	gusts        float64 // how many of the messages need up to the worst time
}

func (w weather) delay(draw *rand.Rand) time.Duration {
	longest := w.usual
	if draw.Float64() < w.gusts {
		longest = w.worst
	}
	return 10*time.Microsecond + time.Duration(draw.Int64N(int64(longest)))
}

// newWorld returns the world of a seed, in which nothing has happened yet.
func newWorld(seed uint64) *world {
	w := &world{seed: seed, draw: rand.New(rand.NewPCG(seed, 1<<32))}
	w.plan = newPlan(rand.New(rand.NewPCG(seed, 1<<33)))
	w.broker = &broker{world: w, maxPayload: w.plan.maxPayload, clustered: w.plan.clustered}
	w.history.begin(w)
	return w
}

// at does something at a time, under the lock.
func (w *world) at(when time.Time, do func()) {
	time.AfterFunc(time.Until(when), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		do()
	})
}

// longestDay is how long the calls of a day may take before one of them counts as endless.
const longestDay = 10 * time.Minute

// run lives through the day, and returns what was not as promised.
func (w *world) run(ctx context.Context) (broken []violation) {
	for range w.plan.instances {
		if _, err := w.start(ctx, echoHost); err != nil {
			return []violation{{"Start", err.Error()}}
		}
	}
	for range w.plan.callers {
		if _, err := w.start(ctx, callerHost); err != nil {
			return []violation{{"Start", err.Error()}}
		}
	}
	time.Sleep(time.Second)
	w.mu.Lock()
	w.history.begin(w)
	w.mu.Unlock()
	var acts sync.WaitGroup
	for _, each := range w.plan.calls {
		acts.Go(func() {
			time.Sleep(each.at)
			w.call(ctx, each)
		})
	}
	for _, each := range w.plan.faults {
		acts.Go(func() {
			time.Sleep(each.at)
			w.strike(ctx, each)
		})
	}
	over := make(chan struct{})
	go func() {
		acts.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(longestDay):
		return append(w.check(), violation{"EveryCallEnds", fmt.Sprintf("something goes on after %s", longestDay)})
	}
	time.Sleep(w.plan.longestBudget() + 5*time.Second) // handlers whose callers have left are over then
	return append(w.check(), w.closeAll(ctx)...)
}

// start starts an instance or a caller.
func (w *world) start(ctx context.Context, host string) (*node, error) {
	w.mu.Lock()
	of, name := &w.nodes, "echo"
	if host == callerHost {
		of, name = &w.callers, "caller"
	}
	n := &node{world: w, name: fmt.Sprintf("%s-%d", name, len(*of)+1), host: host}
	w.mu.Unlock()
	conn, err := bus.Connect(ctx, host, bus.WithBroker(n), bus.WithPlane("sim"), bus.WithLogger(zerolog.Nop()),
		bus.WithConnectTimeout(time.Minute))
	if err != nil {
		return nil, fmt.Errorf("%s does not start: %w", n.name, err)
	}
	if n.conn = conn; host == echoHost {
		err = n.serve()
	}
	if err != nil {
		_ = conn.Close(ctx)
		return nil, fmt.Errorf("%s does not serve: %w", n.name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	*of = append(*of, n)
	w.history.addf("%s has started", n.name)
	return n, nil
}

// InProcessConn connects the node to the broker. It is a [nats.InProcessConnProvider].
func (n *node) InProcessConn() (net.Conn, error) {
	w := n.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if n.crashed || w.broker.away {
		return nil, &net.OpError{Op: "dial", Err: net.ErrClosed}
	}
	n.link = w.broker.newLink(n)
	return n.link, nil
}

// Spread has the pauses of a reconnection decided by the seed. It is a [testbroker.Seeded].
func (n *node) Spread(below time.Duration) time.Duration {
	w := n.world
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(n.link.draw.Int64N(int64(below)))
}

// strike lets one thing break.
func (w *world) strike(ctx context.Context, f fault) {
	switch f.kind {
	case crash:
		w.crash(ctx, f)
	case leave:
		w.replace(ctx, f)
	case outage:
		w.outage(f)
	default:
		w.disturb(f)
	}
}

// victim returns the node that a fault meets, nil if there is none.
func (w *world) victim(f fault) *node {
	var there []*node
	for _, each := range w.nodes {
		if !each.crashed && !each.leaving {
			there = append(there, each)
		}
	}
	if f.kind != crash && f.kind != leave {
		there = append(there, w.callers...)
	}
	if len(there) == 0 {
		return nil
	}
	return there[f.victim%len(there)]
}

// crash ends a process at once: nothing of it reaches anyone any more.
func (w *world) crash(ctx context.Context, f fault) {
	w.mu.Lock()
	n := w.victim(f)
	if n != nil {
		n.crashed, n.crashedAt = true, time.Now()
		w.history.addf("%s crashes; the broker notices it %s later", n.name, f.unnoticed)
		n.link.sever(f.unnoticed, true)
	}
	w.mu.Unlock()
	if n != nil && f.lasts > 0 {
		time.Sleep(f.lasts)
		w.mustStart(ctx)
	}
}

// mustStart starts another instance, as soon as the broker is there.
func (w *world) mustStart(ctx context.Context) {
	if _, err := w.start(ctx, echoHost); err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.history.addf("no further instance: %s", err)
	}
}

// replace has an instance leave in good order, and another one start before.
func (w *world) replace(ctx context.Context, f fault) {
	ends := time.Now().Add(f.lasts)
	w.mustStart(ctx)
	time.Sleep(time.Until(ends))
	w.mu.Lock()
	n := w.victim(f)
	if n != nil {
		n.leaving = true
		w.history.addf("%s closes", n.name)
	}
	w.mu.Unlock()
	if n == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, w.plan.longestBudget()+5*time.Second)
	defer cancel()
	err := n.conn.Close(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	n.closeErr = err
	w.history.addf("%s has closed: %v", n.name, err)
}

// outage ends the broker for a while.
func (w *world) outage(f fault) {
	w.mu.Lock()
	w.history.addf("the broker is gone for %s", f.lasts)
	w.broker.away = true
	for _, each := range slices.Concat(w.nodes, w.callers) {
		each.link.sever(0, true)
	}
	w.broker.subs = nil
	w.mu.Unlock()
	time.Sleep(f.lasts)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broker.away = false
	w.history.addf("the broker is back")
}

// disturb breaks or stops the link of one node.
func (w *world) disturb(f fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.victim(f)
	switch {
	case n == nil:
	case f.kind == stall:
		w.history.addf("nothing moves to and from %s for %s", n.name, f.lasts)
		n.link.still = time.Now().Add(f.lasts)
	case f.kind == cut:
		w.history.addf("the link of %s breaks; the broker notices it %s later", n.name, f.unnoticed)
		n.link.sever(f.unnoticed, true)
	case f.kind == silence:
		w.history.addf("the link of %s breaks, and it does not notice; the broker does so %s later", n.name, f.unnoticed)
		n.link.sever(f.unnoticed, false)
	}
}

// closeAll closes what is left, and returns what was still going on.
func (w *world) closeAll(ctx context.Context) (broken []violation) {
	for _, each := range slices.Concat(w.callers, w.nodes) {
		limit := 5 * time.Second
		if each.crashed {
			limit = 0
		}
		closing, cancel := context.WithTimeout(ctx, limit)
		err := each.conn.Close(closing)
		cancel()
		if err != nil && !each.crashed {
			broken = append(broken, violation{"NothingLeft", fmt.Sprintf("%s: %s", each.name, err)})
		}
	}
	time.Sleep(time.Minute)
	return broken
}
