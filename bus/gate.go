package bus

import (
	"math"
	"sync"
)

// gate counts calls or requests that are under way, lets at most limit of them work at once, and once shut tells when the
// last has left. Whatever is inside works until it rests or leaves.
type gate struct {
	mu      sync.Mutex // protects all below
	limit   int        // of those that work; 0: none
	working int
	inside  int
	shut    bool
	empty   chan struct{} // closed when nobody is inside any more; made when it is shut
	told    bool          // empty is closed
}

// admission is the answer of a gate.
type admission int

const (
	admitted admission = iota
	gateFull
	gateShut
)

func newGate(limit int) *gate { return &gate{limit: limit} }

// enter asks for admission; whoever is admitted must rest and then leave.
func (g *gate) enter() admission {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.shut:
		return gateShut
	case g.limit > 0 && g.working >= g.limit:
		return gateFull
	}
	g.inside++
	g.working++
	return admitted
}

// free returns for how many more there is room.
func (g *gate) free() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.limit == 0 {
		return math.MaxInt
	}
	return g.limit - g.working
}

// accompany admits a request made by one that is inside this gate, or another one of the connection, even if the gate is
// shut or full.
func (g *gate) accompany() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside++
	g.working++
}

// rest makes room for another one, before leaving or while it only waits.
func (g *gate) rest() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.working--
}

// resume ends a rest, even if the gate is full.
func (g *gate) resume() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.working++
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.tell()
}

// tell announces once that nobody is inside any more; others may still come in by accompany. The lock is held.
func (g *gate) tell() {
	if g.shut && g.inside == 0 && !g.told {
		g.told = true
		close(g.empty)
	}
}

// close lets nobody in any more and returns a channel that is closed when the last has left.
func (g *gate) close() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.shut {
		g.shut, g.empty = true, make(chan struct{})
		g.tell()
	}
	return g.empty
}

// count returns how many are inside, and how many of them work.
func (g *gate) count() (inside, working int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inside, g.working
}
