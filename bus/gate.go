package bus

import "sync"

// gate counts what is under way, lets no more than limit in, and once shut tells when the last has left.
type gate struct {
	mu     sync.Mutex // protects all below
	limit  int        // 0: none
	inside int
	shut   bool
	empty  chan struct{} // closed when shut and nobody is inside
}

// admission is the answer of a gate.
type admission int

const (
	admitted admission = iota
	gateFull
	gateShut
)

func newGate(limit int) *gate { return &gate{limit: limit, empty: make(chan struct{})} }

// enter asks to come in; who is admitted must leave.
func (g *gate) enter() admission {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.shut:
		return gateShut
	case g.limit > 0 && g.inside >= g.limit:
		return gateFull
	}
	g.inside++
	return admitted
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside--; g.inside == 0 && g.shut {
		close(g.empty)
	}
}

// close lets nobody in any more and returns a channel that is closed when the last has left.
func (g *gate) close() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.shut {
		g.shut = true
		if g.inside == 0 {
			close(g.empty)
		}
	}
	return g.empty
}

func (g *gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}

// count returns how many are inside.
func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inside
}
