package peer

import (
	"context"
	"encoding/json"
	"os"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/benchmarks/peers/rounds"
	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/events"
)

// stored is an event.
type stored struct {
	Account string `json:"account"`
	Number  int    `json:"number"`
}

// storing returns contenders that store an event and wait for its confirmation.
func storing() []rounds.Contender {
	return []rounds.Contender{
		{Name: "jetstream", Start: startJetStream},
		{Name: "busline", Start: startBuslineEvents},
	}
}

// startStore runs a NATS server with JetStream on loopback TCP, and removes its files.
func startStore(setup *rounds.Setup) (url string, err error) {
	folder, err := os.MkdirTemp("", "busline-peers-")
	if err != nil {
		return "", err
	}
	setup.Cleanup(func() { _ = os.RemoveAll(folder) }) // it is in the folder for temporary files
	embedded, err := embedBroker(setup, broker.Listen("127.0.0.1:0"), broker.JetStream(folder))
	if err != nil {
		return "", err
	}
	return embedded.URL(), nil
}

// startJetStream publishes to a stream with the client of JetStream.
func startJetStream(ctx context.Context, setup *rounds.Setup) (func() (rounds.Call, error), error) {
	url, err := startStore(setup)
	if err != nil {
		return nil, err
	}
	conn, err := connectNATS(url, setup)
	if err != nil {
		return nil, err
	}
	manager, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	config := jetstream.StreamConfig{Name: "events", Subjects: []string{"event"}}
	if _, err := manager.CreateStream(ctx, config); err != nil {
		return nil, err
	}
	return sharing(func(ctx context.Context) error {
		body, err := json.Marshal(stored{Account: "a", Number: 7})
		if err != nil {
			return err
		}
		_, err = manager.PublishMsg(ctx, &nats.Msg{Subject: "event", Data: body})
		return err
	}), nil
}

// startBuslineEvents publishes a durable event to a publisher's log.
func startBuslineEvents(ctx context.Context, setup *rounds.Setup) (func() (rounds.Call, error), error) {
	url, err := startStore(setup)
	if err != nil {
		return nil, err
	}
	publisher, err := connectBusline(ctx, setup, "orders.example", []bus.ConnectOption{bus.WithURL(url)})
	if err != nil {
		return nil, err
	}
	log, err := events.NewPublisher(publisher, "orders.example", events.Durable())
	if err != nil {
		return nil, err
	}
	event := events.NewEvent[stored](log, "/on-stored")
	return sharing(func(ctx context.Context) error { return event.Publish(ctx, stored{Account: "a", Number: 7}) }), nil
}
