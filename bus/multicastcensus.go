package bus

import (
	"cmp"
	"hash/maphash"
	"slices"
)

// census lists the instances that are known to be there: those that acked the greeting of this connection, which goes to
// every instance of the plane, and those that have greeted since. One that does not ack a multicast within a long silence is
// taken for dead, until it is heard again. Each takes eight bytes, as a connection may meet thousands
// and call few; two with the same mark are taken for one.
type census struct {
	seed  maphash.Seed
	marks []uint64 // sorted; the upper half stands for the host
}

const maxCensus = 16 << 10

func newCensus() census { return census{seed: maphash.MakeSeed()} }

func (c *census) mark(at peer) uint64 {
	return c.markHost(at.host) | maphash.String(c.seed, at.id)>>32
}

func (c *census) markHost(host string) uint64 { return maphash.String(c.seed, host) >> 32 << 32 }

// add is false if there are too many.
func (c *census) add(at peer) bool {
	mark := c.mark(at)
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

func (c *census) remove(at peer) {
	if place, known := slices.BinarySearch(c.marks, c.mark(at)); known {
		c.marks = slices.Delete(c.marks, place, place+1)
	}
}

// covered says whether the host has known instances, and all of them are among these.
func (c *census) covered(host string, by []peer) bool {
	first, last := c.section(host)
	seen := c.markAll(by)
	for _, mark := range c.marks[first:last] {
		if _, ok := seen[mark]; !ok {
			return false
		}
	}
	return first < last
}

// reduce forgets the instances of the host that are not among these.
func (c *census) reduce(host string, to []peer) {
	first, last := c.section(host)
	seen := c.markAll(to)
	rest := slices.DeleteFunc(c.marks[first:last], func(mark uint64) bool {
		_, ok := seen[mark]
		return !ok
	})
	c.marks = slices.Delete(c.marks, first+len(rest), last)
}

// section returns where the marks of a host begin and end.
func (c *census) section(host string) (first, last int) {
	hosts := func(mark, host uint64) int { return cmp.Compare(mark>>32, host) }
	host32 := c.markHost(host) >> 32
	first, _ = slices.BinarySearchFunc(c.marks, host32, hosts)
	last, _ = slices.BinarySearchFunc(c.marks, host32+1, hosts)
	return first, last
}

func (c *census) markAll(instances []peer) map[uint64]struct{} {
	marks := make(map[uint64]struct{}, len(instances))
	for _, each := range instances {
		marks[c.mark(each)] = struct{}{}
	}
	return marks
}
