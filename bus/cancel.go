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

// running are the requests whose handlers run, to be found when their callers leave. It holds nothing else: what is
// said of any other request is forgotten at once.
type running struct{ shards [16]runningShard } // by the last byte of the message id, so that requests do not wait for each other

type runningShard struct {
	mu       sync.Mutex // protects requests
	requests map[string]*serving
}

// requestKey names a request by who sent it, so that nobody else can cancel it.
type requestKey struct{ host, id, msgID string }

func (r *running) shard(msgID string) *runningShard { return &r.shards[shardOf(msgID, len(r.shards))] }

// add notes a request, unless it is the framework's own. Another one of that message id, which nobody but its sender knows, is not found any more.
func (r *running) add(s *serving, port int) {
	if port == controlPort {
		return
	}
	at := r.shard(s.request.MsgID)
	at.mu.Lock()
	defer at.mu.Unlock()
	if at.requests == nil {
		at.requests = make(map[string]*serving)
	}
	at.requests[s.request.MsgID] = s
}

// remove takes out a request that has ended, unless another one was sent under its name, and ends its context.
func (r *running) remove(s *serving) {
	s.end(context.Canceled)
	at := r.shard(s.request.MsgID)
	at.mu.Lock()
	defer at.mu.Unlock()
	if at.requests[s.request.MsgID] == s {
		delete(at.requests, s.request.MsgID)
	}
}

// cancel ends the context of a handler.
func (r *running) cancel(key requestKey) {
	at := r.shard(key.msgID)
	at.mu.Lock()
	found := at.requests[key.msgID]
	at.mu.Unlock()
	if found != nil && keyOf(found.request) == key {
		found.end(ErrCallerLeft)
	}
}

// callOff tells instances that have acked a request that its caller has stopped waiting. It awaits nothing: whether
// they hear of it makes no difference to the caller. An instance whose ack comes later still is not told.
func (c *Conn) callOff(ctx context.Context, sent *outgoing, from []peer) {
	for _, at := range from {
		if err := c.sendCancel(ctx, sent.MsgID, at); err != nil {
			c.logger.Debug().Err(err).Str("msgId", sent.MsgID).Str("callee", at.id+"."+at.host).Msg("cancel was not sent")
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
