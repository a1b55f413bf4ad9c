package bus

import "time"

// roomAgain is when to look again whether there is room for an event that is held, if no event is done before.
const roomAgain = 100 * time.Millisecond

// heldEvent is one that waits for room.
type heldEvent struct {
	in       *incoming
	delivery *delivery
}

// hold keeps an event for which there is no room among the handlers: calls, or other events, have taken it. Or as many of its kind
// are handled as may be. Given back to JetStream it would have used up an attempt without having been tried.
func (s *storedEvents) hold(in *incoming, d *delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, heldEvent{in, d})
	s.room.Reset(roomAgain)
}

// lookForRoom is what the timer does.
func (s *storedEvents) lookForRoom() {
	s.startHeld()
	s.ask()
}

// startHeld starts the events that are held, as long as there is room and it is their turn.
func (s *storedEvents) startHeld() {
	for {
		next, ok := s.takeHeld(func() bool { return s.hasTurn() && s.conn.handlers.work() })
		if !ok {
			return
		}
		s.begin(next.in, next.delivery)
		s.conn.link.intake.handlers.add(next.in)
	}
}

// letGo gives the events that are held back to JetStream, for other instances: nobody waits for them any more.
func (s *storedEvents) letGo() {
	for {
		next, ok := s.takeHeld(func() bool { return true })
		if !ok {
			return
		}
		s.conn.handlers.giveUp()
		next.delivery.giveBack()
	}
}

// takeHeld returns the oldest event that is held, if it may be taken; false if there is none, or it may not.
func (s *storedEvents) takeHeld(may func() bool) (oldest heldEvent, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) == 0 {
		return heldEvent{}, false
	}
	if !may() {
		s.room.Reset(roomAgain)
		return heldEvent{}, false
	}
	oldest = s.held[0]
	s.held[0] = heldEvent{} // or it would be kept in memory
	s.held = s.held[1:]
	return oldest, true
}
