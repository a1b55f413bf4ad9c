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

// startConnect is connect-go over HTTP/1.1, and over HTTP/2 without TLS.
func startConnect(ctx context.Context, _ string, setup *rounds.Setup) (base string, err error) {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	mux := http.NewServeMux()
	mux.Handle(connectAdd, connect.NewUnaryHandler(connectAdd, connectMethod(addProto)))
	mux.Handle(connectEcho, connect.NewUnaryHandler(connectEcho, connectMethod(echoProto)))
	return listenHTTP(ctx, setup, mux, &protocols)
}

// dialConnectH1 has a connection for each caller.
func dialConnectH1(_ context.Context, base string, setup *rounds.Setup) (client, error) {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return connectClient(base, newTransport(setup, &protocols)), nil
}

// dialConnectPool has a connection for each of a number of callers; others wait for one.
func dialConnectPool(_ context.Context, base string, setup *rounds.Setup) (client, error) {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	transport := newTransport(setup, &protocols)
	transport.MaxConnsPerHost = openConnections
	return connectClient(base, transport), nil
}

// dialConnectH2C has one connection for all callers.
func dialConnectH2C(_ context.Context, base string, setup *rounds.Setup) (client, error) {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	return connectClient(base, newTransport(setup, &protocols)), nil
}

func connectClient(base string, transport http.RoundTripper) client {
	outside := &http.Client{Transport: transport}
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
	}
}

func connectMethod[Request, Response any](handle func(*Request) *Response) func(context.Context,
	*connect.Request[Request]) (*connect.Response[Response], error) {
	return func(_ context.Context, request *connect.Request[Request]) (*connect.Response[Response], error) {
		return connect.NewResponse(handle(request.Msg)), nil
	}
}
