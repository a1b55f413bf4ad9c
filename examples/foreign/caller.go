package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	timeBudget = 20 * time.Second // for a call
	ackWait    = time.Second      // until somebody has taken it
)

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
func (i *instance) call(ctx context.Context, method, toHost, path string, body []byte) (*http.Response, error) {
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
	for {
		select {
		case response := <-arrivals:
			switch {
			case response == nil:
				return nil, fmt.Errorf("nobody serves %s %s on %s", method, path, toHost)
			case response.Header.Get("Bus-From-Host") != toHost:
				continue // nobody asked them
			case response.Header.Get("Bus-Op-Code") == "Ack":
				noAck = nil
			case response.Header.Get("Bus-Fragment") != "":
				return nil, fmt.Errorf("%s answers in parts, which is more than this caller takes", toHost)
			default:
				return response, nil
			}
		case <-noAck:
			return nil, fmt.Errorf("%s does not take the call", toHost)
		case <-ctx.Done():
			return nil, fmt.Errorf("%s does not answer: %w", toHost, ctx.Err())
		}
	}
}

// request writes the request of a call that nothing else has led to: its depth is 1.
func (i *instance) request(id, method, toHost, path string, body []byte) []byte {
	fields := []field{
		{"Host", toHost},
		{"Bus-Call-Depth", "1"},
		{"Bus-From-Host", host},
		{"Bus-From-Id", i.id},
		{"Bus-Msg-Id", id},
		{"Bus-Op-Code", "Req"},
		{"Bus-Time-Budget", strconv.FormatInt(timeBudget.Milliseconds(), 10)},
	}
	if body != nil {
		fields = append(fields, field{"Content-Type", "application/json"})
	}
	return message(method+" "+path+" HTTP/1.1", body, fields...)
}

// receiveResponse takes an ack or a response.
func (i *instance) receiveResponse(arrived *nats.Msg) {
	if len(arrived.Data) == 0 {
		return // somebody asks whether this instance lives
	}
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(arrived.Data)), nil)
	if err != nil {
		log.Printf("no response: %v", err)
		return
	}
	i.arrive(response.Header.Get("Bus-Msg-Id"), response)
}

// receiveAbsence takes the broker's word that nobody subscribes to where a request went.
func (i *instance) receiveAbsence(arrived *nats.Msg) {
	if len(arrived.Data) == 0 && arrived.Header.Get("Status") == "503" {
		i.arrive(arrived.Subject[strings.LastIndexByte(arrived.Subject, '.')+1:], nil)
	}
}

// expect makes room for an ack and a response; nil stands for nobody who could send them.
func (i *instance) expect(id string) <-chan *http.Response {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.pending[id] = make(chan *http.Response, 2)
	return i.pending[id]
}

func (i *instance) forget(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.pending, id)
}

// arrive hands an answer to the call that waits for it, if there still is one and it has room.
func (i *instance) arrive(id string, response *http.Response) {
	i.mu.Lock()
	defer i.mu.Unlock()
	select {
	case i.pending[id] <- response: // never, when there is none
	default:
	}
}
