package bus

// Queue is a queue for tests.
type Queue struct{ queue[int] }

// Push puts an item in.
func (q *Queue) Push(item int) { q.push(item) }

// Pop takes one out; false if there is none.
func (q *Queue) Pop() (item int, ok bool) {
	if q.isEmpty() {
		return 0, false
	}
	return q.pop(), true
}

// Room returns for how many items it has memory.
func (q *Queue) Room() int { return cap(q.items) }
