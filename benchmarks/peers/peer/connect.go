package peer

import (
	"context"
	"net/http"

	"connectrpc.com/connect"

	"github.com/busline/busline/benchmarks/peers/rounds"
)

const (
	connectAdd  = "/calculator.Calculator/Add"
	connectEcho = "/calculator.Calculator/Echo"
)

// startConnectH1 is connect-go over HTTP/1.1: each caller has a connection.
func startConnectH1(ctx context.Context, cleanup *rounds.Cleanup) (client, error) {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return startConnect(ctx, cleanup, &protocols)
}

// startConnectH2C is connect-go over HTTP/2 without TLS: all callers share a connection.
func startConnectH2C(ctx context.Context, cleanup *rounds.Cleanup) (client, error) {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	return startConnect(ctx, cleanup, &protocols)
}

func startConnect(ctx context.Context, cleanup *rounds.Cleanup, protocols *http.Protocols) (client, error) {
	mux := http.NewServeMux()
	mux.Handle(connectAdd, connect.NewUnaryHandler(connectAdd, connectMethod(addProto)))
	mux.Handle(connectEcho, connect.NewUnaryHandler(connectEcho, connectMethod(echoProto)))
	base, outside, err := startHTTP(ctx, cleanup, mux, protocols)
	if err != nil {
		return client{}, err
	}
	uncompressed := connect.WithAcceptCompression("gzip", nil, nil) // the other peers do not compress
	adder := connect.NewClient[protoAdd, protoSum](outside, base+connectAdd, uncompressed)
	echoer := connect.NewClient[protoText, protoText](outside, base+connectEcho, uncompressed)
	return client{
		add: func(ctx context.Context, x, y int) (int, error) {
			response, err := adder.CallUnary(ctx, connect.NewRequest(protoAddOf(x, y)))
			if err != nil {
				return 0, err
			}
			return int(response.Msg.GetValue()), nil
		},
		echo: func(ctx context.Context, text string) (string, error) {
			response, err := echoer.CallUnary(ctx, connect.NewRequest(&protoText{Value: text}))
			if err != nil {
				return "", err
			}
			return response.Msg.GetValue(), nil
		},
	}, nil
}

func connectMethod[Request, Response any](handle func(*Request) *Response) func(context.Context, *connect.Request[Request]) (*connect.Response[Response], error) {
	return func(_ context.Context, request *connect.Request[Request]) (*connect.Response[Response], error) {
		return connect.NewResponse(handle(request.Msg)), nil
	}
}
