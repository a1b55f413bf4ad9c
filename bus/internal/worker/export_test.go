package worker

// Queue is a queue for tests.
type Queue struct{ queue[int] }

// Push adds an item.
func (q *Queue) Push(item int) { q.push(item) }

// Pop removes the oldest item; there has to be one.
func (q *Queue) Pop() (item int) { return q.pop() }

// IsEmpty reports whether there is no item.
func (q *Queue) IsEmpty() bool { return q.isEmpty() }

// Room returns the capacity in items.
func (q *Queue) Room() int { return cap(q.items) }
