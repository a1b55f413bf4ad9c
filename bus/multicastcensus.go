package bus

import (
	"cmp"
	"hash/maphash"
	"slices"
)

// census lists the instances that are known to be there: those that acked the greeting of this connection, which goes to
// every instance of the plane, and those that have greeted since. Each takes eight bytes, as a connection may meet thousands
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
	sameHost := func(mark, host uint64) int { return cmp.Compare(mark>>32<<32, host) }
	first, found := slices.BinarySearchFunc(c.marks, c.markHost(host), sameHost)
	if !found {
		return false
	}
	seen := make(map[uint64]struct{}, len(by))
	for _, each := range by {
		seen[c.mark(each)] = struct{}{}
	}
	for _, mark := range c.marks[first:] {
		if mark>>32<<32 != c.markHost(host) {
			break
		}
		if _, ok := seen[mark]; !ok {
			return false
		}
	}
	return true
}
