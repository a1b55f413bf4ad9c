package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	"log"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// endpoint is something that is served under GET.
type endpoint struct {
	port  string
	path  string
	queue string // the queue group; "" where every instance answers
	serve func(r *http.Request) answer
}

// answer is what a request is answered with.
type answer struct {
	status int
	body   []byte
	fields []field
}

// serve subscribes to the endpoints and to what is addressed to this very instance, and then tells the others.
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

// leave finishes what has come in, and tells the others.
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

// announce tells every service something, and awaits nothing.
func (i *instance) announce(what string) error {
	return i.broker.Publish(i.endpointSubject("888", "all", "POST", "/"+what),
		i.request(rand.Text(), "POST", "all", "/"+what, nil))
}

// receiveRequest acks a request, and has it handled on another goroutine. One that does not tell who sent it cannot be
// answered.
func (i *instance) receiveRequest(arrived *nats.Msg) {
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(arrived.Data)))
	if err != nil || request.Header.Get("Bus-Op-Code") != "Req" || !tellsSender(request.Header) {
		log.Printf("dropped a message on %s: %v", arrived.Subject, err)
		return
	}
	port := strings.Split(arrived.Subject, ".")[1]
	found := i.find(port, request.URL.Path)
	i.reply(request, "Ack", found.queue, answer{status: http.StatusAccepted})
	i.handling.Go(func() {
		said := i.endpointSubject(port, request.Host, request.Method, request.URL.EscapedPath())
		i.reply(request, "Res", found.queue, i.handle(request, found, said == arrived.Subject))
	})
}

// senderForm is that of a hostname, an instance id and a message id.
var senderForm = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)* [a-z0-9]{1,32} [A-Za-z0-9_-]{1,64}$`)

// tellsSender checks what becomes part of a subject, and what is echoed.
func tellsSender(header http.Header) bool {
	return senderForm.MatchString(strings.Join([]string{
		header.Get("Bus-From-Host"), header.Get("Bus-From-Id"), header.Get("Bus-Msg-Id"),
	}, " "))
}

// find returns the endpoint at a path; one that answers 404 when there is none.
func (i *instance) find(port, path string) endpoint {
	for _, e := range i.endpoints() {
		if e.port == port && e.path == path {
			return e
		}
	}
	return endpoint{queue: host, serve: func(r *http.Request) answer {
		return i.problem(r, http.StatusNotFound, "nothing is served there")
	}}
}

// handle has a request answered, unless there is something against it.
func (i *instance) handle(r *http.Request, by endpoint, saysItsSubject bool) answer {
	budget, budgetErr := number(r, "Bus-Time-Budget", 20_000)
	depth, depthErr := number(r, "Bus-Call-Depth", 1)
	switch {
	case !saysItsSubject || budgetErr != nil || depthErr != nil:
		return i.problem(r, http.StatusBadRequest, "the request contradicts its subject or itself")
	case budget <= 0:
		return i.problem(r, http.StatusGatewayTimeout, "no time is left")
	case depth > 64:
		return i.problem(r, http.StatusLoopDetected, "calls are nested too deep")
	case r.Header.Get("Bus-Actor") != "": // which must not be taken for none
		refused := i.problem(r, http.StatusUnauthorized, "no token is accepted here: this service has no keys to verify it with")
		refused.fields = append(refused.fields, field{"WWW-Authenticate", "Bearer"})
		return refused
	case r.Header.Get("Bus-Fragment") != "":
		return i.problem(r, http.StatusRequestEntityTooLarge, "a request in parts is more than this service takes")
	case r.Method != http.MethodGet && by.path != "":
		refused := i.problem(r, http.StatusMethodNotAllowed, "only GET and HEAD are served there")
		refused.fields = append(refused.fields, field{"Allow", "GET, HEAD"})
		return refused
	default:
		return by.serve(r)
	}
}

// number reads a header field, which has a default.
func number(r *http.Request, name string, otherwise int) (int, error) {
	if value := r.Header.Get(name); value != "" {
		return strconv.Atoi(value)
	}
	return otherwise, nil
}

// reply publishes an ack or a response.
func (i *instance) reply(to *http.Request, opCode, queue string, with answer) {
	if queue == "" {
		queue = i.id + "." + host // each instance is a queue of its own
	}
	fields := append([]field{
		{"Connection", "close"},
		{"Bus-From-Host", host},
		{"Bus-From-Id", i.id},
		{"Bus-Msg-Id", to.Header.Get("Bus-Msg-Id")},
		{"Bus-Op-Code", opCode},
		{"Bus-Queue", queue},
	}, with.fields...)
	status := fmt.Sprintf("HTTP/1.1 %d %s", with.status, http.StatusText(with.status))
	subject := i.responseSubject(to.Header.Get("Bus-From-Host"), to.Header.Get("Bus-From-Id"))
	if err := i.broker.Publish(subject, message(status, with.body, fields...)); err != nil {
		log.Printf("a reply is lost: %v", err)
	}
}
