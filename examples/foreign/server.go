package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"log"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// endpoint is something that is served under GET.
type endpoint struct {
	port  string
	path  string
	queue string // the queue group; "" where every instance answers
	serve func(r *request) answer
	lines func(r *request) iter.Seq[string] // in place of serve: a stream

	callers []string // the hosts of the services that may call; nil for all
}

// request is a request that has come.
type request struct {
	received
	method string
	url    *url.URL
}

// answer is what a request is answered with.
type answer struct {
	status int
	body   []byte
	fields []field
}

// serve subscribes to the endpoints and to what is addressed to this very instance, and then announces itself.
func (i *instance) serve() error {
	to := map[string]string{i.plane + ".*." + reversed(host) + "." + i.id + ".|.>": ""} // subject → queue group
	for _, e := range i.endpoints() {
		to[i.endpointSubject(e.port, host, "GET", e.path)] = e.queue
	}
	to[i.endpointSubject("888", "all", "GET", "/ping")] = ""
	for subject, queue := range to {
		subscription, err := i.broker.QueueSubscribe(subject, queue, i.receiveRequest)
		if err != nil {
			return err
		}
		i.subscriptions = append(i.subscriptions, subscription)
	}
	if err := i.broker.Flush(); err != nil {
		return err
	}
	return i.announce("hello")
}

// leave finishes what has come in, and announces that it leaves.
func (i *instance) leave() error {
	var ended sync.WaitGroup
	for _, subscription := range i.subscriptions {
		ended.Add(1)
		subscription.SetClosedHandler(func(string) { ended.Done() })
		if err := subscription.Drain(); err != nil {
			return err
		}
	}
	ended.Wait()
	i.handling.Wait()
	if err := i.announce("bye"); err != nil {
		return err
	}
	return i.broker.Flush()
}

// announce sends a message to every service, and awaits nothing.
func (i *instance) announce(what string) error {
	return i.broker.Publish(i.endpointSubject("888", "all", "POST", "/"+what),
		i.request(rand.Text(), "POST", "all", "/"+what, nil))
}

// receiveRequest acks a request, and handles it on another goroutine. One that does not name its sender cannot be
// answered; what says that it is something else must not be.
func (i *instance) receiveRequest(arrived *nats.Msg) {
	port := strings.Split(arrived.Subject, ".")[1]
	r, err := readRequest(arrived.Data)
	if opCode, ok := r.fields["bus-op-code"]; ok && opCode != "Req" || !r.tellsSender() {
		log.Printf("dropped a message on %s: %v", arrived.Subject, err)
		return
	}
	if err == nil && i.saidSubject(r, port) != arrived.Subject {
		err = errors.New("the request contradicts its subject")
	}
	found := i.find(port, r.url.Path)
	i.reply(r, "Ack", found.queue, answer{status: http.StatusAccepted})
	i.handling.Go(func() {
		switch refused := i.objection(r, found, err); {
		case refused != nil:
			i.reply(r, "Res", found.queue, *refused)
		case found.lines != nil:
			i.sendStream(r, found.queue, found.lines(r))
		default:
			i.reply(r, "Res", found.queue, found.serve(r))
		}
	})
}

var (
	requestForm = regexp.MustCompile(`^([A-Z]+) ([^ ]+) HTTP/1\.1$`)
)

// readRequest reads a request. Besides an error it returns what there is of it.
func readRequest(text []byte) (*request, error) {
	m, err := read(text)
	r := &request{m, "", new(url.URL)}
	start := requestForm.FindStringSubmatch(m.start)
	fragment, isPart := m.fields["bus-fragment"]
	switch {
	case err != nil:
		return r, err
	case start == nil:
		return r, errors.New("the first line is no request line of HTTP/1.1")
	case m.fields["bus-op-code"] == "":
		return r, errors.New("there is no op code")
	case isPart && !partForm.MatchString(fragment):
		return r, errors.New("the part has no number")
	}
	to, err := url.ParseRequestURI(start[2])
	if err != nil || to.Host != "" && !strings.EqualFold(to.Host, m.fields["host"]) {
		return r, errors.New("the target is no path, or not on the host")
	}
	r.method, r.url = start[1], to
	return r, nil
}

// saidSubject is where a request belongs by what it says itself; "" if it names another port.
func (i *instance) saidSubject(r *request, port string) string {
	toHost, toPort, hasPort := strings.Cut(strings.ToLower(r.fields["host"]), ":")
	if hasPort && toPort != port {
		return ""
	}
	return i.endpointSubject(port, toHost, r.method, r.url.EscapedPath())
}

// find returns the endpoint at a path; one that answers 404 when there is none.
func (i *instance) find(port, path string) endpoint {
	for _, e := range i.endpoints() {
		if e.port == port && e.path == path {
			return e
		}
	}
	return endpoint{queue: host, serve: func(r *request) answer {
		return i.problem(r, http.StatusNotFound, "nothing is served there")
	}}
}

// objection returns what there is against a request, nil for nothing.
func (i *instance) objection(r *request, by endpoint, err error) *answer {
	budget, isBudget := r.number("bus-time-budget", 20_000)
	depth, isDepth := r.number("bus-call-depth", 1)
	var refused answer
	switch {
	case err != nil:
		refused = i.problem(r, http.StatusBadRequest, err.Error())
	case !isBudget || !isDepth || depth < 1:
		refused = i.problem(r, http.StatusBadRequest, "the time budget or the call depth is no such number")
	case budget <= 0:
		refused = i.problem(r, http.StatusGatewayTimeout, "no time is left")
	case depth > 64:
		refused = i.problem(r, http.StatusLoopDetected, "calls are nested too deep")
	case r.fields["bus-fragment"] != "" && r.fields["bus-fragment"] != "1/1":
		refused = i.problem(r, http.StatusRequestEntityTooLarge, "a request in parts is more than this service takes")
	case r.method != http.MethodGet && by.path != "":
		refused = i.problem(r, http.StatusMethodNotAllowed, "only GET and HEAD are served there")
		refused.fields = append(refused.fields, field{"Allow", "GET, HEAD"})
	default:
		return i.callerObjection(r, by)
	}
	return &refused
}

// callerObjection returns what there is against the sender of a request, nil for nothing.
func (i *instance) callerObjection(r *request, by endpoint) *answer {
	if by.callers == nil {
		return nil
	}
	var refused answer
	if r.fields["bus-caller-proof"] == "" {
		refused = i.problem(r, http.StatusForbidden, "only some services may call, and the caller proves nothing")
	} else if err := i.checkCaller(r); err != nil {
		refused = i.problem(r, http.StatusUnauthorized, "the proof of the caller: "+err.Error())
		refused.fields = append(refused.fields, field{"WWW-Authenticate", `Bus-Caller-Proof error="invalid_token"`})
	} else if !slices.Contains(by.callers, r.fields["bus-from-host"]) {
		refused = i.problem(r, http.StatusForbidden, "the caller is not among the services that may call")
	} else {
		return nil
	}
	return &refused
}

// reply publishes an ack or a response.
func (i *instance) reply(to *request, opCode, queue string, with answer) {
	if queue == "" {
		queue = i.id + "." + host // each instance is a queue of its own
	}
	fields := append([]field{
		{"Connection", "close"},
		{"Bus-From-Host", host},
		{"Bus-From-Id", i.id},
		{"Bus-Msg-Id", to.fields["bus-msg-id"]},
		{"Bus-Op-Code", opCode},
		{"Bus-Queue", queue},
	}, with.fields...)
	status := fmt.Sprintf("HTTP/1.1 %d %s", with.status, http.StatusText(with.status))
	subject := i.responseSubject(to.fields["bus-from-host"], to.fields["bus-from-id"])
	if err := i.broker.Publish(subject, message(status, with.body, fields...)); err != nil {
		log.Printf("a reply is lost: %v", err)
	}
}
