package server_test

import (
	"context"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

func TestIncoming_Do_Handler(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		method  string
		handler func(*server.Incoming) *wire.Response
		want    string
	}{
		{"return", "POST", nil, "200 done"},
		{"HEAD", "HEAD", nil, "200 "},
		{"panic", "POST", func(*server.Incoming) *wire.Response { panic("boom") }, "500 crashed: boom"},
		{"exit", "POST", func(*server.Incoming) *wire.Response {
			runtime.Goexit()
			return nil
		}, "500 crashed: <nil>"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			handlers := worker.NewLimiter(1)
			f := newFixture(t, nil, func(c *server.Config) { c.Handlers = handlers })
			f.service.handler = test.handler
			f.service.reply = func(response *wire.Response) error {
				if _, running := handlers.Count(); response.OpCode == wire.OpRes && running != 0 {
					t.Errorf("%s: the slot is not free when the caller has the response", test.name)
				}
				return nil
			}
			f.serve("*", "/add")
			in := f.request(test.method, "/add")
			if !f.server.Receive(in, nil, false) {
				t.Fatalf("%s: rejected", test.name)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				in.Do(false)
			}()
			<-done
			want := []string{"202 ", test.want, "freed"}
			if test.name == "exit" {
				want = want[:2] // the memory may be in use
			}
			f.check(test.name, want...)
			inside, _ := handlers.Count()
			assert.Zero(t, inside, test.name)
			assert.Zero(t, f.server.Inflight.Count(f.service), test.name)
			assert.ErrorIs(t, in.Handler.Err(), context.Canceled, test.name)
		})
	}
}

func TestIncoming_Do_Expired(t *testing.T) {
	t.Parallel()
	cancel := func(f *fixture, in *server.Incoming) { f.server.Cancel(server.KeyOf(in.Request)) }
	wait := func(*fixture, *server.Incoming) { time.Sleep(time.Minute) }
	for _, test := range []struct {
		name   string
		queued bool
		change func(*server.Endpoint)
		event  func(*fixture, *server.Incoming)
		want   string
	}{
		{"in time", true, nil, func(*fixture, *server.Incoming) { time.Sleep(time.Minute - 1) }, "200 done"},
		{"too late", true, nil, wait, "504 the time budget was spent while the request waited for its turn"},
		{"not queued", false, nil, wait, "200 done"},
		{"caller left", true, nil, cancel, "503 the caller left while the request waited for its turn"},
		{"caller left at run", false, nil, cancel, "200 done"},
		{"event", true, func(e *server.Endpoint) { e.Source = "source.example" }, wait, "200 done"},
		{"endpoint's limit", true, func(e *server.Endpoint) { e.TimeBudget = time.Millisecond },
			func(*fixture, *server.Incoming) { time.Sleep(time.Second) }, "200 done"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, nil)
				if test.change == nil {
					test.change = func(*server.Endpoint) {}
				}
				f.serve("POST", "/add", test.change)
				in := f.request("POST", "/add")
				if !f.server.Receive(in, nil, false) {
					t.Fatal("rejected")
				}
				test.event(f, in)
				in.Do(test.queued)
				f.check(test.name, "202 ", test.want, "freed")
			})
		})
	}
}

func TestServer_Start_Deadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		for _, test := range []struct{ ofEndpoint, want time.Duration }{{0, time.Minute}, {time.Second, time.Second},
			{time.Hour, time.Minute}} {
			e := newEndpoint(t, "POST", "/add", func(e *server.Endpoint) { e.TimeBudget = test.ofEndpoint })
			in := f.request("POST", "/add", func(in *server.Incoming) { in.Endpoint = e })
			f.server.Start(in)
			if left := timeLeft(in); left != test.want || in.Began != time.Now() {
				t.Errorf("%s, with a limit of %s for the endpoint", left, test.ofEndpoint)
			}
		}
	})
}

func TestInflight_Cancel(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	inflight, owner, other := new(server.Inflight), any("one"), any("two")
	// The ids share a shard, and one request has none.
	var requests []*server.Incoming
	for _, id := range []string{"a1", "b1", "c1", ""} {
		in := f.request("POST", "/add", func(in *server.Incoming) { in.Read.MsgID, in.Handler.Owner = id, owner })
		inflight.Add(in, subject.PublicPort)
		requests = append(requests, in)
	}
	control := f.request("POST", "/add", func(in *server.Incoming) { in.Read.MsgID, in.Handler.Owner = "d1", owner })
	inflight.Add(control, subject.ControlPort)
	assert.Equal(t, 4, inflight.Count(owner))
	assert.Zero(t, inflight.Count(other))
	key := server.KeyOf(requests[0].Request)
	for _, test := range []struct {
		owner any
		key   server.RequestKey
	}{
		{other, key},
		{owner, server.RequestKey{Host: "other.example", ID: key.ID, MsgID: key.MsgID}},
		{owner, server.RequestKey{Host: key.Host, ID: "b1aaaaaaaa", MsgID: key.MsgID}},
		{owner, server.RequestKey{Host: key.Host, ID: key.ID, MsgID: "x1"}},
		{owner, server.KeyOf(control.Request)},
	} {
		inflight.Cancel(test.owner, test.key)
	}
	left := func() (ids []string) {
		for _, in := range append(requests, control) {
			if in.Handler.CallerLeft() {
				ids = append(ids, in.Read.MsgID)
			}
		}
		return ids
	}
	if ids := left(); len(ids) != 0 {
		t.Errorf("cancelled by keys of others: %q", ids)
	}
	inflight.Remove(requests[0]) // the last one of the shard takes its place
	inflight.Cancel(owner, key)
	inflight.Cancel(owner, server.KeyOf(requests[2].Request))
	inflight.Cancel(owner, server.KeyOf(requests[3].Request))
	ids := left()
	require.Len(t, ids, 2, "cancelled")
	assert.Equal(t, "c1", ids[0], "cancelled")
	assert.Empty(t, ids[1], "cancelled")
	for _, in := range append(requests[1:], control) {
		inflight.Remove(in)
	}
	if inflight.Count(owner) != 0 {
		t.Errorf("%d requests in the end", inflight.Count(owner))
	}
}

func TestServer_Cancel_Handler(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.serve("POST", "/add")
	f.service.handler = func(in *server.Incoming) *wire.Response {
		f.server.Cancel(server.KeyOf(in.Request))
		<-in.Handler.Done()
		if !in.Handler.CallerLeft() {
			t.Error("the context has not ended because of the caller")
		}
		return &wire.Response{Status: http.StatusServiceUnavailable, Body: []byte(status.ErrCallerLeft.Error())}
	}
	in := f.request("POST", "/add")
	if !f.server.Receive(in, nil, false) {
		t.Fatal("rejected")
	}
	in.Do(false)
	f.check("cancelled", "202 ", "503 the caller stopped waiting", "freed")
}
