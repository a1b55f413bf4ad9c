package peer

import (
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/busline/busline/benchmarks/peers/rounds"
	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal/ingress"
)

// startIngress lets HTTP in from outside, to services at a broker.
func startIngress(ctx context.Context, broker string, setup *rounds.Setup) (base string, err error) {
	return listenIngress(ctx, setup, bus.WithURL(broker), bus.WithoutSharing())
}

// startIngressBeside has an ingress and a service in one process, and no broker between them.
func startIngressBeside(ctx context.Context, broker string, setup *rounds.Setup) (base string, err error) {
	if err := serveBusline(ctx, setup, bus.WithURL(broker)); err != nil {
		return "", err
	}
	return listenIngress(ctx, setup, bus.WithURL(broker))
}

func listenIngress(ctx context.Context, setup *rounds.Setup, options ...bus.ConnectOption) (base string, err error) {
	conn, err := connectBusline(ctx, setup, "portal", options)
	if err != nil {
		return "", err
	}
	handler, err := ingress.New(conn)
	if err != nil {
		return "", err
	}
	server, err := ingress.Listen(handler, ingress.WithAddress("127.0.0.1:0"), ingress.WithMaxConnections(4096))
	if err != nil {
		return "", err
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	serve(setup, func() error { return server.Serve(life) }, stop)
	return server.BaseURL() + "/" + buslineHost, nil
}

// startReverseProxy passes HTTP on to an HTTP server.
func startReverseProxy(ctx context.Context, server string, setup *rounds.Setup) (base string, err error) {
	target, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: newTransport(setup, nil)}
	return listenHTTP(ctx, setup, proxy, nil)
}

// startGRPCGateway passes HTTP on to a gRPC server, as the code does that grpc-gateway generates.
func startGRPCGateway(ctx context.Context, server string, setup *rounds.Setup) (base string, err error) {
	channel, err := grpc.NewClient(server, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return "", err
	}
	setup.Cleanup(func() { _ = channel.Close() }) // fails only if it is closed already
	mux := runtime.NewServeMux()
	err = mux.HandlePath(http.MethodPost, "/add", func(w http.ResponseWriter, r *http.Request, _ map[string]string) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		inbound, outbound := runtime.MarshalerForRequest(mux, r)
		ctx, err := runtime.AnnotateContext(ctx, mux, r, grpcAddRange, runtime.WithHTTPPathPattern("/add"))
		if err != nil {
			runtime.HTTPError(ctx, mux, outbound, w, r, err)
			return
		}
		var metadata runtime.ServerMetadata
		request, sum := new(protoRange), new(protoSum)
		if err = inbound.NewDecoder(r.Body).Decode(request); err == nil || err == io.EOF { //nolint:errorlint // as the generated code does
			err = channel.Invoke(ctx, grpcAddRange, request, sum, grpc.StaticMethod(), grpc.Header(&metadata.HeaderMD),
				grpc.Trailer(&metadata.TrailerMD))
		}
		ctx = runtime.NewServerMetadataContext(ctx, metadata)
		if err != nil {
			runtime.HTTPError(ctx, mux, outbound, w, r, err)
			return
		}
		runtime.ForwardResponseMessage(ctx, mux, outbound, w, r, sum)
	})
	if err != nil {
		return "", err
	}
	return listenHTTP(ctx, setup, mux, nil)
}

// dialGateway calls with JSON over HTTP/1.1, each caller on a connection of its own. The names of the arguments differ.
func dialGateway(nameX, nameY string) func(ctx context.Context, base string, setup *rounds.Setup) (client, error) {
	return func(_ context.Context, base string, setup *rounds.Setup) (client, error) {
		return client{newAdder: func() (func(ctx context.Context, x, y int) (int, error), error) {
			return newHTTPAdder(base+"/add", nameX, nameY, setup)
		}}, nil
	}
}
