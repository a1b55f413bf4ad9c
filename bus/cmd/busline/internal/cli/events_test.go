package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/wire"
)

// mailer refuses the events of orders until it is mended.
type mailer struct {
	mended  atomic.Bool
	handled chan int
}

func (m *mailer) OnOrdered(_ context.Context, number int) error {
	if !m.mended.Load() {
		return bus.Errorf(http.StatusConflict, "order %d has no address", number)
	}
	m.handled <- number
	return nil
}

// await waits for so many events.
func (m *mailer) await(t *testing.T, count int) {
	t.Helper()
	for range count {
		select {
		case <-m.handled:
		case <-t.Context().Done():
			t.Fatal("the test ends")
		}
	}
}

// orders is a terminal on a bus where orders.example stores events, and mailer.example subscribes.
type orders struct {
	*terminal
	publisher, service *bus.Conn
	mailer             *mailer
	ordered            events.Event[bus.Args]
}

func newOrders(t *testing.T) *orders {
	t.Helper()
	e := &terminal{t, bustest.New(t, broker.JetStream(t.TempDir())), make(map[string]string)}
	o := &orders{terminal: e, mailer: &mailer{handled: make(chan int, 100)}, publisher: e.bus.Connect("orders.example")}
	publisher, err := events.NewPublisher(o.publisher, "orders.example", events.Durable())
	require.NoError(t, err)
	o.ordered = events.NewEvent[bus.Args](publisher, "/on-ordered")
	o.service = e.bus.Connect("mailer.example", bus.WithLogger(zerolog.Nop()))
	require.NoError(t, events.Subscribe(o.service, "orders.example", o.mailer, events.Durable()))
	return o
}

func (o *orders) publish(numbers ...int) {
	o.t.Helper()
	for _, number := range numbers {
		require.NoError(o.t, o.ordered.Publish(o.t.Context(), bus.Args{"number": number}))
	}
}

// subscription returns how far mailer.example is.
func (o *orders) subscription() eventlog.Subscription {
	o.t.Helper()
	log, err := eventlog.Describe(o.t.Context(), o.publisher, "orders.example")
	require.NoError(o.t, err)
	require.NotEmpty(o.t, log.Subscriptions)
	return log.Subscriptions[0]
}

// awaitBacklog waits until the service has so many events that it has not handled.
func (o *orders) awaitBacklog(count int) {
	o.t.Helper()
	for o.subscription().Backlog != count {
		require.NoError(o.t, o.t.Context().Err(), "the test ends")
	}
}

// awaitDeadLetters waits until there are so many dead letters.
func (o *orders) awaitDeadLetters(count int) {
	o.t.Helper()
	for o.subscription().DeadLetters != count {
		require.NoError(o.t, o.t.Context().Err(), "the test ends")
	}
}

// close ends the service, and waits until JetStream knows.
func (o *orders) close() {
	o.t.Helper()
	require.NoError(o.t, o.service.Close(o.t.Context()))
	for o.subscription().Waiting > 0 {
		require.NoError(o.t, o.t.Context().Err(), "the test ends")
	}
}

// columns returns the lines of a table, with one space between two cells.
func columns(text string) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}

// asks answers what the command asks on a terminal.
func asks(answer string) func(*cli.Environment) {
	return func(environment *cli.Environment) {
		environment.StdinTerminal, environment.Stdin = true, strings.NewReader(answer)
	}
}

func TestEvents_List(t *testing.T) {
	t.Parallel()
	newTerminal(t).refuses(1, "the broker has no JetStream", "events", "ls")
	empty := &terminal{t, bustest.New(t, broker.JetStream(t.TempDir())), make(map[string]string)}
	empty.refuses(3, "no publisher in plane "+empty.bus.Plane()+" has stored events", "events", "ls")
	assert.Equal(t, "[]\n", empty.busline(3, "events", "ls", "--json").stdout)
	o := newOrders(t)
	_, err := events.NewPublisher(o.bus.Connect("stock.example"), "stock.example", events.Durable())
	require.NoError(t, err)
	o.close()
	o.publish(1, 2)
	o.awaitBacklog(2)
	want := []string{
		"PUBLISHER SERVICE EVENT BACKLOG OLDEST IN FLIGHT REDELIVERED DEAD CUT OFF",
		"orders.example mailer.example on-ordered 2 0s 0 0 0 0",
		"stock.example -",
	}
	assert.Equal(t, want, columns(o.busline(0, "events", "ls").stdout))
	assert.Equal(t, want[:2], columns(o.busline(0, "events", "ls", "orders.example").stdout))
	o.refuses(3, "ordrs.example has no stored events in plane "+o.bus.Plane()+"; did you mean orders.example?", "events",
		"ls", "ordrs.example")
	var logs []eventlog.Log
	require.NoError(t, json.Unmarshal([]byte(o.busline(0, "events", "ls", "--json").stdout), &logs))
	require.Len(t, logs, 2)
	assert.Equal(t, 2, logs[0].Subscriptions[0].Backlog)
	for _, row := range []struct {
		words []string
		want  string
	}{
		{[]string{"describe", "or"}, "orders.example"},
		{[]string{"dead-letters", ""}, "orders.example stock.example"},
		{[]string{"dead-letters", "orders.example", ""}, "mailer.example"},
		{[]string{"dead-letters", "stock.example", ""}, ""},
		{[]string{"replay", ""}, "orders.example stock.example"},
		{[]string{"forget", "orders.example", ""}, "mailer.example"},
		{[]string{"publish", "orders.example", "on"}, "on-ordered"},
	} {
		lines := strings.Split(o.busline(0, append([]string{"__complete", "events"}, row.words...)...).stdout, "\n")
		assert.Equal(t, strings.Fields(row.want), lines[:len(strings.Fields(row.want))], row.words)
		assert.True(t, strings.HasPrefix(lines[len(strings.Fields(row.want))], ":"), row.words)
	}
}

func TestEvents_Describe(t *testing.T) {
	t.Parallel()
	o := newOrders(t)
	o.mailer.mended.Store(true)
	o.publish(1, 2)
	o.mailer.await(t, 2)
	o.awaitBacklog(0)
	for o.subscription().Waiting == 0 {
		require.NoError(t, t.Context().Err(), "the test ends")
	}
	lines := columns(o.busline(0, "events", "describe", "orders.example").stdout)
	require.Len(t, lines, 13)
	assert.Equal(t, []string{"orders.example", "events 2"}, lines[:2])
	assert.Regexp(t, `^size \d+ B of 1\.0 GiB$`, lines[2])
	assert.Equal(t, "kept 7d", lines[3])
	assert.Regexp(t, `^first 20..-..-..T..:..:..Z$`, lines[4])
	assert.Equal(t, []string{"replicas 1", "", "EVENT STORED", "on-ordered 2", ""}, lines[6:11])
	assert.Equal(t, "mailer.example on-ordered 0 - 0 0 0 0 1 no 0s", lines[12])
	var log eventlog.Log
	require.NoError(t, json.Unmarshal([]byte(o.busline(0, "events", "describe", "orders.example", "--json").stdout), &log))
	assert.Equal(t, 2, log.Events)
	o.refuses(3, "did you mean orders.example?", "events", "describe", "order.example")
}

func TestEvents_Tail(t *testing.T) {
	t.Parallel()
	o := newOrders(t)
	o.publish(1, 2)
	lines := columns(o.busline(0, "events", "tail", "orders.example", "--since", "beginning", "--no-follow").stdout)
	require.Len(t, lines, 2)
	assert.Regexp(t, `^20..-..-.. ..:..:..\.\d+ on-ordered [A-Z2-7]{26} {"number":1}$`, lines[0])
	o.says("", "events", "tail", "orders.example", "--no-follow")
	o.refuses(4, "ended after 100ms, as --timeout says", "events", "tail", "orders.example", "--timeout", "100ms")
	var event eventlog.Event
	text := o.busline(0, "events", "tail", "orders.example", "--since=1h", "--no-follow", "--json", "--event",
		"on-ordered").stdout
	require.NoError(t, json.Unmarshal([]byte(strings.Split(text, "\n")[1]), &event))
	assert.Equal(t, `{"number":2}`, event.Body)
	o.refuses(3, "orders.example has stored no event on-orderd; did you mean on-ordered?", "events", "tail",
		"orders.example", "--event", "on-orderd")
	o.refuses(2, "is in the future: choose a time up to now", "events", "tail", "orders.example", "--since",
		time.Now().Add(time.Hour).Format(time.RFC3339))
}

// interrupting ends a context after so many lines.
type interrupting struct {
	mu     sync.Mutex // protects all below
	text   bytes.Buffer
	lines  int
	cancel context.CancelFunc
	first  chan struct{} // closed at the first line
}

func (w *interrupting) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.text.Len() == 0 {
		close(w.first)
	}
	if n, err := w.text.Write(text); err != nil {
		return n, err
	}
	if bytes.Count(w.text.Bytes(), []byte("\n")) == w.lines {
		w.cancel()
	}
	return len(text), nil
}

// TestEvents_TailFollows stores events while they are printed, until an interrupt.
func TestEvents_TailFollows(t *testing.T) {
	t.Parallel()
	o := newOrders(t)
	o.publish(1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	screen := &interrupting{lines: 2, cancel: cancel, first: make(chan struct{})}
	var asked sync.WaitGroup
	asked.Go(func() {
		select {
		case <-screen.first:
			o.publish(2)
		case <-ctx.Done():
		}
	})
	got := o.run(ctx, func(environment *cli.Environment) { environment.Stdout = screen }, "events", "tail",
		"orders.example", "--since", "beginning")
	asked.Wait()
	assert.Equal(t, 130, got.status)
	assert.Contains(t, screen.text.String(), `{"number":2}`)
	assert.Empty(t, got.stderr)
}

func TestEvents_Replay(t *testing.T) {
	t.Parallel()
	o := newOrders(t)
	o.mailer.mended.Store(true)
	o.publish(1, 2)
	o.mailer.await(t, 2)
	o.awaitBacklog(0)
	command := []string{"events", "replay", "orders.example", "mailer.example", "--from", "beginning"}
	o.refuses(2, "add --yes to deliver the events of orders.example since the beginning to mailer.example again: "+
		"standard input is no terminal", command...)
	got := o.run(t.Context(), asks("n\n"), command...)
	assert.Equal(t, 1, got.status)
	assert.Equal(t, "deliver the events of orders.example since the beginning to mailer.example again? [y/N] busline "+
		"events replay: nothing was changed\n", got.stderr)
	got = o.run(t.Context(), asks("y\n"), command...)
	assert.Equal(t, 0, got.status, got.stderr)
	assert.Equal(t, "2 events of orders.example come to mailer.example, as soon as it runs\n", got.stdout)
	o.mailer.await(t, 2)
	o.awaitBacklog(0)
	o.says(`{"events":2}`+"\n", append(command, "--yes", "--json", "--event", "on-ordered")...)
	o.mailer.await(t, 2)
	got = o.busline(0, "events", "replay", "orders.example", "mailer.example", "--from", "3d", "--yes")
	assert.Equal(t, "2 events of orders.example come to mailer.example, as soon as it runs\n", got.stdout)
	assert.Regexp(t, `^busline events replay: the log of orders.example begins at \S+Z, after \S+Z: from its beginning\n$`,
		got.stderr)
	o.mailer.await(t, 2)
	for _, row := range []struct {
		status    int
		want      string
		arguments []string
	}{
		{2, "is in the future", []string{"orders.example", "mailer.example", "--from",
			time.Now().Add(time.Hour).Format(time.RFC3339)}},
		{3, "mailr.example does not subscribe to stored events of orders.example; did you mean mailer.example?",
			[]string{"orders.example", "mailr.example", "--from", "beginning"}},
		{3, "mailer.example does not subscribe to on-order of orders.example; did you mean on-ordered?",
			[]string{"orders.example", "mailer.example", "--from", "beginning", "--event", "on-order"}},
		{3, "did you mean orders.example?", []string{"ordrs.example", "mailer.example", "--from", "beginning"}},
	} {
		o.refuses(row.status, row.want, append([]string{"events", "replay", "--yes"}, row.arguments...)...)
	}
}

func TestEvents_Forget(t *testing.T) {
	t.Parallel()
	o := newOrders(t)
	for o.subscription().Waiting == 0 {
		require.NoError(t, t.Context().Err(), "the test ends")
	}
	command := []string{"events", "forget", "orders.example", "mailer.example"}
	o.refuses(1,
		"409 Conflict: an instance of mailer.example runs and waits for on-ordered of orders.example: stop it first",
		append(command, "--yes")...)
	o.close()
	o.publish(1)
	o.awaitBacklog(1)
	o.refuses(2, "add --yes to forget 1 subscription of mailer.example to orders.example, with 1 event that it has not "+
		"handled: standard input is no terminal", command...)
	o.refuses(3, "mailr.example does not subscribe to stored events of orders.example; did you mean mailer.example?",
		"events", "forget", "orders.example", "mailr.example")
	o.says("1 subscription of mailer.example to orders.example removed\n", append(command, "--yes")...)
	assert.Equal(t, []string{"orders.example -"}, columns(o.busline(0, "events", "ls").stdout)[1:])
}

func TestEvents_DeadLetters(t *testing.T) {
	t.Parallel()
	newTerminal(t).refuses(1, "the broker has no JetStream", "events", "dead-letters", "orders.example")
	o := newOrders(t)
	o.says("orders.example has no dead letters\n", "events", "dead-letters", "orders.example", "mailer.example",
		"--redeliver")
	o.refuses(3, "ordrs.example has no stored events in plane "+o.bus.Plane()+"; did you mean orders.example?", "events",
		"dead-letters", "ordrs.example", "--delete")
	for number := range 3 {
		o.publish(number + 1)
		o.awaitDeadLetters(number + 1)
	}
	listed := columns(o.busline(0, "events", "dead-letters", "orders.example").stdout)
	require.Len(t, listed, 4)
	assert.Equal(t, "AT SERVICE EVENT ATTEMPTS REASON", listed[0])
	assert.Contains(t, listed[1], "Z mailer.example on-ordered 1 409 Conflict: order 1 has no address")
	for _, misspelt := range [][]string{{"mailr.example"}, {"--event", "OnOrdered"},
		{"mailer.example", "--event", "on-orderd", "--redeliver"}, {"mailr.example", "--delete"}} {
		o.refuses(3, "orders.example has no such dead letter; there are on-ordered of mailer.example",
			append([]string{"events", "dead-letters", "orders.example"}, misspelt...)...)
	}
	got := o.busline(3, "events", "dead-letters", "orders.example", "mailr.example", "--json")
	assert.Equal(t, "[]\n", got.stdout)
	assert.Contains(t, got.stderr, `"exit":3`)
	var published []eventlog.DeadLetter
	require.NoError(t, json.Unmarshal([]byte(o.busline(0, "events", "dead-letters", "orders.example", "--json").stdout),
		&published))
	require.Len(t, published, 3)
	assert.Equal(t, `{"number":3}`, published[2].Body)
	o.mailer.mended.Store(true)
	again := o.run(t.Context(), func(environment *cli.Environment) { environment.StderrTerminal = true },
		"events", "dead-letters", "orders.example", "mailer.example", "--event=on-ordered", "--redeliver")
	assert.True(t, strings.HasSuffix(again.stdout,
		"\n3 events stored again for mailer.example, delivered as soon as the service runs\n"), again.stdout)
	assert.Contains(t, again.stderr, "\r3 of 3 delivered again\x1b[K\r\x1b[K", "progress")
	o.mailer.await(t, 3)
	o.says("orders.example has no dead letters\n", "events", "dead-letters", "orders.example")
	o.mailer.mended.Store(false)
	o.publish(4)
	o.awaitDeadLetters(1)
	question := "delete 1 dead letter of mailer.example"
	o.refuses(2, "add --yes to "+question+": standard input is no terminal", "events", "dead-letters",
		"orders.example", "--delete")
	got = o.run(t.Context(), asks("\n"), "events", "dead-letters", "orders.example", "--delete")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.stderr, question+"? [y/N] ")
	o.awaitDeadLetters(1)
	gone := o.busline(0, "events", "dead-letters", "orders.example", "--delete", "--yes").stdout
	assert.True(t, strings.HasSuffix(gone, "\n1 dead letter deleted\n"), gone)
	o.says("orders.example has no dead letters\n", "events", "dead-letters", "orders.example")
}

// TestEvents_AskingIsInterrupted ends the command while it asks.
func TestEvents_AskingIsInterrupted(t *testing.T) {
	t.Parallel()
	o := newOrders(t)
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	got := o.run(ctx, func(environment *cli.Environment) {
		environment.StdinTerminal, environment.Stdin = true, typist{reader, cancel}
	}, "events", "forget", "orders.example", "mailer.example")
	assert.Equal(t, 130, got.status)
	assert.NoError(t, writer.Close())
	assert.Equal(t, "mailer.example", o.subscription().Service)
}

// TestEvents_Publish answers in place of the publisher, which publishes what it gets.
func TestEvents_Publish(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveCalculator()
	var mu sync.Mutex // protects all below
	document, published := "", []string{}
	answer := func(status int, contentType, body string) *wire.Response {
		return &wire.Response{Status: status, OpCode: wire.OpRes,
			Header: wire.Header{{Name: "Content-Type", Value: contentType}}, Body: []byte(body)}
	}
	inPlace := bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
		return func(ctx context.Context, call *bus.Exchange) error {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case call.Host != "orders.example" || call.Port != 888:
				return next(ctx, call)
			case call.Path == "/asyncapi.json" && document == "":
				call.Response = answer(http.StatusNotFound, "application/problem+json", `{"status":404}`)
			case call.Path == "/asyncapi.json":
				call.Response = answer(http.StatusOK, "application/json", document)
			case strings.HasSuffix(call.Path, "/on-lost"):
				call.Response = answer(http.StatusNotFound, "application/problem+json",
					`{"status":404,"title":"Not Found","detail":"orders.example publishes no event on-lost"}`)
			default:
				published = append(published, call.Method+" "+call.Path+" "+call.Request.Header.Get("Content-Type")+" "+
					string(call.Request.Body))
				call.Response = answer(http.StatusAccepted, "application/json", `{"msgId":"M"}`)
			}
			return nil
		}
	})
	run := func(arguments ...string) result {
		return e.run(t.Context(), func(environment *cli.Environment) {
			environment.Connect = append(environment.Connect, inPlace)
		}, append([]string{"events", "publish", "orders.example"}, arguments...)...)
	}
	assert.Equal(t, result{stdout: "orders.example has published on-ordered\n"}, run("on-ordered", "item=7", "number:=7"))
	assert.Equal(t, result{stdout: `{"msgId":"M"}` + "\n"}, run("on-ordered", "--json", `{"number":8}`))
	lost := run("on-lost")
	assert.Equal(t, 1, lost.status)
	assert.Contains(t, lost.stderr, "404 Not Found: orders.example publishes no event on-lost")
	mu.Lock()
	document = `{"channels":{"orders.example/on-ordered":{"messages":{"OnOrdered":{"payload":{"$ref":"#/components/schemas/OnOrdered_in"}}}}},
		"components":{"schemas":{"X":null,"OnOrdered_in":{"type":"object","properties":{
			"number":{"type":"integer","exclusiveMinimum":0},"item":{"type":["string","null"]},"tags":{"type":["array","null"],"items":{"type":"string"}}}}}}}`
	mu.Unlock()
	assert.Equal(t, result{stdout: "orders.example has published on-ordered\n"},
		run("on-ordered", "item=7", "number=7", "tags=a", "tags=b"))
	assert.Equal(t, []string{
		`POST /publish/on-ordered application/json {"item":"7","number":7}`,
		`POST /publish/on-ordered application/json {"number":8}`,
		`POST /publish/on-ordered application/json {"item":"7","number":7,"tags":["a","b"]}`,
	}, published)
	wrong := run("on-ordered", "numbr=7")
	assert.Equal(t, 2, wrong.status)
	assert.Contains(t, wrong.stderr,
		"there is no argument numbr: orders.example:888/publish/on-ordered takes item, number, tags; did you mean number?")
	assert.Contains(t, run("on-ordered", "number=x").stderr, `argument number is an integer, not "x"`)
	e.refuses(3, "no instance serves orders.example in plane "+e.bus.Plane(), "events", "publish", "orders.example",
		"on-ordered")
	e.refuses(3, "calculatr.example", "events", "publish", "calculatr.example", "on-ordered")
}
