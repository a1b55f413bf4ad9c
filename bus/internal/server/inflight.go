package server

import (
	"context"
	"sync"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
)

// Inflight holds the requests whose handlers run, of all connections on a broker connection, to be found when their callers leave. A
// cancel for any other request has no effect.
type Inflight struct{ shards [16]inflightShard } // by the last byte of the message id, so that requests do not wait for each other

// inflightShard is searched only when a caller leaves, which is rare. Each request knows its index, so adding and
// removing need no search.
type inflightShard struct {
	mu       sync.Mutex // protects requests, and their place fields
	requests []*Escaping
}

func (r *Inflight) shard(msgID string) *inflightShard {
	if msgID == "" {
		return &r.shards[0]
	}
	return &r.shards[int(msgID[len(msgID)-1])%len(r.shards)] // the last byte is random
}

// noPlace is the place of a request that is not in a shard.
const noPlace = -1

// add adds a request, unless it is one of the framework.
func (r *Inflight) add(s *Escaping, port int) {
	s.place = noPlace
	if port == subject.ControlPort {
		return
	}
	at := r.shard(s.Read.MsgID)
	at.mu.Lock()
	defer at.mu.Unlock()
	s.place = len(at.requests)
	at.requests = append(at.requests, s)
}

// remove removes a request that has ended, and ends its context.
func (r *Inflight) remove(s *Escaping) {
	s.Handler.End(context.Canceled, true)
	at := r.shard(s.Read.MsgID)
	at.mu.Lock()
	defer at.mu.Unlock()
	if s.place == noPlace {
		return
	}
	last := len(at.requests) - 1
	moved := at.requests[last]
	at.requests[s.place], moved.place = moved, s.place
	at.requests[last] = nil // so that it can be collected
	at.requests = at.requests[:last]
}

// cancel ends the context of a running handler of an instance.
func (r *Inflight) cancel(owner any, key RequestKey) {
	at := r.shard(key.MsgID)
	if found := at.find(owner, key); found != nil {
		found.Handler.End(status.ErrCallerLeft, false)
	}
}

func (at *inflightShard) find(owner any, key RequestKey) *Escaping {
	at.mu.Lock()
	defer at.mu.Unlock()
	for _, each := range at.requests {
		if each.Handler.Owner == owner && each.Read.MsgID == key.MsgID && KeyOf(&each.Read) == key {
			return each
		}
	}
	return nil
}

// Count returns how many requests of a connection could be cancelled.
func (r *Inflight) Count(owner any) (count int) {
	for i := range r.shards {
		at := &r.shards[i]
		at.mu.Lock()
		for _, each := range at.requests {
			if each.Handler.Owner == owner {
				count++
			}
		}
		at.mu.Unlock()
	}
	return count
}
