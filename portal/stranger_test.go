package portal_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// stranger is a foreign instance, whose answers to the framework's questions the test chooses.
type stranger struct {
	host, id, plane string
	raw             *nats.Conn

	mu      sync.Mutex // protects all below
	answers map[string]string
	counts  map[string]int
}

// newStranger starts an instance that reports a document, and no traffic.
func newStranger(t *testing.T, b *bustest.Bus, host string) *stranger {
	t.Helper()
	raw, err := nats.Connect("", nats.InProcessServer(b.Broker()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(raw.Close)
	s := &stranger{host: host, id: "s1aaaaaaaa", plane: b.Plane(), raw: raw, counts: make(map[string]int)}
	s.answers = map[string]string{
		"/ping":    `{"host":"` + host + `","id":"s1aaaaaaaa","version":"1","ports":[443]}`,
		"/traffic": `{"started":"2026-01-01T00:00:00Z","served":[],"made":[]}`,
		"/openapi.json": `{"openapi":"3.0.0","info":{"title":"a","version":"1"},"paths":{"/` + host +
			`:443/add":{"get":{"summary":"Add(x int) (sum int)","responses":{"200":{"description":"OK"}}}}}}`,
	}
	for _, to := range []string{
		subject.Subscription(s.plane, "888", "all", "GET", ">"), subject.Subscription(s.plane, "443", host, "GET", ">"),
		subject.Instance(s.plane, host, s.id),
	} {
		if _, err := raw.Subscribe(to, s.answer); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := raw.Subscribe(subject.Response(s.plane, host, s.id), func(*nats.Msg) {}); err != nil { // it is alive
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := raw.FlushWithContext(ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

// tells changes an answer; with "hang" there is none.
func (s *stranger) tells(path, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[path] = body
}

// asked returns how many requests there were for a path.
func (s *stranger) asked(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[path]
}

func (s *stranger) answer(message *nats.Msg) {
	var request wire.Request
	if wire.ParseRequest(message.Data, &request) != nil {
		return
	}
	path, _, _ := strings.Cut(request.Target, "?")
	s.mu.Lock()
	s.counts[path]++
	body, known := s.answers[path]
	s.mu.Unlock()
	if !known {
		return
	}
	to := subject.Response(s.plane, request.FromHost, request.FromID)
	response := &wire.Response{Status: 202, OpCode: wire.OpAck, FromHost: s.host, FromID: s.id, MsgID: request.MsgID}
	_ = s.raw.Publish(to, wire.AppendResponse(nil, response))
	if body == "hang" {
		return
	}
	response.Status, response.OpCode, response.Body = 200, wire.OpRes, []byte(body)
	response.Header = wire.Header{{Name: "Content-Type", Value: "application/json"}}
	_ = s.raw.Publish(to, wire.AppendResponse(nil, response))
}
