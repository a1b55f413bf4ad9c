package server_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap"
)

// TestMain fails if a test leaks a goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ownHost = "calculator.example"
	ownID   = "c1aaaaaaaa"
	limit   = 64 << 10 // of a body
)

// fixture is a server with a fake service and a fake replier.
type fixture struct {
	t       *testing.T
	server  *server.Server
	service *fakeService
}

// newFixture returns a server on a connection, without a broker if broker is nil. change changes the configuration.
func newFixture(t *testing.T, broker *natsconn.Conn, change ...func(*server.Config)) *fixture {
	t.Helper()
	if broker == nil {
		broker = &natsconn.Conn{Workers: new(worker.Pool)}
		t.Cleanup(broker.Workers.Close)
	}
	service := new(fakeService)
	config := server.Config{
		Owner: service, Host: ownHost, ID: ownID, Plane: "bus", MaxMessage: limit,
		Memory: stream.NewMemory(16 * int64(limit)), Broker: broker, Inflight: new(server.Inflight),
		Base: context.Background(), Handlers: worker.NewLimiter(2), Controls: worker.NewLimiter(0), Logger: zerolog.Nop(),
		Service: service,
	}
	for _, each := range change {
		each(&config)
	}
	f := &fixture{t, server.New(config), service}
	t.Cleanup(f.server.StopWaiting)
	return f
}

// serve adds an endpoint on the public port. change changes it.
func (f *fixture) serve(method, path string, change ...func(*server.Endpoint)) *server.Endpoint {
	f.t.Helper()
	e := newEndpoint(f.t, method, path, change...)
	require.NoError(f.t, f.server.Router.Add([]*server.Endpoint{e}))
	return e
}

func newEndpoint(t *testing.T, method, path string, change ...func(*server.Endpoint)) *server.Endpoint {
	t.Helper()
	mapped, err := restmap.Handler(method, path)
	require.NoError(t, err)
	e := &server.Endpoint{Name: method + " " + path, Path: path, Port: subject.PublicPort, Routes: mapped.Routes,
		Queue: true, BodyLimit: limit}
	for _, each := range change {
		each(e)
	}
	return e
}

// request returns a request for a path. change changes it.
func (f *fixture) request(method, path string, change ...func(*server.Incoming)) *server.Incoming {
	in := f.service.New()
	in.Address = subject.Address{Port: subject.PublicPort, Host: ownHost, Method: method, Path: path}
	in.Read = wire.Request{
		Method: method, Target: path, Host: ownHost, FromHost: "caller.example", FromID: "a1aaaaaaaa", MsgID: "m1",
		TimeBudget: time.Minute,
		CallDepth:  1,
	}
	in.Replier = f.service
	for _, each := range change {
		each(in)
	}
	return in
}

// timeLeft returns the rest of the time budget of an admitted request.
func timeLeft(in *server.Incoming) time.Duration {
	ends, _ := in.Handler.Deadline()
	return time.Until(ends)
}

// check expects what the service and the caller have seen since the last check.
func (f *fixture) check(name string, want ...string) {
	f.t.Helper()
	if got := f.service.takeSeen(); !slices.Equal(got, want) {
		f.t.Errorf("%s: seen %q, want %q", name, got, want)
	}
}

// fakeService records what a server asks of its Service, and what it replies: "202 " is an ack.
type fakeService struct {
	handler func(*server.Incoming) *wire.Response // answers 200 "done" if nil
	verify  func(token string) error
	reply   func(*wire.Response) error // of Reply; nil for no error

	mu    sync.Mutex // protects all below
	seen  []string
	heads []*wire.ResponseHead // arguments of Reply
}

func (*fakeService) Announced(*wire.Request, bool) {}

func (*fakeService) Flooded() {}

func (s *fakeService) recordf(format string, arguments ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, fmt.Sprintf(format, arguments...))
}

// takeSeen returns what was recorded, and forgets it.
func (s *fakeService) takeSeen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

func (*fakeService) New() *server.Incoming {
	in := new(server.Incoming)
	in.Reset()
	return in
}

func (s *fakeService) Free(*server.Incoming) { s.recordf("freed") }

func (s *fakeService) Serve(in *server.Incoming) *wire.Response {
	if s.handler != nil {
		return s.handler(in)
	}
	return &wire.Response{Status: http.StatusOK, Body: []byte("done")}
}

func (*fakeService) Crashed(_ *server.Incoming, reason any) *wire.Response {
	return &wire.Response{Status: http.StatusInternalServerError, Body: fmt.Appendf(nil, "crashed: %v", reason)}
}

func (*fakeService) Encode(_ *server.Incoming, err error) *wire.Response {
	failed := status.Of(err)
	return &wire.Response{Status: failed.Status, Body: []byte(failed.Detail)}
}

func (s *fakeService) Reject(in *server.Incoming, err error) *wire.Response {
	if status.Of(err).Executed != status.ExecutedNo {
		s.recordf("a rejection says that a handler may have run: %v", err)
	}
	return s.Encode(in, err)
}

func (*fakeService) Unsendable(*server.Incoming, error) *wire.Response {
	return &wire.Response{Status: http.StatusInternalServerError, Body: []byte("unsendable")}
}

func (*fakeService) NotServed(address subject.Address, methods []string) error {
	if len(methods) > 0 {
		return status.NotRun(http.StatusMethodNotAllowed, nil, "%s", strings.Join(methods, " "))
	}
	return status.NotRun(http.StatusNotFound, nil, "%s", address.Path)
}

func (*fakeService) CheckToken(request *wire.Request, e *server.Endpoint) error {
	if e.Secured && request.Actor == "" {
		return status.NotRun(http.StatusUnauthorized, nil, "no token")
	}
	return nil
}

func (s *fakeService) Verify(_ context.Context, request *wire.Request, _ *server.Endpoint) error {
	return s.verify(request.Actor)
}

func (s *fakeService) Lost(_ *server.Incoming, what string, err error) {
	s.recordf("lost %s: %v", what, err)
}
func (s *fakeService) Dropped(subject string, err error) { s.recordf("dropped %s: %v", subject, err) }

func (s *fakeService) Reply(_ *server.Incoming, head *wire.ResponseHead, response *wire.Response) error {
	s.mu.Lock()
	s.heads = append(s.heads, head)
	s.mu.Unlock()
	if s.reply != nil {
		if err := s.reply(response); err != nil {
			return err
		}
	}
	s.recordf("%d %s", response.Status, response.Body)
	return nil
}
