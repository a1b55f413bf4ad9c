package bus

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/busline/busline/bus/wire"
)

// cancelPath is where an instance is told that nobody waits for an answer any more.
const cancelPath = "/cancel"

// peer is an instance that has acked a request.
type peer struct{ host, id string }

func senderOf(message *wire.Response) peer { return peer{message.FromHost, message.FromID} }

// running holds the requests of all instances of a link whose handlers run, to be found when their callers leave. A cancel for
// any other request has no effect.
type running struct{ shards [16]runningShard } // by the last byte of the message id, so that requests do not wait for each other

// runningShard is searched when a caller leaves, which is rare. Each request knows its place, so that adding and removing
// it needs no search.
type runningShard struct {
	mu       sync.Mutex // protects requests, and their places
	requests []*serving
}

// requestKey identifies a request by its sender, so that nobody else can cancel it.
type requestKey struct{ host, id, msgID string }

func (r *running) shard(msgID string) *runningShard { return &r.shards[shardOf(msgID, len(r.shards))] }

// noPlace is that of a request that is not in a shard.
const noPlace = -1

// add notes a request, unless it is the framework's own.
func (r *running) add(s *serving, port int) {
	s.place = noPlace
	if port == controlPort {
		return
	}
	at := r.shard(s.request.MsgID)
	at.mu.Lock()
	defer at.mu.Unlock()
	s.place = len(at.requests)
	at.requests = append(at.requests, s)
}

// remove takes out a request that has ended, and ends its context.
func (r *running) remove(s *serving) {
	s.end(context.Canceled, true)
	at := r.shard(s.request.MsgID)
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

// cancel ends the context of a handler of an instance.
func (r *running) cancel(c *Conn, key requestKey) {
	at := r.shard(key.msgID)
	if found := at.find(c, key); found != nil {
		found.end(ErrCallerLeft, false)
	}
}

func (at *runningShard) find(c *Conn, key requestKey) *serving {
	at.mu.Lock()
	defer at.mu.Unlock()
	for _, each := range at.requests {
		if each.conn == c && each.request.MsgID == key.msgID && keyOf(each.request) == key {
			return each
		}
	}
	return nil
}

// callOff tells the instances that have acked a request that its caller has stopped waiting. It waits for no answer:
// whether they hear of it makes no difference to the caller. An instance whose ack comes even later is not told.
func (c *Conn) callOff(ctx context.Context, sent *outgoing, from []peer) {
	for _, at := range from {
		if err := c.sendCancel(ctx, sent.MsgID, at); err != nil {
			c.log(c.logger.Debug().Err(err).Str("msgId", sent.MsgID).Str("callee", at.id+"."+at.host), "cancel was not sent")
		}
	}
}

// sendCancel sends a call that is no part of the chain that ctx serves: it has a time budget and a depth of its own.
func (c *Conn) sendCancel(ctx context.Context, msgID string, at peer) error {
	request, err := newOutgoing(http.MethodPost, &url.URL{
		Scheme: "https", Host: at.id + "." + at.host + ":" + strconv.Itoa(controlPort), Path: cancelPath,
		RawQuery: url.Values{"id": {msgID}}.Encode(),
	}, nil, nil)
	if err != nil {
		return err
	}
	if err := c.seal(context.Background(), request); err != nil {
		return err
	}
	c.freshStamp(request)
	return c.send(ctx, request)
}
