package msgsvc

import (
	"cmp"
	"sync"
	"time"
)

// entry is a value under its key. It is not changed after it was made, and travels among replicas as it is.
type entry struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
	Stamp stamp  `json:"stamp"`
}

func (e entry) size() int { return entrySize(len(e.Key), len(e.Value)) }

// handed is an entry on its way to another replica. The clocks of two machines may disagree: it tells how long ago, not when.
type handed struct {
	entry

	Age  time.Duration `json:"age"`  // since it was stored
	Idle time.Duration `json:"idle"` // since it was used
}

// stamp orders the stores of one key: the later one counts, and of two at the same time that of the replica with
// the greater ID. The zero stamp is before all others.
type stamp struct {
	Time int64  `json:"time"` // nanoseconds since 1970
	By   string `json:"by"`   // the ID of the replica: "k3v9x2m4qz"
}

func (s stamp) after(other stamp) bool {
	return cmp.Or(cmp.Compare(s.Time, other.Time), cmp.Compare(s.By, other.By)) > 0
}

// clock makes the stamps of one replica.
type clock struct {
	id  string
	now func() time.Time

	mu   sync.Mutex // protects last
	last int64
}

// next returns a stamp that is after the given one and after all that were made before, even where the clocks of
// two machines disagree.
func (c *clock) next(seen stamp) stamp {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.now().UnixNano(), c.last+1, seen.Time+1)
	return stamp{Time: c.last, By: c.id}
}
