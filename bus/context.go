package bus

import (
	"context"
	"strings"
	"time"

	"github.com/busline/busline/bus/wire"
)

// Caller says who made the request that a handler is serving.
type Caller struct {
	// Host and ID are the hostname and the instance ID of the caller. They are what the caller says of itself; what a
	// service may publish is up to the broker's permissions.
	Host, ID string
	// MsgID is the Bus-Msg-Id of the request, unique to it.
	MsgID string
	// Depth is 1 for a call made by the service that started the chain, 2 for the next one, and so on.
	Depth int
}

// CallerOf returns who made the request that ctx belongs to; false outside a handler.
func CallerOf(ctx context.Context) (Caller, bool) {
	s := servingOf(ctx)
	if s == nil {
		return Caller{}, false
	}
	return Caller{Host: s.request.FromHost, ID: s.request.FromID, MsgID: s.request.MsgID, Depth: s.request.CallDepth}, true
}

// forwarded are the headers that travel along a chain of calls. No other header does.
func forwarded() [8]string {
	return [...]string{
		"Traceparent", "Tracestate", "Baggage", "Accept-Language",
		"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix",
	}
}

// continueChain gives a call the depth, the headers and the time left of the request that ctx serves.
func continueChain(ctx context.Context, request *outgoing) {
	request.CallDepth = 1
	s := servingOf(ctx)
	if s == nil {
		return
	}
	request.CallDepth = s.request.CallDepth + 1
	given := request.Header
	for _, name := range forwarded() {
		if given.Get(name) != "" || request.fields.removes(name) {
			continue
		}
		for _, field := range s.request.Header {
			if strings.EqualFold(field.Name, name) {
				request.Header.Add(name, field.Value)
			}
		}
	}
}

// budget returns how long a call may take: until ctx or the chain ends, by default 20 s, at most 600 s.
func budget(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if s := servingOf(ctx); s != nil && (!ok || s.deadline.Before(deadline)) {
		deadline, ok = s.deadline, true
	}
	if !ok {
		return wire.DefaultTimeBudget
	}
	return min(time.Until(deadline), wire.MaxTimeBudget)
}
