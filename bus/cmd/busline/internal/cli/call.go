package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/trace"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap"
)

// callFlags are the flags of call.
type callFlags struct {
	target
	all, include, raw, follow, trace bool
}

func (s *session) newCall() *cobra.Command {
	var f callFlags
	c := prints(&cobra.Command{
		Use:   "call <address> [name=value …] [name:=json …] [@file | - | '{…}']",
		Short: "Call one instance, or with --all every one",
		Long: `Calls an address such as https://calculator.example/add; https:// may be left out. The document of the
host says which method is meant, where each argument goes and which type it has; a mistake is reported
before anything is called. A path that is in no document, such as a hidden one, is called if the host
serves it; its arguments are sent as text.

  x=5              an integer, a number, a boolean or a text, as the document says
  tags=a tags=b    an array
  p1.x=3           a part of an object, or line.0.n=2 of an array of them
  tags:='["a"]'    JSON as it is; for a value of any type x=5 is the text, x:=5 the number
  photo=@file      the content of a file: text, bytes where the document says so, or a file of a form; @- reads standard
                   input, and photo:=@file reads JSON. For a text that begins with @ write x=@@text
  id=7             fills in {id}, too: products.example/products/{id} id=7 is the same as products.example/products/7.
                   A body that has an id gets it as well; after products/7, id=7 is only that of the body
  @file, -         the whole body, from a file or from standard input; or the JSON itself, '{"x":5}'

A stream of elements or events is printed as it comes, any other body with --follow: until it ends, or
--timeout is over, if that is given.
If a path has several methods, GET is called unless only another one takes the arguments; -X chooses the method.

The answer goes to standard output: JSON indented on a terminal, else on one line; anything else as it
is, on a terminal without its control characters. An answer of status 400 or above goes to standard
error, as a few lines, or unchanged with --json. With --all each instance answers, in any order, unless
a queue gives the calls of this endpoint to one of them.`,
		Example: examples(
			"busline call calculator.example/add x=5 y=6",
			"busline call calculator.example/distance p1.x=0 p1.y=0 p2:='{\"x\":3,\"y\":4}'",
			"busline call products.example/products name=Tea price=4.5 tags=hot tags=green",
			"busline call -X DELETE products.example/products/7",
			"busline call products.example/products - < product.json",
			"busline call --all messaging.example/no-queue",
			"busline call --follow products.example/watch",
			"BUS_TOKEN=$(busline token --claims '{\"roles\":[\"hr\"]}') busline call payroll.example/salary employee=ada",
		),
		Annotations: annotated(MayChange),
		RunE: func(c *cobra.Command, operands []string) error {
			return s.call(c.Context(), &f, operands)
		},
		ValidArgsFunction: s.completing(s.completeCall),
	})
	set := c.Flags()
	f.register(set)
	_ = c.RegisterFlagCompletionFunc("instance", s.completing(s.completeInstance)) // it fails for an unknown flag
	set.BoolVar(&f.all, "all", false, "multicast: call every instance, and print each answer on a line with its instance")
	set.BoolVarP(&f.include, "include", "i", false, "show status and headers")
	set.BoolVar(&f.raw, "raw", false, "print the body unchanged, whatever the status")
	set.BoolVar(&f.trace, "trace", false, "print the trace of the call to standard error, as busline trace does")
	set.BoolVarP(&f.follow, "follow", "f", false, "print the body as it comes, until it ends or you interrupt")
	return c
}

// longestTrace is how long the trace of a call that was interrupted may take.
const longestTrace = 3 * time.Second

// call makes one call, and prints the response.
func (s *session) call(ctx context.Context, f *callFlags, operands []string) error {
	if f.all && f.instance != "" {
		return misuse("--all and --instance cannot be combined: call every instance, or one")
	}
	if f.all && f.raw && !f.include {
		return misuse("--raw does not go with --all, which has a line for each answer: add -i for the head and the body of " +
			"each")
	}
	if s.settings.Converts() && (f.include || f.raw) {
		return misuse("-i and --raw do not go with --jq and -o yaml, which need the JSON of the answer alone")
	}
	if f.all && f.follow {
		return misuse("--follow does not go with --all: follow one instance, which --instance chooses")
	}
	s.records = f.trace
	draft, err := f.prepare(ctx, s, operands)
	if err != nil {
		return err
	}
	if !f.trace {
		return s.send(ctx, f, draft)
	}
	field, id := trace.NewTraceparent()
	err = s.send(bus.WithOutgoingHeader(ctx, "Traceparent", field), f, draft)
	if s.conn == nil {
		return err
	}
	if ctx.Err() != nil { // an interruption ends the call alone, and is no error to print
		interrupted, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestTrace)
		defer cancel()
		ctx = interrupted
	} else if status := s.explain(err); status != succeeded {
		err = &failure{status: status}
	}
	return cmp.Or(err, s.trace(ctx, id, false, s.Stderr))
}

// send makes a call, and prints the response.
func (s *session) send(ctx context.Context, f *callFlags, draft *prepared) error {
	conn, err := s.join(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(bus.WithTimeBudget(bus.WithActor(ctx, s.token()), s.settings.timeout))
	defer cancel(nil)
	request, err := draft.request(ctx)
	if err != nil {
		return misuse("%w", err)
	}
	if f.all {
		return s.callAll(conn, f, request)
	}
	began := time.Now()
	response, err := conn.Do(request)
	if isUnanswered(err) {
		return s.hostNotFound(context.WithoutCancel(ctx), request.URL.Hostname(), err)
	}
	if err != nil {
		return err
	}
	end := func() { cancel(context.DeadlineExceeded) }
	if (!f.follow && !streams(response)) || response.StatusCode >= http.StatusBadRequest {
		defer time.AfterFunc(s.settings.timeout, end).Stop()
		return s.answer(f, response)
	}
	if s.settings.timeoutGiven { // else it was for the beginning
		left := s.settings.timeout - time.Since(began)
		defer time.AfterFunc(left, end).Stop()
	}
	return s.endedBy(ctx, s.follow(f, response))
}

// streams reports whether a response is a stream of elements or events, which may have no end.
func streams(response *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return kind == restmap.NDJSON || kind == restmap.EventStream
}

// follow prints a response as it comes, line by line.
func (s *session) follow(f *callFlags, response *http.Response) error {
	defer response.Body.Close()
	if f.include {
		if err := s.printHead(response); err != nil {
			return err
		}
	}
	if f.raw || !s.StdoutTerminal {
		_, err := io.Copy(s.Stdout, response.Body)
		return err
	}
	lines := bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadString('\n')
		if _, failed := io.WriteString(s.Stdout, clean(line)); failed != nil {
			return failed
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// answer prints one response.
func (s *session) answer(f *callFlags, response *http.Response) error {
	defer response.Body.Close()
	body, err := wire.ReadAll(response.Body, maxDocument)
	if err != nil {
		return err
	}
	bad := response.StatusCode >= http.StatusBadRequest
	if f.include {
		err = s.printHead(response)
	}
	if err == nil && (!bad || f.raw || f.include) {
		err = s.printBody(f, body)
	}
	if err != nil || !bad {
		return err
	}
	if f.raw || f.include { // it has been shown
		return &failure{status: answered(response)}
	}
	return s.answerFailed(response, body)
}

// callAll makes a multicast call, and prints the responses as they arrive.
func (s *session) callAll(conn *bus.Conn, f *callFlags, request *http.Request) error {
	answered, bad, queued := 0, 0, false
	for response, err := range conn.Multicast(request) {
		if err != nil && !isOfInstance(err) {
			return err
		}
		answered++
		// else each is a queue of its own
		queued = response != nil && response.Header.Get("Bus-Queue") == request.URL.Hostname()
		var (
			text string
			good bool
		)
		switch {
		case err != nil:
			text, good = s.line(lost(err)), false
		case f.include:
			good = response.StatusCode < http.StatusBadRequest
			if err := s.answer(f, response); err != nil && statusOf(err) != failed {
				return err
			}
		default:
			one, err := readAnswer(response)
			if err != nil {
				return err
			}
			text, good = s.line(one), one.Status < http.StatusBadRequest
		}
		if !good {
			bad++
		}
		if err := s.print("%s", text); err != nil {
			return err
		}
	}
	if queued && answered == 1 {
		s.noteQueue(request.Context(), request.URL.Hostname())
	}
	switch {
	case answered == 0:
		return &failure{status: absent, err: fmt.Errorf("no instance answers at %s%s", request.URL.Host, request.URL.Path)}
	case bad > 0:
		return &failure{status: failed, err: fmt.Errorf("%d of %d answers report a failure", bad, answered)}
	}
	return nil
}

// noteQueue says that one instance has answered for all, if there are others.
func (s *session) noteQueue(ctx context.Context, host string) {
	instances, err := s.discover(ctx, host)
	if err == nil && len(instances) > 1 { // otherwise there is nothing to say
		s.notef("%s has %d instances, of which one answered: a queue gives each call of this endpoint to one of them; "+
			"--instance chooses it", host, len(instances))
	}
}

// answerOfOne is a line of the output of --all.
type answerOfOne struct {
	Host   string          `json:"host"`
	ID     string          `json:"id"`
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"` // a body that is not JSON becomes a string
}

// lost is the line for an instance that acknowledged the call and did not respond.
func lost(err error) answerOfOne {
	called, _ := errors.AsType[*bus.Error](err)
	return answerOfOne{called.Host, called.ID, called.Status, jsonOf(called.Detail)}
}

func readAnswer(response *http.Response) (one answerOfOne, err error) {
	defer response.Body.Close()
	text, err := wire.ReadAll(response.Body, maxDocument)
	one = answerOfOne{response.Header.Get("Bus-From-Host"), response.Header.Get("Bus-From-Id"), response.StatusCode,
		compact(text)}
	return one, err
}

// line formats a response on one line.
func (s *session) line(one answerOfOne) string {
	if s.settings.IsJSON() {
		return string(jsonOf(one)) + "\n"
	}
	body := string(one.Body)
	var text string
	// without quotes where none are needed
	if json.Unmarshal(one.Body, &text) == nil && !strings.ContainsAny(text, "\n\r\t") {
		body = text
	}
	style := s.style()
	status := strconv.Itoa(one.Status)
	if one.Status >= http.StatusBadRequest {
		status = style.red(status)
	}
	return fmt.Sprintf("%s  %s  %s\n", style.bold(cleanLine(one.ID+"."+one.Host)), status, clean(body))
}

// printHead prints the status and the headers of a response.
func (s *session) printHead(response *http.Response) error {
	var head strings.Builder
	head.WriteString(s.style().bold(response.Proto+" "+response.Status) + "\n")
	for _, name := range slices.Sorted(maps.Keys(response.Header)) {
		for _, value := range response.Header[name] {
			head.WriteString(name + ": " + cleanLine(value) + "\n")
		}
	}
	return s.print("%s\n", head.String())
}

// printBody prints the body of a response: JSON indented for people, or on one line for programs; anything else as it
// is, but on a terminal without what would control it.
func (s *session) printBody(f *callFlags, body []byte) error {
	pretty := s.StdoutTerminal && !s.settings.IsJSON()
	switch {
	case f.raw:
	case json.Valid(body) && pretty:
		body = []byte(clean(string(indent(body))))
	case json.Valid(body):
		body = append(compact(body), '\n')
	case s.StdoutTerminal:
		body = []byte(clean(string(body)))
	}
	if s.StdoutTerminal && len(body) > 0 && !bytes.HasSuffix(body, []byte("\n")) {
		body = append(body, '\n')
	}
	_, err := s.Stdout.Write(body)
	return err
}

// printDocument prints a document in JSON, indented on a terminal.
func (s *session) printDocument(text []byte) error {
	if s.StdoutTerminal && !s.settings.IsJSON() {
		text = indent(text)
	} else {
		text = append(compact(text), '\n')
	}
	_, err := s.Stdout.Write(text)
	return err
}

// indent formats JSON for people, and keeps order and digits.
func indent(text []byte) []byte {
	var indented bytes.Buffer
	_ = json.Indent(&indented, bytes.TrimSpace(text), "", "  ") // it is valid
	return append(indented.Bytes(), '\n')
}

// compact formats JSON on one line; a text that is not JSON becomes a JSON string.
func compact(text []byte) []byte {
	var line bytes.Buffer
	if json.Compact(&line, text) == nil {
		return line.Bytes()
	}
	return jsonOf(strings.TrimRight(string(text), "\n"))
}
