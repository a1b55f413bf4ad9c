package bus

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
)

// census lists the instances that are known to be there: those that acked the greeting of a connection of the link, which goes
// to every instance of its plane, and those that have greeted since. One that does not ack a multicast within a long silence is
// taken for dead, until it is heard again. Each takes eight bytes, as a process may meet thousands and call few; two with the
// same mark are taken for one.
type census struct {
	seed maphash.Seed

	mu    sync.Mutex // protects marks
	marks []uint64   // sorted; the upper half stands for the plane and the host
}

const maxCensus = 16 << 10

func newCensus() *census { return &census{seed: maphash.MakeSeed()} }

func (c *census) mark(plane string, at peer) uint64 {
	return c.markHost(plane, at.host) | maphash.String(c.seed, at.id)>>32
}

func (c *census) markHost(plane, host string) uint64 {
	return maphash.Comparable(c.seed, localHost{plane, host}) >> 32 << 32
}

func (c *census) markAll(plane string, instances []peer) map[uint64]struct{} {
	marks := make(map[uint64]struct{}, len(instances))
	for _, each := range instances {
		marks[c.mark(plane, each)] = struct{}{}
	}
	return marks
}

// add is false if there are too many.
func (c *census) add(plane string, at peer) bool {
	mark := c.mark(plane, at)
	c.mu.Lock()
	defer c.mu.Unlock()
	place, known := slices.BinarySearch(c.marks, mark)
	if known {
		return true
	}
	if len(c.marks) >= maxCensus {
		return false
	}
	c.marks = slices.Insert(c.marks, place, mark)
	return true
}

func (c *census) remove(plane string, at peer) {
	mark := c.mark(plane, at)
	c.mu.Lock()
	defer c.mu.Unlock()
	if place, known := slices.BinarySearch(c.marks, mark); known {
		c.marks = slices.Delete(c.marks, place, place+1)
	}
}

// covered says whether the host has known instances, and all of them are among these.
func (c *census) covered(plane, host string, by []peer) bool {
	seen := c.markAll(plane, by)
	c.mu.Lock()
	defer c.mu.Unlock()
	first, last := c.section(plane, host)
	for _, mark := range c.marks[first:last] {
		if _, ok := seen[mark]; !ok {
			return false
		}
	}
	return first < last
}

// reduce forgets the instances of the host that are not among these.
func (c *census) reduce(plane, host string, to []peer) {
	seen := c.markAll(plane, to)
	c.mu.Lock()
	defer c.mu.Unlock()
	first, last := c.section(plane, host)
	rest := slices.DeleteFunc(c.marks[first:last], func(mark uint64) bool {
		_, ok := seen[mark]
		return !ok
	})
	c.marks = slices.Delete(c.marks, first+len(rest), last)
}

// section returns where the marks of a host begin and end. The lock is held.
func (c *census) section(plane, host string) (first, last int) {
	sameHost := func(mark, host uint64) int { return cmp.Compare(mark>>32<<32, host) }
	mark := c.markHost(plane, host)
	first, _ = slices.BinarySearchFunc(c.marks, mark, sameHost)
	last = first
	for last < len(c.marks) && c.marks[last]>>32<<32 == mark {
		last++
	}
	return first, last
}
