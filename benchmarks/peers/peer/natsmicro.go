package peer

import (
	"context"
	"encoding/json"

	"github.com/nats-io/nats.go/micro"

	"github.com/busline/busline/benchmarks/peers/rounds"
)

// startNATSMicro is the service framework of nats.go. Its clients are plain requests.
func startNATSMicro(_ context.Context, cleanup *rounds.Cleanup) (client, error) {
	url, err := startBroker(cleanup)
	if err != nil {
		return client{}, err
	}
	server, err := connectNATS(url, cleanup)
	if err != nil {
		return client{}, err
	}
	service, err := micro.AddService(server, micro.Config{Name: "calculator", Version: "1.0.0"})
	if err != nil {
		return client{}, err
	}
	if err := service.AddEndpoint("add", microHandler(add)); err != nil {
		return client{}, err
	}
	if err := service.AddEndpoint("echo", microHandler(echo)); err != nil {
		return client{}, err
	}
	if err := server.Flush(); err != nil {
		return client{}, err
	}
	caller, err := connectNATS(url, cleanup)
	return natsClient(caller), err
}

func microHandler[Request, Response any](handle func(Request) Response) micro.HandlerFunc {
	return func(message micro.Request) {
		var request Request
		if err := json.Unmarshal(message.Data(), &request); err != nil {
			_ = message.Error("400", err.Error(), nil) // if it fails, the caller notices
			return
		}
		_ = message.RespondJSON(handle(request))
	}
}
