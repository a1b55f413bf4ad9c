package client

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// Peer is another instance.
type Peer struct{ Host, ID string }

// SenderOf returns the instance that sent a message.
func SenderOf(message *wire.Response) Peer { return Peer{message.FromHost, message.FromID} }

// IsCalled reports whether a host, as called, is this very instance: "id.host".
func (p Peer) IsCalled(host string) bool { return subject.Joins(host, p.ID, p.Host) }

// Membership is the set of known instances: those that have announced that they come, and have acked a multicast. It is
// complete for a host once a multicast with a long quiet period has found its instances: until then the mark of the
// host without an instance stands for those that came earlier, or were forgotten. Such a multicast also removes the
// instances that have not acked; a late ack or an announcement adds them again. An instance takes eight bytes, its
// mark, as a process may know thousands and call few; two instances with the same mark count as one. A full Membership
// forgets all instances of one host.
type Membership struct {
	seed maphash.Seed

	mu    sync.Mutex // protects all below
	marks []uint64   // sorted; the upper half stands for the plane and the host
}

const maxMembers = 16 << 10

// NewMembership returns an empty set.
func NewMembership() *Membership { return &Membership{seed: maphash.MakeSeed()} }

func (c *Membership) mark(plane string, at Peer) uint64 {
	return c.markHost(plane, at.Host) | maphash.String(c.seed, at.ID)>>32
}

func (c *Membership) markHost(plane, host string) uint64 {
	return maphash.Comparable(c.seed, planeHost{plane, host}) >> 32 << 32
}

func (c *Membership) markAll(plane string, instances []Peer) map[uint64]struct{} {
	marks := make(map[uint64]struct{}, len(instances))
	for _, each := range instances {
		marks[c.mark(plane, each)] = struct{}{}
	}
	return marks
}

func (c *Membership) add(plane string, at Peer) {
	host, mark := c.markHost(plane, at.Host), c.mark(plane, at)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := slices.BinarySearch(c.marks, mark); known {
		return
	}
	c.makeRoomLocked(2, mark) //nolint:mnd // the host's and the instance's
	if first, last := c.sectionLocked(host); first == last {
		c.insertLocked(host)
	}
	c.insertLocked(mark)
}

func (c *Membership) insertLocked(mark uint64) {
	if place, known := slices.BinarySearch(c.marks, mark); !known {
		c.marks = slices.Insert(c.marks, place, mark)
	}
}

// makeRoomLocked forgets hosts until there is room for count marks. The hash chooses decides which hosts.
func (c *Membership) makeRoomLocked(count int, chooses uint64) {
	for len(c.marks)+count > maxMembers {
		first, last := c.sectionLocked(c.marks[chooses<<32>>32%uint64(len(c.marks))] >> 32 << 32)
		c.marks = slices.Delete(c.marks, first, last)
	}
}

// clear forgets all instances.
func (c *Membership) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.marks = nil
}

func (c *Membership) remove(plane string, at Peer) {
	mark := c.mark(plane, at)
	c.mu.Lock()
	defer c.mu.Unlock()
	if place, known := slices.BinarySearch(c.marks, mark); known {
		c.marks = slices.Delete(c.marks, place, place+1)
	}
}

// Has reports whether an instance is known.
func (c *Membership) Has(plane string, at Peer) bool {
	mark := c.mark(plane, at)
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := slices.BinarySearch(c.marks, mark)
	return known
}

// Knows reports whether the host has known instances.
func (c *Membership) Knows(plane, host string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first, last := c.sectionLocked(c.markHost(plane, host))
	return first < last
}

// covered reports whether the host has known instances, and all of them are in by.
func (c *Membership) covered(plane, host string, by []Peer) bool {
	seen := c.markAll(plane, by)
	c.mu.Lock()
	defer c.mu.Unlock()
	first, last := c.sectionLocked(c.markHost(plane, host))
	for _, mark := range c.marks[first:last] {
		if _, ok := seen[mark]; !ok {
			return false
		}
	}
	return first < last
}

// reduce forgets the instances of the host that are not in to. If the host was not complete, reduce adds those in to,
// and it is.
func (c *Membership) reduce(plane, host string, to []Peer) {
	seen := c.markAll(plane, to)
	c.mu.Lock()
	defer c.mu.Unlock()
	section := c.markHost(plane, host)
	first, last := c.sectionLocked(section)
	unsure := first == last || c.marks[first] == section
	rest := slices.DeleteFunc(c.marks[first:last], func(mark uint64) bool {
		_, ok := seen[mark]
		return !ok
	})
	c.marks = slices.Delete(c.marks, first+len(rest), last)
	if !unsure {
		return
	}
	c.makeRoomLocked(len(to), section>>32)
	for _, each := range to {
		if each.Host == host { // not if an instance or the host "all" was called
			c.insertLocked(c.mark(plane, each))
		}
	}
}

// sectionLocked returns where the marks of a host begin and end.
func (c *Membership) sectionLocked(host uint64) (first, last int) {
	sameHost := func(mark, host uint64) int { return cmp.Compare(mark>>32<<32, host) }
	first, _ = slices.BinarySearchFunc(c.marks, host, sameHost)
	last = first
	for last < len(c.marks) && c.marks[last]>>32<<32 == host {
		last++
	}
	return first, last
}

type planeHost struct{ plane, host string }
