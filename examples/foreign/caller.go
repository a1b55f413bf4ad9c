package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	timeBudget = 20 * time.Second // for a call
	ackWait    = time.Second      // until an instance has taken it
)

// response is an ack or a response.
type response struct {
	received
	status int
}

// listen subscribes to what comes back for calls.
func (i *instance) listen() error {
	subject := i.responseSubject(host, i.id)
	if _, err := i.broker.Subscribe(subject, i.receiveResponse); err != nil {
		return err
	}
	if _, err := i.broker.Subscribe(subject+".*", i.receiveAbsence); err != nil {
		return err
	}
	return i.broker.Flush()
}

// call makes a call and waits for the response, whatever its status.
func (i *instance) call(ctx context.Context, method, toHost, path string, body []byte) (*response, error) {
	ctx, cancel := context.WithTimeout(ctx, timeBudget)
	defer cancel()
	id := rand.Text()
	arrivals := i.expect(id)
	defer i.forget(id)

	err := i.broker.PublishRequest(i.endpointSubject("443", toHost, method, path),
		i.responseSubject(host, i.id)+"."+id, i.request(id, method, toHost, path, body))
	if err != nil {
		return nil, err
	}
	noAck := time.After(ackWait)
	var takers []string // the instances that have acked
	for {
		select {
		case arrived := <-arrivals:
			switch {
			case arrived == nil:
				return nil, fmt.Errorf("no instance serves %s %s on %s", method, path, toHost)
			case arrived.fields["bus-from-host"] != toHost:
				continue // not asked
			case arrived.fields["bus-op-code"] == "Ack":
				noAck, takers = nil, append(takers, arrived.fields["bus-from-id"])
			case len(takers) > 0 && !slices.Contains(takers, arrived.fields["bus-from-id"]):
				continue // nor them
			case arrived.fields["bus-fragment"] != "":
				return nil, fmt.Errorf("%s answers in parts, which is more than this caller takes", toHost)
			default:
				return arrived, nil
			}
		case <-noAck:
			return nil, fmt.Errorf("%s does not take the call", toHost)
		case <-ctx.Done():
			return nil, fmt.Errorf("%s does not answer: %w", toHost, ctx.Err())
		}
	}
}

// request writes the request of a call that nothing else has led to: its depth is 1.
func (i *instance) request(id, method, toHost, path string, body []byte, more ...field) []byte {
	fields := []field{
		{"Host", toHost},
		{"Bus-Call-Depth", "1"},
		{"Bus-From-Host", host},
		{"Bus-From-Id", i.id},
		{"Bus-Msg-Id", id},
		{"Bus-Op-Code", "Req"},
		{"Bus-Time-Budget", strconv.FormatInt(timeBudget.Milliseconds(), 10)},
	}
	if i.keys.own != nil && toHost != "all" {
		proof, err := i.proof(toHost)
		if err != nil {
			log.Printf("the call of %s carries no proof: %v", toHost, err)
		} else {
			fields = append(fields, field{"Bus-Caller-Proof", proof})
		}
	}
	if body != nil {
		fields = append(fields, field{"Content-Type", "application/json"})
	}
	return message(method+" "+path+" HTTP/1.1", body, append(fields, more...)...)
}

// receiveResponse takes an ack or a response.
func (i *instance) receiveResponse(arrived *nats.Msg) {
	if len(arrived.Data) == 0 {
		return // a caller asks whether this instance lives
	}
	read, err := readResponse(arrived.Data)
	if err != nil {
		log.Printf("dropped a message on %s: %v", arrived.Subject, err)
		return
	}
	i.arrive(read.fields["bus-msg-id"], read)
}

var statusForm = regexp.MustCompile(`^HTTP/1\.1 ([2-5]\d{2})( .*)?$`)

// readResponse reads an ack or a response.
func readResponse(text []byte) (*response, error) {
	m, err := read(text)
	if err != nil {
		return nil, err
	}
	start, opCode := statusForm.FindStringSubmatch(m.start), m.fields["bus-op-code"]
	if start == nil || opCode != "Ack" && opCode != "Res" || !m.tellsSender() {
		return nil, errors.New("it is neither an ack nor a response")
	}
	status, err := strconv.Atoi(start[1])
	return &response{m, status}, err
}

// receiveAbsence takes the broker's word that the subject of a request has no subscriber.
func (i *instance) receiveAbsence(arrived *nats.Msg) {
	if len(arrived.Data) == 0 && arrived.Header.Get("Status") == "503" {
		i.arrive(arrived.Subject[strings.LastIndexByte(arrived.Subject, '.')+1:], nil)
	}
}

// expect makes room for an ack and a response, or the parts of a stream; nil stands for none.
func (i *instance) expect(id string) <-chan *response {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.pending[id] = make(chan *response, 1<<10)
	return i.pending[id]
}

func (i *instance) forget(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.pending, id)
}

// arrive hands an answer to the call that waits for it, if there still is one and it has room.
func (i *instance) arrive(id string, answer *response) {
	i.mu.Lock()
	defer i.mu.Unlock()
	select {
	case i.pending[id] <- answer: // never, when there is none
	default:
	}
}
