package bus

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/internal/testbroker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/reflectapi/strictjson"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

// shortCircuitCheck compares each message that stays in the process with the same message sent over the broker: written
// as text and parsed again. See CheckShortCircuit of bus/bustest.
type shortCircuitCheck struct {
	payload func() int // largest message of the broker, in bytes
	report  func(error)
}

// message reports differences in a request or its arguments. It runs before the request is passed on.
func (k *shortCircuitCheck) message(caller *Conn, in *serverCall, sent *clientCall) {
	if in.local == nil {
		k.tell(k.request(sent))
		return
	}
	in.local.check = k
	written := *sent
	found := &comparison{call: callName(sent), message: "request"}
	if err := caller.write(&written); err != nil {
		k.tell(found.lost(err))
		return
	}
	k.tell(k.request(&written))
	read, err := in.endpoint().decode(&serverCall{Incoming: server.Incoming{Request: &written.Request, Match: in.Match}})
	if err != nil {
		k.tell(found.lost(err))
		return
	}
	found.values("arguments", in.local.args, read)
	k.tell(errors.Join(found.differences...))
}

// copied returns a copy of results before they are set; the zero Value without a check.
func (k *shortCircuitCheck) copied(results reflect.Value) reflect.Value {
	if k == nil || !results.IsValid() {
		return reflect.Value{}
	}
	twin := reflect.New(results.Type()).Elem()
	twin.Set(results)
	return twin
}

// results reports differences in the results of a call, which were copied.
func (k *shortCircuitCheck) results(in *serverCall, out, before reflect.Value) {
	found := &comparison{call: in.endpoint().Name, message: "response"}
	encoded, err := in.endpoint().mapped.Encode(out)
	if err == nil && in.local.anyCase {
		err = strictjson.UnmarshalAnyCase(encoded.Body, before.Addr().Interface())
	} else if err == nil {
		err = strictjson.Unmarshal(encoded.Body, before.Addr().Interface())
	}
	if err != nil {
		k.tell(found.lost(err))
		return
	}
	found.part("status", http.StatusOK, encoded.Status)
	found.values("results", in.local.results, before)
	k.tell(errors.Join(found.differences...))
}

func (k *shortCircuitCheck) tell(difference error) {
	if difference != nil {
		k.report(difference)
	}
}

// request returns the differences of a request, nil if there are none.
func (k *shortCircuitCheck) request(sent *clientCall) error {
	if sent.Stream != nil {
		return nil // its body can be read once
	}
	found := &comparison{call: callName(sent), message: "request"}
	read, err := stream.ArrivedRequest(&sent.Request, k.payload())
	if err != nil {
		return found.lost(err)
	}
	address, err := server.AddressOf(read, sent.Subject)
	if err != nil {
		return found.lost(err)
	}
	found.part("address", sent.Address, address)
	found.part("method", sent.Method, read.Method)
	found.part("HEAD", sent.IsHead, read.IsHead)
	found.part("target", sent.Target, read.Target)
	found.part("host", sent.Host, read.Host)
	found.part("sender", sent.FromID+"."+sent.FromHost, read.FromID+"."+read.FromHost)
	found.part("message id", sent.MsgID, read.MsgID)
	if sent.Actor != read.Actor { // a secret: neither is shown
		found.differ("actor", "unchanged", "changed")
	}
	if sent.CallerProof != read.CallerProof {
		found.differ("proof of the caller", "unchanged", "changed")
	}
	found.part("time budget", sent.TimeBudget, read.TimeBudget)
	found.part("call depth", sent.CallDepth, read.CallDepth)
	found.header(sent.Header, read.Header)
	found.body(sent.Body, read.Body)
	return errors.Join(found.differences...)
}

// response returns the differences of an ack or a response to a request.
func (k *shortCircuitCheck) response(to *clientCall, sent *wire.Response) error {
	found := &comparison{call: callName(to), message: "response"}
	if sent.OpCode == wire.OpAck {
		found.message = "ack"
	}
	read, err := stream.ArrivedResponse(sent, k.payload())
	if err != nil {
		return found.lost(err)
	}
	found.part("status", sent.Status, read.Status)
	found.part("op code", sent.OpCode, read.OpCode)
	found.part("length announced to HEAD", sent.ContentLength, read.ContentLength)
	found.part("sender", sent.FromID+"."+sent.FromHost, read.FromID+"."+read.FromHost)
	found.part("message id", sent.MsgID, read.MsgID)
	found.part("queue", sent.Queue, read.Queue)
	found.header(sent.Header, read.Header)
	found.body(sent.Body, read.Body)
	return errors.Join(found.differences...)
}

// checkedReplier checks the responses that it passes on.
type checkedReplier struct {
	server.Replier
	check *shortCircuitCheck
	to    *clientCall
}

// Reply compares what it passes on.
func (r checkedReplier) Reply(to *server.Incoming, head *wire.ResponseHead, response *wire.Response) error {
	if response.Fragment.IsPart() { // of a stream, which is written as it is over the broker
		return r.Replier.Reply(to, head, response)
	}
	r.check.tell(r.check.response(r.to, response))
	return r.Replier.Reply(to, head, response)
}

// comparison collects the differences between a message in the process and the same one over the broker.
type comparison struct {
	call, message string // "POST https://calculator.example/add", "response"
	differences   []error
}

func callName(of *clientCall) string {
	host := of.Address.Host
	if of.Address.Port != subject.PublicPort {
		host += ":" + strconv.Itoa(of.Address.Port)
	}
	return of.Address.Method + " https://" + host + of.Address.Path
}

// lost returns the error for a message that cannot be compared.
func (c *comparison) lost(err error) error {
	return fmt.Errorf("%s: the %s arrives in the process, but would not arrive over the broker: %w", c.call,
		c.message, err)
}

// part compares two comparable values.
func (c *comparison) part(name string, here, there any) {
	if here != there {
		c.differ(name, shown(here), shown(there))
	}
}

// values compares copied structs with those parsed from text.
func (c *comparison) values(name string, here, there reflect.Value) {
	if !reflect.DeepEqual(here.Interface(), there.Interface()) {
		c.differ(name, fmt.Sprintf("%+v", here), fmt.Sprintf("%+v", there))
	}
}

// header compares header fields by name: the order of different fields is irrelevant.
func (c *comparison) header(here, there wire.Header) {
	mine, theirs := here.HTTP(), there.HTTP()
	names := maps.Clone(mine)
	maps.Copy(names, theirs)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !slices.Equal(mine[name], theirs[name]) {
			c.differ("header "+name, fmt.Sprintf("%q", mine[name]), fmt.Sprintf("%q", theirs[name]))
		}
	}
}

// body compares bytes, and reports them from shortly before the first difference.
func (c *comparison) body(here, there []byte) {
	if bytes.Equal(here, there) {
		return
	}
	const before = 20
	at := 0
	for at < min(len(here), len(there)) && here[at] == there[at] {
		at++
	}
	from := max(at-before, 0)
	c.part("body of "+strconv.Itoa(len(here))+" bytes, from byte "+strconv.Itoa(from), string(here[from:]),
		string(there[from:]))
}

// differ adds a difference, with shortened values.
func (c *comparison) differ(name, here, there string) {
	const longest = 200
	for _, value := range []*string{&here, &there} {
		if len(*value) > longest {
			*value = (*value)[:longest] + "…"
		}
	}
	c.differences = append(c.differences,
		fmt.Errorf("%s: the %s's %s is %s in the process, and would be %s over the broker",
			c.call, c.message, name, here, there))
}

// shown quotes a text and leaves a number as it is.
func shown(value any) string {
	if text, ok := value.(string); ok {
		return strconv.Quote(text)
	}
	return fmt.Sprint(value)
}

// checkResponse passes a response to the broker of a test. Results that were copied have been passed before.
func (in *serverCall) checkResponse(response *wire.Response) {
	if in.conn.config.checkResponse != nil && response.Stream == nil && !in.local.answeredBy(response) {
		in.check(response.Status, response.Header.Get("Content-Type"), response.Body)
	}
}

// checkResults passes results that were copied to the broker of a test, as the text that they would be.
func (in *serverCall) checkResults(results reflect.Value) {
	if encoded, err := in.endpoint().mapped.Encode(results); err == nil {
		in.check(in.local.filled.Status, encoded.ContentType, encoded.Body)
	}
}

func (in *serverCall) check(status int, contentType string, body []byte) {
	c, e := in.conn, in.endpoint()
	if e.hidden || e.source != "" || e.mapped.Style == restmap.Web || e.Port == subject.ControlPort ||
		!openapi.Lists(e.mapped.ClientRoute().Method) {
		return // no document shows it
	}
	if e.mapped.Element() != nil && status == http.StatusNoContent {
		return // the answer to a browser that has the end of the stream
	}
	c.config.checkResponse(&testbroker.Response{
		Endpoint: fmt.Sprintf("%s (%s on %s)", e.Name, e.mapped.ClientRoute(), c.host), Key: e,
		Document: func() ([]byte, error) {
			document, err := openapi.Build(openapi.Service{Host: c.host, Port: e.Port,
				Endpoints: []*openapi.EndpointDoc{{Endpoint: e.mapped}}})
			if err != nil {
				return nil, err
			}
			return document.JSON()
		},
		Status: status, ContentType: contentType, Body: body,
	})
}
