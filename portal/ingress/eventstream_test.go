package ingress_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/examples/orders/ordersapi"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/internal/portaltest"
)

const orderedPath = "/orders.example:417/on-ordered"

// block is a part of a stream of events, up to an empty line.
type block struct{ id, event, data, retry, comment string }

// eventReader is a client of a stream of events.
type eventReader struct {
	t      *testing.T
	lines  *bufio.Reader
	cancel func()
}

// readEvents opens a stream of events, and reads its first block.
func readEvents(d *portaltest.Ingress, path string, headers ...string) *eventReader {
	d.T.Helper()
	ctx, cancel := context.WithCancel(d.T.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.Server.URL+path, http.NoBody)
	require.NoError(d.T, err)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(d.T, err)
	d.T.Cleanup(func() {
		cancel()
		_ = response.Body.Close()
	})
	reader := &eventReader{d.T, bufio.NewReader(response.Body), cancel}
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		d.T.Fatalf("status %d: %s", response.StatusCode, text)
	}
	assert.Equal(d.T, "text/event-stream", response.Header.Get("Content-Type"))
	assert.Equal(d.T, "no", response.Header.Get("X-Accel-Buffering"))
	assert.Equal(d.T, "no-store, no-transform", response.Header.Get("Cache-Control"))
	assert.Equal(d.T, block{retry: "2000"}, reader.next())
	return reader
}

// next reads a block; none at the end of the stream.
func (r *eventReader) next() (got block) {
	r.t.Helper()
	for {
		line, err := r.lines.ReadString('\n')
		if err != nil {
			assert.Empty(r.t, line)
			return block{comment: "end of the stream"}
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		switch value = strings.TrimPrefix(value, " "); {
		case line == "\n":
			return got
		case name == "":
			got.comment += value
		case name == "id":
			got.id = value
		case name == "event":
			got.event = value
		case name == "retry":
			got.retry = value
		case name == "data":
			got.data += value
		default:
			r.t.Errorf("the line %q", line)
		}
	}
}

// numbers reads events, up to the order with a number, and returns the last id and the numbers.
func (r *eventReader) numbers(until int) (id string, numbers []int) {
	r.t.Helper()
	for len(numbers) == 0 || numbers[len(numbers)-1] != until {
		got := r.next()
		var number int
		_, err := fmt.Sscanf(got.data, `{"number":%d,`, &number)
		require.NoError(r.t, err, "%+v", got)
		require.NotEmpty(r.t, got.id)
		require.Empty(r.t, got.event, "a browser hands it to onmessage")
		id, numbers = got.id, append(numbers, number)
	}
	return id, numbers
}

// offered is an ingress that offers the events of orders.example.
type offered struct {
	*portaltest.Ingress

	publisher *ordersapi.Publisher
}

func newOffered(t *testing.T, entrance *portaltest.Ingress, options ...events.PublishOption) *offered {
	t.Helper()
	publisher, err := ordersapi.NewPublisher(entrance.Bus.Connect(ordersapi.Host), options...)
	require.NoError(t, err)
	return &offered{entrance, publisher}
}

// openStored offers events that are stored.
func openStored(t *testing.T, options ...ingress.Option) *offered {
	t.Helper()
	entrance := portaltest.OpenOn(t, bustest.New(t, broker.JetStream(t.TempDir())), nil,
		append(options, ingress.WithEvents("*"))...)
	return newOffered(t, entrance, events.Durable())
}

func (o *offered) order(numbers ...int) {
	o.T.Helper()
	for _, number := range numbers {
		require.NoError(o.T, o.publisher.OnOrdered(o.T.Context(), number, "Tea", 1))
	}
}

// awaitFeeds waits until there are so many feeds.
func awaitFeeds(d *portaltest.Ingress, count int) {
	d.T.Helper()
	kit.Eventually(d.T, func() bool { return ingress.Feeds(d.Handler) == count })
}

func count(from, to int) (numbers []int) {
	for number := from; number <= to; number++ {
		numbers = append(numbers, number)
	}
	return numbers
}

// TestEvents_Live has two clients share a subscription, which ends with the second one.
func TestEvents_Live(t *testing.T) {
	t.Parallel()
	o := newOffered(t, portaltest.Open(t, ingress.WithEvents("*")))
	first, second := readEvents(o.Ingress, orderedPath), readEvents(o.Ingress, orderedPath, "Accept: text/event-stream")
	awaitFeeds(o.Ingress, 1)
	o.order(7)
	got := first.next()
	assert.Len(t, got.id, 26, "the message id")
	assert.JSONEq(t, `{"number":7,"item":"Tea","quantity":1}`, got.data)
	assert.Equal(t, got, second.next())
	assert.Contains(t, o.Get("/-/metrics").Text,
		`busline_ingress_event_streams{host="ingress",id="`+ingress.ID(o.Handler)+`"} 2`)
	first.cancel()
	o.order(8)
	_, numbers := second.numbers(8)
	assert.Equal(t, []int{8}, numbers)
	awaitFeeds(o.Ingress, 1)
	second.cancel()
	awaitFeeds(o.Ingress, 0)
	third := readEvents(o.Ingress, orderedPath, "Last-Event-ID: "+got.id)
	assert.Equal(t,
		block{event: "gap", data: `{"detail":"these events are not stored: what was published meanwhile is not there"}`},
		third.next())
}

// TestEvents_Resume publishes while clients come and go, and holds that they miss nothing and get nothing twice.
func TestEvents_Resume(t *testing.T) {
	t.Parallel()
	const orders = 300
	o := openStored(t)
	o.order(0)
	var publishing, listening sync.WaitGroup
	for range 4 {
		listener := readEvents(o.Ingress, orderedPath)
		begin := listener.next()
		assert.Equal(t, block{id: "1"}, begin, "where the log is")
		listening.Go(func() {
			var all []int
			for at := 20; at <= orders; at += 20 {
				id, numbers := listener.numbers(at)
				listener.cancel()
				all = append(all, numbers...)
				listener = readEvents(o.Ingress, orderedPath, "Last-Event-ID: "+id)
			}
			assert.Equal(t, count(1, orders), all)
		})
	}
	publishing.Go(func() { o.order(count(1, orders)...) })
	publishing.Wait()
	listening.Wait()
	_, whole := readEvents(o.Ingress, orderedPath+"?lastEventId=0").numbers(orders)
	assert.Equal(t, count(0, orders), whole)
	_, rest := readEvents(o.Ingress, orderedPath+"?lastEventId=0", "Last-Event-ID: 291").numbers(orders)
	assert.Equal(t, count(291, orders), rest, "the header wins")
}

// TestEvents_Gap holds that clients get a notice when the log has lost events that they have not got.
func TestEvents_Gap(t *testing.T) {
	t.Parallel()
	o := openStored(t)
	o.order(1, 2, 3, 4)
	manager, err := jetstream.New(o.Bus.Connect("operator.example").NATS())
	require.NoError(t, err)
	log, err := manager.Stream(t.Context(), o.Bus.Plane()+"_EVENTS_orders_example")
	require.NoError(t, err)
	require.NoError(t, log.Purge(t.Context(), jetstream.WithPurgeSequence(3)))
	for _, test := range []struct {
		id, detail string
		numbers    []int
	}{
		{"1", "the log has dropped events behind 1: it begins with 3", []int{3, 4, 5}},
		{"2", "", []int{3, 4, 5}},
		{"4", "", []int{5}},
		{"5", "the log has never had the event 5: its last one is 4", []int{3, 4, 5}},
		{"4Q5CBU6RBMRM4XQVWYTLP2S7CA", "the log has never had the event 18446744073709551615: its last one is 4",
			[]int{3, 4, 5}},
	} {
		t.Run(test.id, func(t *testing.T) {
			listener := readEvents(o.Ingress, orderedPath, "Last-Event-ID: "+test.id)
			if test.detail != "" {
				assert.Equal(t, block{event: "gap", data: `{"detail":"` + test.detail + `"}`}, listener.next())
			}
			if test.numbers[0] == 3 {
				_, numbers := listener.numbers(4)
				assert.Equal(t, []int{3, 4}, numbers)
			}
		})
	}
}

// TestEvents_Outage loses the broker for a moment.
func TestEvents_Outage(t *testing.T) {
	t.Parallel()
	t.Run("stored", func(t *testing.T) {
		t.Parallel()
		o := openStored(t)
		listener := readEvents(o.Ingress, orderedPath)
		listener.next()
		o.order(1)
		require.NoError(t, ingress.NATS(o.Handler).ForceReconnect())
		awaitConnected(o.Ingress)
		o.order(2)
		_, numbers := listener.numbers(2)
		assert.Equal(t, []int{1, 2}, numbers)
	})
	t.Run("not stored", func(t *testing.T) {
		t.Parallel()
		o := newOffered(t, portaltest.Open(t, ingress.WithEvents("*")))
		listener := readEvents(o.Ingress, orderedPath)
		require.NoError(t, ingress.NATS(o.Handler).ForceReconnect())
		assert.Equal(t, block{event: "gap", data: `{"detail":"the broker was away, or events came too fast"}`},
			listener.next())
		o.order(2)
		_, numbers := listener.numbers(2)
		assert.Equal(t, []int{2}, numbers)
	})
}

func awaitConnected(d *portaltest.Ingress) {
	kit.Eventually(d.T, func() bool { return ingress.NATS(d.Handler).IsConnected() })
}

// TestEvents_Claims asks the publisher who may listen.
func TestEvents_Claims(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := portaltest.OpenFor(t, i, ingress.WithEvents("*"))
	publisher, err := ordersapi.NewPublisher(entrance.Bus.Connect(ordersapi.Host, i.Trust()),
		bus.RequireClaims(`"keeper" in roles`))
	require.NoError(t, err)
	for _, test := range []struct {
		name, path, header string
		status             int
		detail, challenge  string
	}{
		{"no token", orderedPath, "X: y", 401, "a token is required", "Bearer"},
		{"invalid token", orderedPath, "Authorization: Bearer x", 401, "", `Bearer error="invalid_token"`},
		{"others", orderedPath, i.In("cook"), 403, "the claims of the token do not give access",
			`Bearer error="insufficient_scope"`},
		{"unknown", "/orders.example:417/on-orderd", i.In("keeper"), 404,
			"orders.example publishes no event on-orderd; it has on-ordered; did you mean on-ordered?", ""},
		{"unknown to others", "/orders.example:417/on-orderd", i.In("cook"), 404,
			"orders.example publishes no event on-orderd; it has no events for this caller", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := entrance.Get(test.path, test.header)
			failed := got.Problem(t)
			assert.Equal(t, test.status, failed.Status)
			assert.Contains(t, failed.Detail, test.detail)
			assert.Equal(t, test.path, failed.Instance)
			assert.Equal(t, "no", failed.Executed)
			assert.True(t, strings.HasPrefix(got.Header.Get("Www-Authenticate"), test.challenge), got.Header)
		})
	}
	listener := readEvents(entrance, orderedPath, i.In("keeper"))
	require.NoError(t, publisher.OnOrdered(t.Context(), 7, "Tea", 1))
	_, numbers := listener.numbers(7)
	assert.Equal(t, []int{7}, numbers)
}

func TestEvents_Refuses(t *testing.T) {
	t.Parallel()
	o := newOffered(t, portaltest.Open(t, ingress.WithEvents("*")))
	speaker := o.Bus.Connect("speaker.example")
	require.NoError(t, speaker.Handle("GET", "/x", http.HandlerFunc(portaltest.Echo)))
	other, err := events.NewPublisher(speaker, "other.example")
	require.NoError(t, err)
	events.NewEvent[bus.Args](other, "/on-said")
	require.NoError(t, events.Subscribe[ordersapi.Events](o.Bus.Connect("mailer.example"), ordersapi.Host,
		portaltest.OrderReader{}))
	for _, test := range []struct {
		name, method, path, header string
		status                     int
		detail                     string
	}{
		{"HEAD", "HEAD", orderedPath, "X: y", 405, ""},
		{"POST", "POST", orderedPath, "Content-Length: 0", 405, "events are read with GET, not POST"},
		{"OPTIONS", "OPTIONS", orderedPath, "X: y", 405, "events are read with GET, not OPTIONS"},
		{"JSON", "GET", orderedPath, "Accept: application/json, text/html;q=0.9", 406,
			"events are sent as text/event-stream: accept that"},
		{"refused", "GET", orderedPath, "Accept: text/event-stream;q=0, x", 406,
			"events are sent as text/event-stream: accept that"},
		{"id", "GET", orderedPath, "Last-Event-ID: 7 8", 400,
			`Last-Event-ID is "7 8": send the id of an event of this stream, or none`},
		{"id in the query", "GET", orderedPath + "?lastEventId=%0A", "X: y", 400, `Last-Event-ID is "\n"`},
		{"long id", "GET", orderedPath, "Last-Event-ID: " + strings.Repeat("7", 65), 400, "Last-Event-ID is"},
		{"no event", "GET", "/orders.example:417/", "X: y", 404, "the path names no event: it is /<host>:417/<event>"},
		{"no path", "GET", "/orders.example:417", "X: y", 404, "the path names no event"},
		{"unknown event", "GET", "/orders.example:417/on-paid", "X: y", 404,
			"orders.example publishes no event on-paid; it has on-ordered"},
		{"slash", "GET", "/orders.example:417/on-ordered%2Fx", "X: y", 404, "orders.example publishes no event on-ordered/x"},
		{"below", "GET", "/orders.example:417/on-ordered/x", "X: y", 404, "orders.example publishes no event on-ordered/x"},
		{"wildcard", "GET", "/orders.example:417/*", "X: y", 404, "orders.example publishes no event *"},
		{"no host", "GET", "/a_b:417/on-ordered", "X: y", 404, `"a_b:417" is not a hostname`},
		{"all", "GET", "/all:417/on-ordered", "X: y", 404, "the host all is not open to the outside"},
		{"wrong host", "GET", "/order.example:417/on-ordered", "X: y", 503,
			"no instance of order.example publishes events now"},
		{"only a subscriber", "GET", "/mailer.example:417/on-ordered", "X: y", 503,
			"no instance of mailer.example publishes events now"},
		{"of another host", "GET", "/speaker.example:417/on-said", "X: y", 404,
			"speaker.example publishes no event on-said of its own"},
		{"an instance", "GET", "/" + speaker.ID() + ".speaker.example:417/on-said", "X: y", 404,
			"publishes no event on-said of its own"},
		{"port as a name", "GET", "/orders.example:0417/on-ordered", "X: y", 404, `port "0417" is not open to the outside`},
		{"anonymous, no keys", "GET", orderedPath, "Authorization: Bearer x", 401, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := o.Send(test.method+" "+test.path+" HTTP/1.1\r\nHost: door.example\r\nConnection: close\r\n"+test.header+
				"\r\n\r\n", test.method)
			assert.Equal(t, test.status, got.StatusCode, got.Text)
			if test.status == http.StatusMethodNotAllowed {
				assert.Equal(t, "GET", got.Header.Get("Allow"))
			}
			if test.method != http.MethodHead {
				assert.Contains(t, got.Problem(t).Detail, test.detail)
			}
		})
	}
	awaitFeeds(o.Ingress, 0)
	closed := newOffered(t, portaltest.Open(t)).Get(orderedPath).Problem(t)
	assert.Equal(t, `port "417" is not open to the outside`, closed.Detail, "by default")
	_, err = ingress.New(speaker, ingress.WithEventStreamLimit(0))
	assert.ErrorContains(t, err,
		"ingress.WithEventStreamLimit: 0 streams are too few: leave out ingress.WithEvents for none")
}

// TestEvents_Denied has the broker deny the ingress the log, and allow it what docs/guides/events.md says.
func TestEvents_Denied(t *testing.T) {
	t.Parallel()
	const needed = `"*.888.>", "*.r.>", "$JS.API.STREAM.INFO.*", "$JS.API.CONSUMER.CREATE.>", "$JS.API.CONSUMER.MSG.NEXT.>", "$JS.API.CONSUMER.DELETE.>"`
	for _, test := range []struct {
		name, publish, subscribe string
		durable                  bool
		status                   int
	}{
		{"stored", needed, `"*.*.ingress.>", "*.888.>", "*.r.>", "_INBOX.>"`, true, 200},
		{"stored, denied", `"*.888.>", "*.r.>"`, `"*.*.ingress.>", "*.888.>", "*.r.>", "_INBOX.>"`, true, 503},
		{"live", `"*.888.>", "*.r.>"`, `"*.*.ingress.>", "*.888.>", "*.r.>", "*.417.>"`, false, 200},
		{"live, denied", `"*.888.>", "*.r.>"`, `"*.*.ingress.>", "*.888.>", "*.r.>"`, false, 503},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := bustest.New(t, broker.JetStream(t.TempDir()), broker.Listen("127.0.0.1:0"), broker.Config(`
no_auth_user: all
authorization { users: [ {user: all, password: all}, {user: door, password: door,
	permissions: {publish: {allow: [`+test.publish+`]}, subscribe: {allow: [`+test.subscribe+`]}}} ] }`))
			url := strings.Replace(b.Broker().URL(), "nats://", "nats://door:door@", 1)
			entrance := portaltest.OpenOn(t, b, []bus.ConnectOption{bus.WithURL(url), bus.WithLogger(zerolog.Nop())},
				ingress.WithEvents("*"))
			var options []events.PublishOption
			if test.durable {
				options = append(options, events.Durable())
			}
			o := newOffered(t, entrance, options...)
			if test.status != http.StatusOK {
				failed := o.Get(orderedPath).Problem(t)
				assert.Equal(t, test.status, failed.Status)
				assert.Equal(t, "the events cannot be had now; the reason is in the log of the ingress", failed.Detail)
				return
			}
			listener := readEvents(o.Ingress, orderedPath)
			if test.durable {
				listener.next()
			}
			o.order(1)
			_, numbers := listener.numbers(1)
			assert.Equal(t, []int{1}, numbers)
			if test.durable {
				_, numbers = readEvents(o.Ingress, orderedPath, "Last-Event-ID: 0").numbers(1)
				assert.Equal(t, []int{1}, numbers)
			}
		})
	}
}

// blockedWriter is a client that takes nothing until it is released. Then it keeps what it gets.
type blockedWriter struct {
	released chan struct{}
	began    chan struct{} // closed with the first event
	once     sync.Once
	header   http.Header
	text     strings.Builder
}

func newBlockedWriter() *blockedWriter {
	return &blockedWriter{released: make(chan struct{}), began: make(chan struct{}), header: make(http.Header)}
}

func (w *blockedWriter) Header() http.Header { return w.header }
func (w *blockedWriter) WriteHeader(int)     {}
func (w *blockedWriter) Flush()              {}

func (w *blockedWriter) Write(text []byte) (int, error) {
	if strings.HasPrefix(string(text), "id: ") && strings.Contains(string(text), "data: ") {
		w.once.Do(func() { close(w.began) })
		<-w.released
	}
	return w.text.Write(text)
}

// TestEvents_Slow has a client that takes nothing: it ends once its queue is full, and others do not wait for it.
func TestEvents_Slow(t *testing.T) {
	t.Parallel()
	o := openStored(t)
	slow := newBlockedWriter()
	ended := make(chan struct{})
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, orderedPath, http.NoBody)
	go func() {
		defer close(ended)
		o.Handler.ServeHTTP(slow, request)
	}()
	kit.Eventually(t, func() bool { return ingress.Listening(o.Handler) == 1 })
	quick := readEvents(o.Ingress, orderedPath)
	quick.next()
	o.order(1)
	<-slow.began
	o.order(count(2, 50)...)
	_, numbers := quick.numbers(50)
	assert.Equal(t, count(1, 50), numbers)
	o.order(count(51, 100)...) // never more than the queue of the quick one holds, however busy the machine is
	_, numbers = quick.numbers(100)
	assert.Equal(t, count(51, 100), numbers)
	assert.Equal(t, 1, ingress.Listening(o.Handler), "the slow one gets no more")
	close(slow.released)
	<-ended
	text := slow.text.String()
	assert.Equal(t, 65, strings.Count(text, "data: "), "the one that was written, and the queue")
	assert.True(t, strings.HasSuffix(text, "\n: this client is too slow; it has to come again\n\n"), text)
	_, numbers = readEvents(o.Ingress, orderedPath, "Last-Event-ID: 65").numbers(100)
	assert.Equal(t, count(66, 100), numbers)
}

// TestEvents_SlowResume has more clients than may read the log at a time resume, and take nothing. Another one resumes
// nevertheless.
func TestEvents_SlowResume(t *testing.T) {
	t.Parallel()
	o := openStored(t)
	o.order(count(1, 3)...)
	var running sync.WaitGroup
	var slow []*blockedWriter
	for range 20 {
		client := newBlockedWriter()
		slow = append(slow, client)
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, orderedPath, http.NoBody)
		request.Header.Set("Last-Event-ID", "0")
		running.Go(func() { o.Handler.ServeHTTP(client, request) })
	}
	for _, client := range slow {
		<-client.began
	}
	quick := readEvents(o.Ingress, orderedPath, "Last-Event-ID: 0")
	quick.numbers(3)
	o.order(4)
	_, numbers := quick.numbers(4)
	assert.Equal(t, []int{4}, numbers)
	o.Handler.Close()
	for _, client := range slow {
		close(client.released)
	}
	running.Wait()
}

// TestEvents_Limit answers 503 beyond the limit.
func TestEvents_Limit(t *testing.T) {
	t.Parallel()
	o := newOffered(t, portaltest.Open(t, ingress.WithEvents("*"), ingress.WithEventStreamLimit(2),
		ingress.WithTrustedProxies("127.0.0.1/32")))
	first := readEvents(o.Ingress, orderedPath)
	readEvents(o.Ingress, orderedPath, "X-Forwarded-For: 203.0.113.7")
	got := o.Get(orderedPath)
	assert.Equal(t, http.StatusServiceUnavailable, got.Problem(t).Status)
	assert.Equal(t, "the ingress has as many streams of events as it may: try again later", got.Problem(t).Detail)
	assert.Equal(t, "1", got.Header.Get("Retry-After"))
	first.cancel()
	kit.Eventually(t, func() bool { return ingress.Listening(o.Handler) == 1 })
}

// TestEvents_ClientLimit answers 503 to a client that has a quarter of the streams.
func TestEvents_ClientLimit(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	ada, bob := i.Bearer(nil), i.Bearer(claims.Claims{"sub": "bob"})
	for _, test := range []struct {
		name         string
		proxies      []string // trusted
		client, same []string // headers
		other        []string // headers of another client
	}{
		{name: "address", same: []string{"X-Forwarded-For: 203.0.113.7"}, other: []string{ada}},
		{name: "subject", client: []string{ada}, same: []string{i.Bearer(claims.Claims{"jti": "2"})}, other: []string{bob}},
		{name: "subject and address", client: []string{ada}, same: []string{ada}},
		{
			name: "proxy", proxies: []string{"127.0.0.1/32", "10.0.0.0/8"}, client: []string{"X-Forwarded-For: 203.0.113.7"},
			same:  []string{"X-Forwarded-For: 198.51.100.1, ::ffff:203.0.113.7, 10.0.0.1"},
			other: []string{"X-Forwarded-For: 203.0.113.7, 203.0.113.8"},
		},
		{
			name: "malformed", proxies: []string{"127.0.0.1/32", "10.0.0.0/8"}, client: []string{"X-Forwarded-For: 10.0.0.1"},
			same: []string{"X-Forwarded-For: 203.0.113.7, unknown, 10.0.0.1"}, other: []string{"X-Forwarded-For: "},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			trusted := ingress.WithTrustedProxies(test.proxies...)
			o := newOffered(t, portaltest.OpenFor(t, i, ingress.WithEvents("*"), ingress.WithEventStreamLimit(8), trusted))
			first := readEvents(o.Ingress, orderedPath, test.client...)
			second := readEvents(o.Ingress, orderedPath, test.same...)
			got := o.Get(orderedPath, test.same...)
			assert.Equal(t, http.StatusServiceUnavailable, got.Problem(t).Status)
			assert.Equal(t, "this client has as many streams of events as one may, 2: close one, or try again later",
				got.Problem(t).Detail)
			assert.Equal(t, "1", got.Header.Get("Retry-After"))
			third := readEvents(o.Ingress, orderedPath, test.other...)
			assert.Equal(t, 2, ingress.EventClients(o.Handler))
			first.cancel()
			kit.Eventually(t, func() bool { return ingress.Listening(o.Handler) == 2 })
			second.cancel()
			third.cancel()
			kit.Eventually(t, func() bool { return ingress.EventClients(o.Handler) == 0 })
		})
	}
}

// listenOn begins a stream of events on a connection of its own, with these lines in the header of the request.
func listenOn(t *testing.T, listener *pipes, header ...string) (net.Conn, *http.Response) {
	t.Helper()
	conn := listener.dial()
	lines := append([]string{"GET " + orderedPath + " HTTP/1.1", "Host: a"}, header...)
	_, err := io.WriteString(conn, strings.Join(lines, "\r\n")+"\r\n\r\n")
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	return conn, response
}

// TestEvents_Time has virtual time: a stream says every 15 s that it lives, longer than any request may take, and ends
// when its token does.
func TestEvents_Time(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		i := portaltest.NewIssuer(t)
		entrance, err := ingress.New(b.Connect("ingress", i.Trust()), ingress.WithEvents("*"))
		require.NoError(t, err)
		_, err = ordersapi.NewPublisher(b.Connect(ordersapi.Host, i.Trust()), bus.RequireClaims(`sub == "ada"`))
		require.NoError(t, err)
		listener := newPipes()
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { assert.NoError(t, ingress.NewServer(listener, entrance).Serve(ctx)) })
		began := time.Now()
		header := i.Bearer(claims.Claims{"exp": began.Add(5 * time.Minute).Unix()})
		conn, response := listenOn(t, listener, header)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, "retry: 2000\n\n"+strings.Repeat(":\n\n", 22-1)+": the token has expired\n\n",
			strings.Replace(string(text), ":\n\n: the", ": the", 1))
		assert.Equal(t, 5*time.Minute+30*time.Second, time.Since(began).Truncate(time.Second))
		require.NoError(t, conn.Close())
		stop()
		running.Wait()
	})
}

// TestEvents_HTTP2 has a stream outlast the time limits of a server that speaks HTTP/2, which watches them also while
// nothing is written.
func TestEvents_HTTP2(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		entrance, err := ingress.New(b.Connect("ingress"), ingress.WithEvents("*"))
		require.NoError(t, err)
		_, err = ordersapi.NewPublisher(b.Connect(ordersapi.Host))
		require.NoError(t, err)
		listener, protocols := newPipes(), new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		server := &http.Server{Handler: entrance, Protocols: protocols, ReadTimeout: time.Minute, WriteTimeout: time.Minute}
		server.RegisterOnShutdown(entrance.Close)
		var running sync.WaitGroup
		running.Go(func() { assert.ErrorIs(t, server.Serve(listener), http.ErrServerClosed) })
		transport := &http.Transport{Protocols: protocols,
			DialContext: func(context.Context, string, string) (net.Conn, error) { return listener.dial(), nil }}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"http://door.example"+orderedPath, http.NoBody)
		require.NoError(t, err)
		response, err := transport.RoundTrip(request)
		require.NoError(t, err)
		assert.Equal(t, 2, response.ProtoMajor)
		time.Sleep(200 * time.Second)
		require.NoError(t, server.Shutdown(t.Context()))
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, "retry: 2000\n\n"+strings.Repeat(":\n\n", 13), string(text))
		transport.CloseIdleConnections()
		running.Wait()
	})
}

// TestEvents_Deaf has a client that stops reading: it is cut off 10 s after the next heartbeat, which it does not take.
func TestEvents_Deaf(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		entrance, err := ingress.New(b.Connect("ingress"), ingress.WithEvents("*"))
		require.NoError(t, err)
		_, err = ordersapi.NewPublisher(b.Connect(ordersapi.Host))
		require.NoError(t, err)
		listener := newPipes()
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { assert.NoError(t, ingress.NewServer(listener, entrance).Serve(ctx)) })
		conn, response := listenOn(t, listener)
		began := time.Now()
		_, err = io.ReadFull(response.Body, make([]byte, len("retry: 2000\n\n")))
		require.NoError(t, err)
		time.Sleep(24 * time.Second)
		assert.Equal(t, 1, ingress.Listening(entrance))
		time.Sleep(2 * time.Second)
		assert.Zero(t, ingress.Listening(entrance), time.Since(began))
		_, err = io.ReadAll(response.Body)
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.NoError(t, conn.Close())
		stop()
		running.Wait()
	})
}

// rigidWriter cannot send a response in pieces.
type rigidWriter struct{ http.ResponseWriter }

func (w rigidWriter) Unwrap() {} // of another signature

// TestEvents_NoFlush holds that operators get a warning of a handler around the ingress that holds events back.
func TestEvents_NoFlush(t *testing.T) {
	t.Parallel()
	var log kit.Lines
	entrance := portaltest.OpenWith(t, []bus.ConnectOption{bus.WithLogger(zerolog.New(&log))}, ingress.WithEvents("*"))
	newOffered(t, entrance)
	recorder := httptest.NewRecorder()
	entrance.Handler.ServeHTTP(rigidWriter{recorder},
		httptest.NewRequestWithContext(t.Context(), http.MethodGet, orderedPath, http.NoBody))
	assert.Equal(t, http.StatusInternalServerError, recorder.Code)
	assert.Contains(t, log.String(), "a handler around the ingress has a ResponseWriter that has neither Flush nor Unwrap")
	awaitFeeds(entrance, 0)
}

// TestEvents_Stop ends all streams at once when the server stops, also behind another handler, and when the ingress is
// closed.
func TestEvents_Stop(t *testing.T) {
	t.Parallel()
	o := openStored(t)
	mux := http.NewServeMux()
	mux.Handle("/bus/", http.StripPrefix("/bus", o.Handler))
	server, stop := listenTo(t, mux, ingress.WithGracePeriod(time.Hour))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		server.BaseURL()+"/bus"+orderedPath, http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	listener := readEvents(o.Ingress, orderedPath)
	listener.next()
	require.NoError(t, stop())
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, "retry: 2000\n\nid: 0\n\n", string(text))
	o.order(1)
	listener.numbers(1)
	o.Handler.Close()
	o.Handler.Close()
	assert.Equal(t, block{comment: "end of the stream"}, listener.next())
	assert.Equal(t, "the ingress stops", o.Get(orderedPath).Problem(t).Detail)
	awaitFeeds(o.Ingress, 0)
}

// TestEvents_Idle has many clients that cost no goroutine beside that of net/http, and leave none behind.
func TestEvents_Idle(t *testing.T) {
	o := openStored(t)
	o.order(1)
	warm := readEvents(o.Ingress, orderedPath)
	warm.next()
	before := runtime.NumGoroutine()
	const clients = 1000
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for at := range clients {
		running.Go(func() {
			writer := newBlockedWriter()
			close(writer.released)
			o.Handler.ServeHTTP(writer, httptest.NewRequestWithContext(ctx, http.MethodGet, orderedPath, http.NoBody))
			assert.Contains(t, writer.text.String(), `data: {"number":2,`)
		})
		// one after the other, so that their calls to the publisher need few goroutines
		kit.Eventually(t, func() bool { return ingress.Listening(o.Handler) == at+2 })
	}
	assert.Equal(t, 1, ingress.Feeds(o.Handler))
	o.order(2)
	warm.numbers(2)
	assert.LessOrEqual(t, runtime.NumGoroutine()-before, clients+20,
		"one for each handler, and some that handle their calls")
	kit.Eventually(t, func() bool { return ingress.Queued(o.Handler) == 0 })
	cancel()
	running.Wait()
	assert.Equal(t, 1, ingress.Listening(o.Handler))
	warm.cancel()
	awaitFeeds(o.Ingress, 0)
}

// TestEncodeEvent holds what a browser makes of an event: its data are all lines, and no line can begin a field.
func TestEncodeEvent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ id, data, want string }{
		{"7", `{"a":1}`, "id: 7\ndata: {\"a\":1}\n\n"},
		{"", "", "data: {}\n\n"},
		{"x", "{\n\"a\":1\r\n}\r", "id: x\ndata: {\ndata: \"a\":1\ndata: }\n\n"},
		{"x", "\nid: 9\n", "id: x\ndata: \n" + "data: id: 9\n\n"},
	} {
		assert.Equal(t, test.want, string(ingress.EncodeEvent(test.id, []byte(test.data))), strconv.Quote(test.data))
	}
}

// TestEvents_Open holds that only what is named is open, and that names without sense are errors.
func TestEvents_Open(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		open   []string
		status int
	}{
		{[]string{"orders.example/on-ordered"}, http.StatusNotAcceptable},
		{[]string{"other.example/*", "orders.example/*"}, http.StatusNotAcceptable},
		{[]string{"*"}, http.StatusNotAcceptable},
		{[]string{"orders.example/on-cancelled", "other.example/on-ordered"}, http.StatusNotFound},
		{[]string{"example/*"}, http.StatusNotFound},
	} {
		o := newOffered(t, portaltest.Open(t, ingress.WithEvents(test.open...)))
		// which an endless stream is not
		assert.Equal(t, test.status, o.Get(orderedPath, "Accept: text/html").StatusCode, test.open)
	}
	for _, invalid := range [][]string{{}, {""}, {"all/*"}, {"orders.example//on-ordered"}, {"orders.example/on ordered"},
		{"*", "orders.example/on-ordered?x=1"}, {"orders.example"}, {"orders.example/"}, {"*/on-ordered"},
		{"orders.example/on-*"}, {"https://orders.example/on-ordered"}} {
		_, err := ingress.New(bustest.New(t).Connect("ingress"), ingress.WithEvents(invalid...))
		assert.ErrorContains(t, err, "ingress.WithEvents", invalid)
	}
}

// TestEvents_NotOpen answers alike for events that are not open, whether they exist or not: a publisher would name
// those that it has.
func TestEvents_NotOpen(t *testing.T) {
	t.Parallel()
	for _, path := range []string{orderedPath, "/orders.example:417/on-orderd", "/orders.example:417/on-gone",
		"/absent.example:417/on-ordered"} {
		o := newOffered(t, portaltest.Open(t, ingress.WithEvents("orders.example/on-gone", "other.example/*")))
		host, event, _ := strings.Cut(strings.TrimPrefix(path, "/"), ":417/")
		failed := o.Get(path).Problem(t)
		assert.Equal(t, http.StatusNotFound, failed.Status, path)
		assert.Equal(t, "the event "+event+" of "+host+" is not open to the outside", failed.Detail)
		assert.Equal(t, "ingress", failed.Host)
	}
	o := newOffered(t, portaltest.Open(t, ingress.WithEvents("orders.example/*")))
	failed := o.Get("/orders.example:417/on-orderd").Problem(t)
	assert.Contains(t, failed.Detail, "did you mean on-ordered?", "all are open")
}
