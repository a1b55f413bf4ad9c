package peer

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/benchmarks/peers/rounds"
	"github.com/busline/busline/bus"
)

// startNATSMulticast publishes a request and waits for a known number of replies. Each instance has its own connection.
// The caller does not learn who has replied, and cannot know who should have.
func startNATSMulticast(ctx context.Context, setup *rounds.Setup) (func() (rounds.Call, error), error) {
	url, err := startBroker(ctx, "", setup)
	if err != nil {
		return nil, err
	}
	for range instances {
		server, err := connectNATS(url, setup)
		if err != nil {
			return nil, err
		}
		if _, err := server.Subscribe("add", natsHandler(add)); err != nil {
			return nil, err
		}
		if err := server.Flush(); err != nil {
			return nil, err
		}
	}
	caller, err := connectNATS(url, setup)
	return func() (rounds.Call, error) { return natsMulticast(caller) }, err
}

// natsMulticast returns the calls of one caller, which uses one inbox for all of them.
func natsMulticast(conn *nats.Conn) (rounds.Call, error) {
	inbox := conn.NewInbox()
	replies, err := conn.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	return func(context.Context) error {
		body, err := json.Marshal(addRequest{X: 5, Y: 6})
		if err != nil {
			return err
		}
		if err := conn.PublishRequest("add", inbox, body); err != nil {
			return err
		}
		answers := 0
		for range instances {
			reply, err := replies.NextMsg(natsTimeout)
			if err != nil {
				return err
			}
			var response addResponse
			if err := json.Unmarshal(reply.Data, &response); err != nil {
				return err
			}
			if response.Sum == 11 {
				answers++
			}
		}
		return checkAnswers(answers)
	}, nil
}

// startBuslineMulticast has callers that know the instances from a first call.
func startBuslineMulticast(ctx context.Context, setup *rounds.Setup) (func() (rounds.Call, error), error) {
	url, err := startBroker(ctx, "", setup)
	if err != nil {
		return nil, err
	}
	options := []bus.ConnectOption{bus.WithURL(url), bus.WithoutSharing()}
	for range instances {
		server, err := connectBusline(ctx, setup, buslineHost, options)
		if err != nil {
			return nil, err
		}
		if err := bus.Serve(server, buslineService{}, bus.NoQueue()); err != nil {
			return nil, err
		}
	}
	caller, err := connectBusline(ctx, setup, "caller.example", options)
	if err != nil {
		return nil, err
	}
	call := buslineMulticast(caller)
	return func() (rounds.Call, error) { return call, nil }, call(ctx)
}

func buslineMulticast(conn *bus.Conn) rounds.Call {
	adder := addOperation(conn)
	return func(ctx context.Context) error {
		answers := 0
		for response, err := range adder.Multicast(ctx, addRequest{X: 5, Y: 6}) {
			if err != nil {
				return err
			}
			if response.Results.Sum == 11 {
				answers++
			}
		}
		return checkAnswers(answers)
	}
}

func checkAnswers(right int) error {
	if right != instances {
		return fmt.Errorf("%d right answers of %d", right, instances)
	}
	return nil
}
