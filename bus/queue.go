package bus

// queue is first in, first out. The zero value is empty.
type queue[T any] struct {
	items []T // from first on
	first int
}

// maxUnused is how much room is kept for later items, once the queue is empty.
const maxUnused = 1024

func (q *queue[T]) isEmpty() bool { return q.first == len(q.items) }

func (q *queue[T]) push(item T) {
	if q.first > len(q.items)/2 { // the room in front is used again, so that a queue that is never empty does not grow
		left := copy(q.items, q.items[q.first:])
		clear(q.items[left:])
		q.items, q.first = q.items[:left], 0
	}
	q.items = append(q.items, item)
}

// pop takes out the oldest item; there has to be one.
func (q *queue[T]) pop() T {
	var none T
	item := q.items[q.first]
	q.items[q.first] = none // so that it can be collected
	q.first++
	if q.isEmpty() {
		q.items, q.first = q.items[:0], 0
		if cap(q.items) > maxUnused {
			q.items = nil
		}
	}
	return item
}
