package simulation_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/busline/busline/bus"
)

// call is one call: what the plan says of it, and what its caller and its handlers have seen.
type call struct {
	number   int
	at       time.Duration
	caller   int
	toAll    bool
	instance int           // that is addressed; -1 for any
	budget   time.Duration // the deadline of its context
	leaves   time.Duration // when the caller leaves; 0: never
	request  body
	response body
	work     time.Duration // of the handler, between the bodies
	stubborn bool          // the handler does not look at its context
	fails    failure

	began, ended time.Time
	left         time.Time // when the caller has left
	result
	answers []string // to all: from which instances
	runs    []*run   // of handlers
}

// result is what a caller has of a response.
type result struct {
	err     error // of the call, or of the body of the response
	status  int   // 0 for none
	got     int   // bytes that were read
	whole   bool  // they were all
	refused bool  // it says that no handler has run
}

// body is a request's or a response's.
type body struct {
	size    int
	streams bool          // the length is not known before
	rush    int           // bytes that are written without a pause
	pause   time.Duration // between two pieces of the rest
	sip     time.Duration // between two pieces of it, when read
	breaks  bool          // its source fails in the middle
}

// failure is how a handler ends.
type failure int

const (
	works failure = iota
	refuses
	panics
)

// piece is how much of a body is written or read at once, in bytes.
const piece = 3000

func newCall(draw *rand.Rand, number int, p *plan) *call {
	c := &call{
		number: number, at: upTo(draw, day), caller: draw.IntN(p.callers), instance: -1,
		budget:  time.Duration(200+draw.IntN(10_000)) * time.Millisecond,
		work:    upTo(draw, []time.Duration{time.Microsecond, 100 * time.Millisecond, 3 * time.Second}[draw.IntN(3)]+1),
		request: newBody(draw, p.maxPayload), response: newBody(draw, p.maxPayload),
		stubborn: draw.IntN(4) == 0, fails: []failure{works, works, works, works, works, refuses, panics}[draw.IntN(7)],
	}
	switch draw.IntN(8) {
	case 0:
		c.toAll = true
		c.request, c.response = body{size: draw.IntN(1000)}, body{size: c.response.size}
	case 1:
		c.instance = draw.IntN(p.instances)
	}
	if draw.IntN(4) == 0 {
		c.leaves = 1 + upTo(draw, []time.Duration{3 * time.Millisecond, c.budget}[draw.IntN(2)])
	}
	return c
}

// newBody draws a body: small, in parts, or a stream.
func newBody(draw *rand.Rand, maxPayload int) body {
	switch draw.IntN(4) {
	case 0:
		return body{size: draw.IntN(6 * maxPayload)}
	case 1:
		b := body{size: draw.IntN(200_000), streams: true, breaks: draw.IntN(10) == 0}
		b.pause = upTo(draw, []time.Duration{1, 20 * time.Millisecond, 500 * time.Millisecond}[draw.IntN(3)])
		b.rush = draw.IntN(2) * 70_000
		b.sip = upTo(draw, []time.Duration{1, 1, 50 * time.Millisecond}[draw.IntN(3)])
		return b
	default:
		return body{size: draw.IntN(500)}
	}
}

// byteAt returns byte i of a body of a call, which differs from call to call.
func (c *call) byteAt(i int) byte { return byte(c.number*37 + i + i/251) }

// source is a body as it is written.
type source struct {
	ctx  context.Context //nolint:containedctx // a reader has no other way
	call *call
	body body
	sent int
}

var errSource = errors.New("the source of the body fails")

// Read makes the next piece.
func (s *source) Read(to []byte) (int, error) {
	switch {
	case s.body.breaks && s.sent > s.body.size/2:
		return 0, errSource
	case s.sent == s.body.size:
		return 0, io.EOF
	}
	if s.sent > s.body.rush && s.sent%piece == 0 && !sleep(s.ctx, s.body.pause) {
		return 0, s.ctx.Err()
	}
	n := min(piece-s.sent%piece, s.body.size-s.sent, len(to))
	for i := range n {
		to[i] = s.call.byteAt(s.sent + i)
	}
	s.sent += n
	return n, nil
}

// Close does nothing.
func (*source) Close() error { return nil }

// sleep returns false if ctx ends before.
func sleep(ctx context.Context, pause time.Duration) bool {
	if pause <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
		return false
	}
}

// read reads a body, and reports how much it was, whether all of it came, and why not.
func (c *call) read(ctx context.Context, from io.Reader, b body) (got int, whole bool, err error) {
	buffer := make([]byte, piece)
	for {
		n, err := from.Read(buffer)
		for i := range n {
			if buffer[i] != c.byteAt(got+i) {
				return got + i, false, fmt.Errorf("byte %d of the body is another one", got+i)
			}
		}
		got += n
		if errors.Is(err, io.EOF) {
			return got, true, nil
		}
		if err != nil {
			return got, false, err
		}
		if !sleep(ctx, b.sip) {
			return got, false, ctx.Err()
		}
	}
}

// call makes a call, and notes what comes of it.
func (w *world) call(ctx context.Context, c *call) {
	w.mu.Lock()
	n := w.callers[c.caller]
	c.began = time.Now()
	address := "https://" + echoHost + "/run?n=" + strconv.Itoa(c.number)
	if c.instance >= 0 {
		address = strings.Replace(address, echoHost, w.nodes[c.instance].conn.ID()+"."+echoHost, 1)
	}
	if c.toAll {
		address = strings.Replace(address, "/run", "/all", 1)
	}
	w.history.addf("%s calls %s", n.name, c)
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, c.budget)
	defer cancel()
	if c.leaves > 0 {
		leave := time.AfterFunc(c.leaves, func() {
			w.mu.Lock()
			c.left = time.Now()
			w.history.addf("the caller of #%d leaves", c.number)
			w.mu.Unlock()
			cancel()
		})
		defer leave.Stop()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, nil)
	if err != nil {
		panic(err)
	}
	c.attach(request)
	if c.toAll {
		w.callAll(n, c, request)
	} else {
		w.callOne(n, c, request)
	}
}

// attach gives a request its body.
func (c *call) attach(request *http.Request) {
	from := &source{ctx: request.Context(), call: c, body: c.request}
	if c.request.streams {
		request.Body, request.ContentLength = from, -1
		return
	}
	whole, _ := io.ReadAll(from) // it does not break
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(whole)), int64(len(whole))
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(whole)), nil }
}

func (w *world) callOne(n *node, c *call, request *http.Request) {
	response, err := n.conn.Do(request)
	seen := result{err: err}
	if err == nil {
		seen.status = response.StatusCode
		seen.readResponse(request.Context(), c, response)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	c.ended, c.result = time.Now(), seen
	w.history.addf("%s has ended: %s", c, c.outcome())
}

// readResponse reads a response of c.
func (r *result) readResponse(ctx context.Context, c *call, response *http.Response) {
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, err := io.ReadAll(response.Body)
		r.err, r.refused = err, bytes.Contains(text, []byte(`"executed":"no"`))
		return
	}
	r.got, r.whole, r.err = c.read(ctx, response.Body, c.response)
}

func (w *world) callAll(n *node, c *call, request *http.Request) {
	for response, err := range n.conn.Multicast(request) {
		seen := result{err: err}
		from := ""
		if err == nil {
			from = response.Header.Get("Bus-From-Id")
			seen.readResponse(request.Context(), c, response)
		}
		w.mu.Lock()
		if from != "" && !seen.refused {
			c.answers = append(c.answers, from)
		}
		if seen.err != nil {
			c.err = seen.err
		}
		w.mu.Unlock()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	c.ended = time.Now()
	w.history.addf("%s has ended: %d answers, %v", c, len(c.answers), c.err)
}

// executed returns what the caller knows of the handler.
func (r *result) executed() bus.Executed {
	failed, ok := errors.AsType[*bus.Error](r.err)
	switch {
	case r.refused:
		return bus.ExecutedNo
	case r.status > 0 && r.err == nil:
		return bus.ExecutedYes
	case ok:
		return failed.Executed
	default:
		return bus.ExecutedUnknown
	}
}

// isAnswered reports whether the caller has the whole answer of a handler.
func (r *result) isAnswered() bool { return r.status == http.StatusOK && r.whole && r.err == nil }

func (r *result) outcome() string {
	switch {
	case r.err != nil && r.status > 0:
		return fmt.Sprintf("%d, and after %d bytes: %v (executed %s)", r.status, r.got, r.err, r.executed())
	case r.err != nil:
		return fmt.Sprintf("%v (executed %s)", r.err, r.executed())
	default:
		return fmt.Sprintf("%d, %d bytes (executed %s)", r.status, r.got, r.executed())
	}
}

// String describes the call as planned.
func (c *call) String() string {
	text := fmt.Sprintf("#%d", c.number)
	switch {
	case c.toAll:
		text += " to all"
	case c.instance >= 0:
		text += fmt.Sprintf(" to echo-%d", c.instance+1)
	}
	return fmt.Sprintf("%s (%s up, %s of work, %s down, %s)", text, c.request, c.work, c.response, c.budget)
}

// String describes the body as planned.
func (b body) String() string {
	if !b.streams {
		return strconv.Itoa(b.size)
	}
	text := fmt.Sprintf("a stream of %d", b.size)
	if b.breaks {
		text += " that breaks"
	}
	return text
}
