package server_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

func TestServer_Receive_Rejections(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.serve("POST", "/add")
	for _, test := range []struct {
		name         string
		method, path string
		change       func(*server.Incoming)
		want         string
	}{
		{"no time", "POST", "/add", func(in *server.Incoming) { in.Read.TimeBudget = 0 },
			"504 the time budget was spent before the request arrived"},
		{"too deep", "POST", "/add", func(in *server.Incoming) { in.Read.CallDepth = 65 },
			"508 calls are nested more than 64 deep"},
		{"another path", "POST", "/else", nil, "404 /else"},
		{"another method", "PUT", "/add", nil, "405 POST"},
		{"too large", "POST", "/add", func(in *server.Incoming) { in.Read.Body = make([]byte, limit+1) },
			"413 a body of 65537 bytes exceeds the limit of 65536 for messages; see bus.WithMaxMessageBytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := f.request(test.method, test.path)
			if test.change != nil {
				test.change(in)
			}
			assert.False(t, f.server.Receive(in, nil, false))
			assert.False(t, in.IsAdmitted())
			f.check(test.name, "202 ", test.want) // the ack comes first
		})
	}
	in := f.request("POST", "/add", func(in *server.Incoming) {
		in.Read.CallDepth, in.Read.Body = wire.MaxCallDepth,
			make([]byte, limit)
	})
	if !f.server.Receive(in, nil, false) {
		t.Error("a request at the limits is rejected")
	}
	in.Do(false)
	f.check("at the limits", "202 ", "200 done", "freed")
}

func TestServer_Receive_CopyThroughOtherSubscription(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	withoutQueue := func(e *server.Endpoint) { e.Queue = false }
	queued, other := f.serve("POST", "/add"), f.serve("POST", "/{name}")
	each, another := f.serve("POST", "/each", withoutQueue), f.serve("GET", "/{name}", withoutQueue)
	for _, test := range []struct {
		path    string
		through *server.Endpoint
		handled bool
	}{
		{"/add", nil, true},
		{"/add", queued, true},
		{"/add", other, true}, // one subscription of the queue gets the only copy
		{"/add", each, false},
		{"/each", each, true},
		{"/each", another, false},
		{"/each", other, false},
	} {
		in := f.request("POST", test.path)
		if f.server.Receive(in, test.through, false) != test.handled {
			t.Errorf("%s through %v: handled is not %t", test.path, test.through, test.handled)
		}
		if !test.handled {
			f.check(test.path) // not even an ack
			continue
		}
		in.Do(false)
		f.check(test.path, "202 ", "200 done", "freed")
	}
}

func TestServer_Receive_Everyone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.serve("GET", "/all", func(e *server.Endpoint) { e.OnAll = true })
	f.serve("GET", "/own")
	in := f.request("GET", "/all")
	if !f.server.Receive(in, nil, true) {
		t.Fatal("rejected")
	}
	in.Do(false)
	f.check("on all", "202 ", "200 done", "freed")
	for _, path := range []string{"/own", "/else"} {
		f.server.Receive(f.request("GET", path), nil, true)
		f.check(path, "202 ", "404 "+path)
	}
}

func TestServer_Receive_Limits(t *testing.T) {
	t.Parallel()
	handlers := worker.NewLimiter(1)
	f := newFixture(t, nil, func(c *server.Config) { c.Handlers = handlers })
	f.serve("POST", "/add")
	f.serve("GET", "/control", func(e *server.Endpoint) { e.Port = subject.ControlPort })
	own := func(in *server.Incoming) { in.Own = true }
	control := func(in *server.Incoming) { in.Address.Port = subject.ControlPort }
	var admitted []*server.Incoming
	receive := func(name string, in *server.Incoming, rejection ...string) {
		t.Helper()
		if f.server.Receive(in, nil, false) {
			admitted = append(admitted, in)
		}
		f.check(name, append([]string{"202 "}, rejection...)...)
	}
	receive("the first", f.request("POST", "/add"))
	receive("full", f.request("POST", "/add"), "503 too busy: the limit of concurrent handlers is reached")
	receive("its own when full", f.request("POST", "/add", own))
	receive("control when full", f.request("GET", "/control", control))
	handlers.Close()
	receive("closed", f.request("POST", "/add"), "503 the instance is closing")
	receive("its own when closed", f.request("POST", "/add", own))
	receive("control when closed", f.request("GET", "/control", control))
	inside, running := handlers.Count()
	require.Len(t, admitted, 5)
	assert.Equal(t, 3, inside)
	assert.Equal(t, 3, running)
	for _, in := range admitted {
		if in.Urgent() != (in.Endpoint.Port == subject.ControlPort) {
			t.Errorf("a request for %s is urgent: %t", in.Endpoint.Name, in.Urgent())
		}
		in.Do(false)
	}
	inside, running = handlers.Count()
	assert.Zero(t, inside)
	assert.Zero(t, running)
}

func TestServer_ResponseSubject_Cache(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	subjectOf := func(id string, isControl bool) string {
		t.Helper()
		to, valid := f.server.ResponseSubject(&wire.Request{FromHost: "caller.example", FromID: id}, isControl)
		if !valid {
			t.Fatalf("%s is not valid", id)
		}
		return to
	}
	want := subject.Response("bus", "caller.example", "a1aaaaaaaa")
	assert.Equal(t, want, subjectOf("a1aaaaaaaa", true), "the sender of a control request is cached")
	assert.Zero(t, f.server.CachedCallers())
	for i := range server.MaxCallers {
		subjectOf("a"+strings.Repeat("0", 9-len(strconv.Itoa(i)))+strconv.Itoa(i), false)
	}
	if cached := f.server.CachedCallers(); cached != server.MaxCallers {
		t.Errorf("%d are cached", cached)
	}
	first, again := subjectOf("b1aaaaaaaa", false), subjectOf("b1aaaaaaaa", true)
	assert.Equal(t, again, first)
	assert.Equal(t, 1, f.server.CachedCallers())
	for _, from := range [][2]string{{"", "a1aaaaaaaa"}, {"caller.example", ""}, {"Caller.example", "a1aaaaaaaa"},
		{"caller.example", "*"}} {
		request := &wire.Request{FromHost: from[0], FromID: from[1]}
		err := f.server.CheckSender(request)
		require.Error(t, err, from)
		assert.Equal(t, http.StatusBadRequest, status.Of(err).Status, from)
	}
	err := f.server.CheckSender(&wire.Request{FromHost: "caller.example", FromID: "c1aaaaaaaa"})
	require.NoError(t, err)
	assert.Equal(t, 1, f.server.CachedCallers())
}

func TestAddressOf(t *testing.T) {
	t.Parallel()
	const published = "bus.443.example.calculator.|.POST.add"
	for _, test := range []struct {
		name                            string
		method, target, host, published string
		want                            string // of the error
	}{
		{"as published", "POST", "/add", ownHost, published, ""},
		{"with a query", "POST", "/add?x=1", ownHost, published, ""},
		{"with a port", "POST", "/add", ownHost + ":443", published, ""},
		{"in capitals", "POST", "/add", "Calculator.EXAMPLE", published, ""},
		{"port", "POST", "/add", ownHost + ":444", published,
			"the Host header names port 444, but the message was published to port 443"},
		{"no port", "POST", "/add", ownHost, "bus", "nothing is served on port "},
		{"host", "POST", "/add", "other.example", published,
			"the request says POST /add on host other.example, but was published to " + published},
		{"method", "PUT", "/add", ownHost, published,
			"the request says PUT /add on host calculator.example, but was published to " + published},
		{"path", "POST", "/sub", ownHost, published,
			"the request says POST /sub on host calculator.example, but was published to " + published},
		{"invalid host", "POST", "/add", "*", published, "host"},
	} {
		t.Run(test.name, func(t *testing.T) {
			address, err := server.AddressOf(&wire.Request{Method: test.method, Target: test.target, Host: test.host},
				test.published)
			if test.want == "" {
				want := (subject.Address{Port: 443, Host: ownHost, Method: "POST", Path: "/add"})
				require.NoError(t, err)
				assert.Equal(t, want, address)
				return
			}
			require.Error(t, err)
			assert.Equal(t, http.StatusBadRequest, status.Of(err).Status)
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestServer_Deliver_Handler(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.serve("POST", "/{x}/add")
	handled := make(chan bool)
	f.service.handler = func(in *server.Incoming) *wire.Response {
		defer close(handled)
		owner := in.Handler.Owner
		if owner != any(f.service) {
			t.Errorf("handled for %v, with x=%q and %q", owner, in.Value("x"), in.Request.Body)
		}
		assert.Equal(t, "a b", in.Value("x"), owner)
		assert.Equal(t, string([]byte("1")), string(in.Request.Body), owner)
		return &wire.Response{Status: http.StatusOK}
	}
	f.server.Deliver(f.request("POST", "/a%20b/add", func(in *server.Incoming) { in.Read.Body = []byte("1") }))
	<-handled
}
