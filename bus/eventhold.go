package bus

import "time"

// roomAgain is when to look again whether there is room among the handlers, if no event of the same kind is done before.
const roomAgain = 100 * time.Millisecond

// hold keeps an event for which there is no room among the handlers: requests have taken it since it was asked for. Given back
// to JetStream it would have used up an attempt without having been tried.
func (s *storedEvents) hold(in *incoming) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, in)
	s.room.Reset(roomAgain)
}

// lookForRoom is what the timer does.
func (s *storedEvents) lookForRoom() {
	s.startHeld()
	s.ask()
}

// startHeld tries again to start the events that are held.
func (s *storedEvents) startHeld() {
	for _, in := range s.takeHeld() {
		if d, ok := in.back.(*delivery); ok && s.start(in, d) != nil {
			s.conn.link.intake.handlers.add(in)
		}
	}
}

// letGo gives the events that are held back to JetStream, for other instances.
func (s *storedEvents) letGo() {
	for _, in := range s.takeHeld() {
		if d, ok := in.back.(*delivery); ok {
			d.refuse()
		}
	}
}

func (s *storedEvents) takeHeld() (held []*incoming) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, s.held = s.held, nil
	return held
}
