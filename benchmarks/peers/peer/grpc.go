package peer

import (
	"context"

	"github.com/fullstorydev/grpchan/inprocgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/busline/busline/benchmarks/peers/rounds"
)

// startGRPC is grpc-go, without a broker.
func startGRPC(ctx context.Context, _ string, setup *rounds.Setup) (string, error) {
	return serveGRPC(ctx, setup, calculatorDesc(), calculator{})
}

func serveGRPC(ctx context.Context, setup *rounds.Setup, desc *grpc.ServiceDesc, impl any) (string, error) {
	listener, err := listen(ctx)
	if err != nil {
		return "", err
	}
	server := grpc.NewServer()
	server.RegisterService(desc, impl)
	serve(setup, func() error { return server.Serve(listener) }, server.Stop)
	return listener.Addr().String(), nil
}

// dialGRPC has one connection for all callers.
func dialGRPC(_ context.Context, address string, setup *rounds.Setup) (client, error) {
	channel, err := connectGRPC(address, setup)
	if err != nil {
		return client{}, err
	}
	return grpcClient(channel), nil
}

func connectGRPC(address string, setup *rounds.Setup) (*grpc.ClientConn, error) {
	channel, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	setup.Cleanup(func() { _ = channel.Close() }) // fails only if it is closed already
	return channel, nil
}

// dialInprocGRPC is a gRPC channel without a connection: client and server are in the same process, and messages are
// copied instead of encoded.
func dialInprocGRPC(context.Context, string, *rounds.Setup) (client, error) {
	channel := new(inprocgrpc.Channel)
	channel.RegisterService(calculatorDesc(), calculator{})
	return grpcClient(channel), nil
}
