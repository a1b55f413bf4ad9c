package bus

// Gate is a gate for tests.
type Gate struct{ gate *gate }

// NewGate returns one with so many places.
func NewGate(limit int) Gate { return Gate{newGate(limit)} }

func (g Gate) Enter() bool { return g.gate.enter() == admitted }
func (g Gate) Wait() bool  { return g.gate.wait(true) == admitted }
func (g Gate) Work() bool  { return g.gate.work() }

func (g Gate) Rest() bool {
	g.gate.rest()
	g.gate.leave()
	return true
}

func (g Gate) Yield() bool {
	g.gate.yield()
	g.gate.leave()
	return true
}

func (g Gate) GiveUp() bool {
	g.gate.giveUp()
	return true
}
