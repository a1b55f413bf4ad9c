package child

import (
	"context"

	"github.com/busline/busline/bus/broker"
)

// Broker is the role of a broker on loopback TCP. Its first line is its address, "nats://127.0.0.1:41234".
func Broker(ctx context.Context, _ []string) (url string, answer func(command string) (string, error), err error) {
	embedded, err := broker.Start(broker.Listen("127.0.0.1:0"))
	if err != nil {
		return "", nil, err
	}
	context.AfterFunc(ctx, embedded.Close)
	return embedded.URL(), nil, nil
}
