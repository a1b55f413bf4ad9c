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

	"github.com/busline/busline/bus/internal/fragment"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap/strictjson"
)

// shortCircuitCheck holds each message that stays in the process against what the broker would have brought: the same
// message, written as text and read again. See CheckShortCircuit of bus/bustest.
type shortCircuitCheck struct {
	payload func() int // of the broker: how large a message it takes
	report  func(error)
}

// message reports in what a request, or its arguments, would arrive differently. It looks before the request is handed
// over.
func (k *shortCircuitCheck) message(caller *Conn, in *serverCall, sent *clientCall) {
	if in.given == nil {
		k.tell(k.request(sent))
		return
	}
	in.given.check = k
	written := *sent
	found := &comparison{call: callName(sent), message: "request"}
	if err := caller.write(&written); err != nil {
		k.tell(found.lost(err))
		return
	}
	k.tell(k.request(&written))
	read, err := in.endpoint.decode(&serverCall{Exchange: Exchange{Request: &written.Request}, match: in.match})
	if err != nil {
		k.tell(found.lost(err))
		return
	}
	found.values("arguments", in.given.taken, read)
	k.tell(errors.Join(found.differences...))
}

// copied returns a copy of results before they are set; nothing without a check.
func (k *shortCircuitCheck) copied(results reflect.Value) reflect.Value {
	if k == nil || !results.IsValid() {
		return reflect.Value{}
	}
	made := reflect.New(results.Type()).Elem()
	made.Set(results)
	return made
}

// results reports in what the results of a call, which were copied, would arrive differently.
func (k *shortCircuitCheck) results(in *serverCall, out, before reflect.Value) {
	found := &comparison{call: in.endpoint.Name, message: "response"}
	encoded, err := in.endpoint.mapped.Encode(out)
	if err == nil && in.given.anyCase {
		err = strictjson.UnmarshalAnyCase(encoded.Body, before.Addr().Interface())
	} else if err == nil {
		err = strictjson.Unmarshal(encoded.Body, before.Addr().Interface())
	}
	if err != nil {
		k.tell(found.lost(err))
		return
	}
	found.part("status", http.StatusOK, encoded.Status)
	found.values("results", in.given.results, before)
	k.tell(errors.Join(found.differences...))
}

func (k *shortCircuitCheck) tell(difference error) {
	if difference != nil {
		k.report(difference)
	}
}

// request returns in what a request would arrive differently, nil for nothing.
func (k *shortCircuitCheck) request(sent *clientCall) error {
	found := &comparison{call: callName(sent), message: "request"}
	read, err := fragment.ArrivedRequest(&sent.Request, k.payload())
	if err != nil {
		return found.lost(err)
	}
	address, err := addressOf(read, sent.subject)
	if err != nil {
		return found.lost(err)
	}
	found.part("address", sent.address, address)
	found.part("method", sent.Method, read.Method)
	found.part("target", sent.Target, read.Target)
	found.part("host", sent.Host, read.Host)
	found.part("sender", sent.FromID+"."+sent.FromHost, read.FromID+"."+read.FromHost)
	found.part("message id", sent.MsgID, read.MsgID)
	if sent.Actor != read.Actor { // a secret: neither is shown
		found.differ("actor", "unchanged", "changed")
	}
	found.part("time budget", sent.TimeBudget, read.TimeBudget)
	found.part("call depth", sent.CallDepth, read.CallDepth)
	found.header(sent.Header, read.Header)
	found.body(sent.Body, read.Body)
	return errors.Join(found.differences...)
}

// response returns in what an ack or a response to a request would arrive differently.
func (k *shortCircuitCheck) response(to *clientCall, sent *wire.Response) error {
	found := &comparison{call: callName(to), message: "response"}
	if sent.OpCode == wire.OpAck {
		found.message = "ack"
	}
	read, err := fragment.ArrivedResponse(sent, k.payload())
	if err != nil {
		return found.lost(err)
	}
	found.part("status", sent.Status, read.Status)
	found.part("op code", sent.OpCode, read.OpCode)
	found.part("sender", sent.FromID+"."+sent.FromHost, read.FromID+"."+read.FromHost)
	found.part("message id", sent.MsgID, read.MsgID)
	found.part("queue", sent.Queue, read.Queue)
	found.header(sent.Header, read.Header)
	found.body(sent.Body, read.Body)
	return errors.Join(found.differences...)
}

// checkedReplier compares what it hands on.
type checkedReplier struct {
	replier
	check *shortCircuitCheck
	to    *clientCall
}

func (r checkedReplier) reply(to *serverCall, head *wire.ResponseHead, response *wire.Response) error {
	r.check.tell(r.check.response(r.to, response))
	return r.replier.reply(to, head, response)
}

// comparison collects the differences between a message in the process and the same one over the broker.
type comparison struct {
	call, message string // "POST https://calculator.example/add", "response"
	differences   []error
}

func callName(of *clientCall) string {
	host := of.address.Host
	if of.address.Port != publicPort {
		host += ":" + strconv.Itoa(of.address.Port)
	}
	return of.address.Method + " https://" + host + of.address.Path
}

// lost is the difference that leaves nothing to compare.
func (c *comparison) lost(err error) error {
	return fmt.Errorf("%s: the %s arrives in the process, but would not arrive over the broker: %w", c.call, c.message, err)
}

// part compares two values that can be compared.
func (c *comparison) part(name string, here, there any) {
	if here != there {
		c.differ(name, shown(here), shown(there))
	}
}

// values compares structs that were copied with those that have been text.
func (c *comparison) values(name string, here, there reflect.Value) {
	if !reflect.DeepEqual(here.Interface(), there.Interface()) {
		c.differ(name, fmt.Sprintf("%+v", here), fmt.Sprintf("%+v", there))
	}
}

// header compares by name: the order of different fields means nothing.
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

// body compares bytes, and shows them from shortly before the first that differs.
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
	c.part("body of "+strconv.Itoa(len(here))+" bytes, from byte "+strconv.Itoa(from), string(here[from:]), string(there[from:]))
}

// differ notes a difference, with as much of the values as a line can hold.
func (c *comparison) differ(name, here, there string) {
	const longest = 200
	for _, value := range []*string{&here, &there} {
		if len(*value) > longest {
			*value = (*value)[:longest] + "…"
		}
	}
	c.differences = append(c.differences, fmt.Errorf("%s: the %s's %s is %s in the process, and would be %s over the broker",
		c.call, c.message, name, here, there))
}

// shown quotes a text and leaves a number as it is.
func shown(value any) string {
	if text, ok := value.(string); ok {
		return strconv.Quote(text)
	}
	return fmt.Sprint(value)
}
