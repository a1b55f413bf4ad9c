package bus

import (
	"math"
	"sync"
)

// gate counts calls or requests that are under way, lets at most limit of them work at once, and once shut tells when the
// last has left. Whatever is inside works until it rests or leaves, or waits to work.
//
// Some can wait, and have a share of the limit: neither can those that cannot wait keep them out for good, nor the other way
// round.
type gate struct {
	mu      sync.Mutex // protects all below
	limit   int        // of those that work; 0: none
	working int
	patient int // of those that work: that could wait
	waiting int // inside, and not working yet
	inside  int
	shut    bool
	empty   chan struct{} // closed when nobody is inside any more; made by close
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
	case !g.hasRoom():
		return gateFull
	}
	g.inside++
	g.working++
	return admitted
}

// hasRoom says whether one that cannot wait may work. The last place is for those that wait, as long as they have less than
// their share. The lock is held.
func (g *gate) hasRoom() bool {
	if g.limit == 0 {
		return true
	}
	places := g.limit
	if g.waiting > 0 && g.patient < g.share() {
		places--
	}
	return g.working < places
}

// share is how many of those that can wait may work: all but a quarter. The lock is held.
func (g *gate) share() int {
	const quarter = 4
	return g.limit - g.limit/quarter
}

// free returns for how many that can wait there is room.
func (g *gate) free() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.spare()
}

// spare is free when the lock is held.
func (g *gate) spare() int {
	if g.limit == 0 {
		return math.MaxInt
	}
	return max(0, min(g.limit-g.working, g.share()-g.patient))
}

// wait is enter for one that can wait: if the gate is full, or it is not its turn, it stays inside, and must then work, or give up.
// Once admitted it must yield and then leave.
func (g *gate) wait(turn bool) admission {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return gateShut
	}
	g.inside++
	if !turn || g.spare() == 0 {
		g.waiting++
		return gateFull
	}
	g.working++
	g.patient++
	return admitted
}

// work admits one that waits, even if the gate is shut; false if there is still no room.
func (g *gate) work() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.spare() == 0 {
		return false
	}
	g.waiting--
	g.working++
	g.patient++
	return true
}

// yield is rest for one that could wait.
func (g *gate) yield() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.working--
	g.patient--
}

// giveUp ends the wait of one.
func (g *gate) giveUp() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting--
	g.inside--
	g.tell()
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

// close lets nobody in any more and returns a channel that is closed when the last has left. If others have come in by
// accompany since that was announced, it is another channel.
func (g *gate) close() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.shut || g.told && g.inside > 0 {
		g.shut, g.told, g.empty = true, false, make(chan struct{})
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
