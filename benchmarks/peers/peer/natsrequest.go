package peer

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/benchmarks/peers/rounds"
)

// natsTimeout is how long a request waits, the same as a call over the bus.
const natsTimeout = 20 * time.Second

// startNATSRequest is the minimum for a call through a NATS server: JSON in, JSON out, and the handler runs on the
// goroutine of the subscription. It has no deadline and no status, and the caller does not learn whether any subscriber
// handles the request.
func startNATSRequest(_ context.Context, broker string, setup *rounds.Setup) (string, error) {
	server, err := connectNATS(broker, setup)
	if err != nil {
		return "", err
	}
	if err := answerNATS(server, "add", add); err != nil {
		return "", err
	}
	if err := answerNATS(server, "echo", echo); err != nil {
		return "", err
	}
	return broker, server.Flush()
}

func dialNATS(_ context.Context, broker string, setup *rounds.Setup) (client, error) {
	caller, err := connectNATS(broker, setup)
	return natsClient(caller), err
}

// answerNATS answers requests on a subject, in a queue group.
func answerNATS[Request, Response any](conn *nats.Conn, subject string, handle func(Request) Response) error {
	_, err := conn.QueueSubscribe(subject, "queue", natsHandler(handle))
	return err
}

// natsHandler does not reply to a request that it does not understand.
func natsHandler[Request, Response any](handle func(Request) Response) nats.MsgHandler {
	return func(message *nats.Msg) {
		var request Request
		if json.Unmarshal(message.Data, &request) != nil {
			return
		}
		if body, err := json.Marshal(handle(request)); err == nil {
			_ = message.Respond(body) // if it fails, the caller notices
		}
	}
}

func natsClient(conn *nats.Conn) client {
	return client{
		add: func(_ context.Context, x, y int) (int, error) {
			response, err := requestNATS[addResponse](conn, "add", addRequest{X: x, Y: y})
			return response.Sum, err
		},
		echo: func(_ context.Context, text string) (string, error) {
			response, err := requestNATS[echoResponse](conn, "echo", echoRequest{Text: text})
			return response.Echo, err
		},
	}
}

func requestNATS[Response any](conn *nats.Conn, subject string, request any) (response Response, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return response, err
	}
	answer, err := conn.Request(subject, body, natsTimeout)
	if err != nil {
		return response, err
	}
	return response, json.Unmarshal(answer.Data, &response)
}
