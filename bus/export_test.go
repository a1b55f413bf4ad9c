package bus

import (
	"context"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap"
)

// PendingCalls returns how many requests wait for an ack or a response.
func (c *Conn) PendingCalls() int { return c.client.Counts().Pending }

// WatchedInstances returns how many instances are asked now and then whether they live.
func (c *Conn) WatchedInstances() int { return c.client.Counts().Watched }

// RequestDifference returns what the check of the short circuit says of a request to
// POST https://calculator.example:444/add that was changed.
func RequestDifference(change func(*wire.Request)) error {
	sent := checkedCall()
	change(&sent.Request)
	return testCheck().request(sent)
}

// ResponseDifference returns what it says of a response to one.
func ResponseDifference(change func(*wire.Response)) error {
	response := &wire.Response{
		Status: 200, OpCode: wire.OpRes, FromHost: "calculator.example", FromID: "c1aaaaaaaa", MsgID: "m1",
		Queue: "calculator.example",
	}
	change(response)
	return testCheck().response(checkedCall(), response)
}

func testCheck() *shortCircuitCheck {
	return &shortCircuitCheck{payload: func() int { return 1 << 20 }}
}

func checkedCall() *clientCall {
	address := subject.Address{Port: 444, Host: "calculator.example", Method: "POST", Path: "/add"}
	to, _ := address.Subject("bus")
	return &clientCall{Outgoing: client.Outgoing{Address: address, Subject: to, Request: wire.Request{
		Method: "POST", Target: "/add", Host: "calculator.example", FromHost: "caller.example",
		FromID: "a1aaaaaaaa", MsgID: "m1",
		TimeBudget: 20 * time.Second, CallDepth: 1,
	}}}
}

// RunningRequests returns how many requests could be cancelled.
func RunningRequests(c *Conn) int { return c.shared.inflight.Count(c) }

// HeldByParts returns how many bytes messages in parts hold.
func HeldByParts(c *Conn) int {
	_, held := c.server.Waiting() // the account is that of the client, too
	return held
}

// UnfinishedMessages returns of how many requests and responses parts are still to come.
func UnfinishedMessages(c *Conn) int {
	requests, _ := c.server.Waiting()
	return requests + c.client.Counts().Partial
}

// BesideInDocuments is how many endpoints another one on that path is compared with when it is registered.
func BesideInDocuments(c *Conn, port int, path string) int {
	return len(c.documents.beside(&endpoint{Endpoint: Endpoint{Port: port, Path: path}}))
}

// IntakeCapacity is how many messages may have arrived without having been looked at.
const IntakeCapacity = natsconn.IntakeCapacity

// HoldResponses keeps a connection from looking at what comes, from the first ack or response on, until release is
// called.
func HoldResponses(c *Conn) (release func()) { return c.client.Hold() }

// KnownSubscriptions is how many subscriptions a connection and those that share its link have, and had without
// forgetting.
func KnownSubscriptions(c *Conn) int { return c.broker.KnownSubscriptions() }

// CallRecord is a call as a tap reports it.
type CallRecord = callRecord

// Traffic returns what a connection has counted.
func (c *Conn) Traffic() metrics.Traffic { return c.reportTraffic() }

// Drop has a connection drop a message.
func Drop(c *Conn, why error) { c.drop("a.subject", why) }

// FlushLog waits until the lines of a connection are written.
func FlushLog(c *Conn) { c.shared.lines.Flush(context.Background()) }

// PassedOn returns the error that a caller gets for a problem of status 409, and the body with which it answers when it
// passes that on.
func PassedOn(body []byte) (*Error, []byte) {
	failed := responseError(&wire.Response{
		Status: http.StatusConflict, Header: wire.Header{{Name: "Content-Type", Value: restmap.ProblemType}}, Body: body,
	})
	return failed, failed.body()
}

// HoldIntake keeps a connection from taking anything that comes until it is released.
func HoldIntake(c *Conn) (release func()) {
	const subject = "held.by.a.test"
	held, released := make(chan struct{}), make(chan struct{})
	err := c.session.Subscribe(&natsconn.Subscription{Subject: subject, Receive: func(*nats.Msg, *wire.Reader) worker.Job {
		close(held)
		<-released
		return nil
	}})
	if err == nil {
		err = c.broker.PublishNow(subject, "", nil)
	}
	if err != nil {
		panic(err)
	}
	<-held
	return func() { close(released) }
}

// HoldBacklog makes the requests that are queued for handlers wait until it is released.
func HoldBacklog(c *Conn) (release func()) { return c.broker.Backlog().Hold() }

// TraceIDOf returns the trace that a traceparent names.
func TraceIDOf(parent string) string {
	return traceIDOf(wire.Header{{Name: "traceparent", Value: parent}})
}

// RunningControls returns how many requests of the framework are handled.
func RunningControls(c *Conn) int {
	inside, _ := c.server.Controls.Count()
	return inside
}

// DigestOf returns what tells the documents of a connection apart.
func DigestOf(c *Conn) string { return c.documents.digest(c) }
