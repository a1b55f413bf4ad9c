package peer

import (
	"context"

	"github.com/fullstorydev/grpchan/inprocgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/busline/busline/benchmarks/peers/rounds"
)

// startGRPC is grpc-go: one connection from client to server, without a broker.
func startGRPC(ctx context.Context, cleanup *rounds.Cleanup) (client, error) {
	listener, err := listen(ctx)
	if err != nil {
		return client{}, err
	}
	server := grpc.NewServer()
	server.RegisterService(calculatorDesc(), calculator{})
	serve(cleanup, func() error { return server.Serve(listener) }, server.Stop)
	channel, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return client{}, err
	}
	cleanup.Add(func() { _ = channel.Close() }) // fails only if it is closed already
	return grpcClient(channel), nil
}

// startInprocGRPC is a gRPC channel without a connection: client and server are in the same process, and messages are
// copied instead of encoded.
func startInprocGRPC(context.Context, *rounds.Cleanup) (client, error) {
	channel := new(inprocgrpc.Channel)
	channel.RegisterService(calculatorDesc(), calculator{})
	return grpcClient(channel), nil
}
