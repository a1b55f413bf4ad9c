package peer

import (
	"context"
	"encoding/json"

	"github.com/nats-io/nats.go/micro"

	"github.com/busline/busline/benchmarks/peers/rounds"
)

// startNATSMicro is the service framework of nats.go. Its clients are plain requests.
func startNATSMicro(_ context.Context, broker string, setup *rounds.Setup) (string, error) {
	server, err := connectNATS(broker, setup)
	if err != nil {
		return "", err
	}
	service, err := micro.AddService(server, micro.Config{Name: "calculator", Version: "1.0.0"})
	if err != nil {
		return "", err
	}
	if err := service.AddEndpoint("add", microHandler(add)); err != nil {
		return "", err
	}
	if err := service.AddEndpoint("echo", microHandler(echo)); err != nil {
		return "", err
	}
	return broker, server.Flush()
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
