package simulation_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// broker is what Busline needs of a NATS server: subjects with wildcards, queue groups, and the notice that no
// client subscribes. A message is under way twice: to the broker, and from there to each subscriber, first in, first
// out. In between the broker decides at one moment who gets it.
type broker struct {
	world      *world
	maxPayload int
	clustered  bool
	away       bool            // no client can connect
	subs       []*subscription // in the order of their arrival
	links      int             // that were ever made
}

// subscription is one of a client, by its number.
type subscription struct {
	link    *link
	number  string
	subject []string
	queue   string
	left    int // messages until it ends; 0 for no limit
}

// info is the first line of a server.
func (b *broker) info() []byte {
	cluster := ""
	if b.clustered {
		cluster = `"cluster":"many",`
	}
	return fmt.Appendf(nil, `INFO {"server_id":"S","server_name":"S","version":"2.12.0","proto":1,"host":"simulated",`+
		`"port":4222,"headers":true,%s"max_payload":%d,"client_id":%d}`+"\r\n", cluster, b.maxPayload, b.links)
}

// operation is a line of a client, with its payload.
type operation struct {
	verb    string
	fields  []string
	header  int // bytes of the payload that are the header of NATS
	payload []byte
}

// parse returns the first operation of what a client has sent, and the rest; ok is false if it is not there yet.
func parse(text []byte) (op operation, rest []byte, ok bool) {
	line, rest, ok := bytes.Cut(text, []byte("\r\n"))
	if !ok {
		return op, text, false
	}
	words := strings.Fields(string(line))
	op.verb, op.fields = strings.ToUpper(words[0]), words[1:]
	sizes := map[string]int{"PUB": 1, "HPUB": 2}[op.verb]
	if sizes == 0 {
		return op, rest, true
	}
	size := number(words[len(words)-1])
	if sizes == 2 {
		op.header = number(words[len(words)-2])
	}
	if len(rest) < size+2 {
		return op, text, false
	}
	op.fields, op.payload = op.fields[:len(op.fields)-sizes], slices.Clone(rest[:size])
	return op, rest[size+2:], true
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

// receive does what a client asks for.
func (b *broker) receive(from *link, op operation) {
	switch op.verb {
	case "PING":
		from.deliver([]byte("PONG\r\n"), nil)
	case "SUB":
		sub := &subscription{link: from, number: op.fields[len(op.fields)-1], subject: strings.Split(op.fields[0], ".")}
		if len(op.fields) == 3 {
			sub.queue = op.fields[1]
		}
		b.subs = append(b.subs, sub)
	case "UNSUB":
		b.unsubscribe(from, op)
	case "PUB", "HPUB":
		b.route(from, &op)
	}
}

func (b *broker) unsubscribe(from *link, op operation) {
	b.subs = slices.DeleteFunc(b.subs, func(s *subscription) bool {
		if s.link != from || s.number != op.fields[0] {
			return false
		}
		if len(op.fields) == 2 {
			s.left = number(op.fields[1])
			return false
		}
		return true
	})
}

// forget ends the subscriptions of a client that has gone.
func (b *broker) forget(gone *link) {
	b.subs = slices.DeleteFunc(b.subs, func(s *subscription) bool { return s.link == gone })
}

// route hands a message to all subscribers, and to one of each queue group.
func (b *broker) route(from *link, op *operation) {
	subject := strings.Split(op.fields[0], ".")
	groups := make(map[string][]*subscription)
	var queues []string
	var to []*subscription
	for _, each := range b.subs {
		switch {
		case !matches(each.subject, subject):
		case each.queue == "":
			to = append(to, each)
		default:
			if groups[each.queue] == nil {
				queues = append(queues, each.queue)
			}
			groups[each.queue] = append(groups[each.queue], each)
		}
	}
	for _, queue := range queues {
		to = append(to, groups[queue][b.world.draw.IntN(len(groups[queue]))])
	}
	for _, each := range to {
		each.send(op)
	}
	if b.world.plan.strangers {
		b.lie(op)
	}
	if len(to) == 0 && len(op.fields) == 2 {
		b.refuse(from, op)
	}
}

// lie answers a request as a client that may subscribe to it and is none of its host.
func (b *broker) lie(op *operation) {
	var request wire.Request
	if new(wire.Reader).ParseRequest(op.payload, &request) != nil || b.world.draw.IntN(4) > 0 {
		return
	}
	answer := wire.AppendResponse(nil, &wire.Response{Status: http.StatusOK, OpCode: wire.OpRes, MsgID: request.MsgID,
		FromHost: "liar.example", FromID: "aaaaaaaaaa", Queue: "liar.example", Body: []byte("lies")})
	to := subject.Response("sim", request.FromHost, request.FromID)
	for _, each := range b.subs {
		if matches(each.subject, strings.Split(to, ".")) {
			each.send(&operation{verb: "PUB", fields: []string{to}, payload: answer})
		}
	}
}

// refuse sends a client the notice that no client subscribes.
func (b *broker) refuse(from *link, op *operation) {
	reply := strings.Split(op.fields[1], ".")
	for _, each := range b.subs {
		if each.link == from && matches(each.subject, reply) {
			each.send(&operation{verb: "HPUB", fields: []string{op.fields[1]}, header: len(noResponders),
				payload: []byte(noResponders)})
			return
		}
	}
}

const noResponders = "NATS/1.0 503\r\n\r\n"

// send sends a message to a subscriber.
func (s *subscription) send(op *operation) {
	line := strings.Join(append([]string{"MSG", op.fields[0], s.number}, op.fields[1:]...), " ")
	if op.header > 0 {
		line = fmt.Sprintf("H%s %d", line, op.header)
	}
	text := fmt.Appendf(nil, "%s %d\r\n%s\r\n", line, len(op.payload), op.payload)
	s.link.deliver(text, op)
	if s.left > 0 {
		if s.left--; s.left == 0 {
			s.link.broker.unsubscribe(s.link, operation{fields: []string{s.number}})
		}
	}
}

// matches reports whether a subscription to a subject, perhaps with wildcards, gets what is published to another.
func matches(pattern, subject []string) bool {
	for i, token := range pattern {
		switch {
		case token == ">":
			return len(subject) > i
		case i >= len(subject), token != "*" && token != subject[i]:
			return false
		}
	}
	return len(pattern) == len(subject)
}
