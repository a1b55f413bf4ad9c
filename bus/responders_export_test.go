package bus

// learn ends a multicast that has seen all, and whose slot is left out.
func (r *responderCache) learn(subject string, before memory, answered map[string]struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make(map[string]int)
	for name := range answered {
		enlist(names, name)
	}
	r.replaceLocked(subject, before, names)
}
