package benchmarks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/busline/busline/portal/ingress"
)

// ingressClient calls over HTTP on loopback TCP. Behind the ingress the short circuit leads to the service: what comes
// on top of that path is the cost of the ingress and of HTTP, the client's side of it included.
func ingressClient(b *testing.B) client {
	embedded := startBroker(b)
	serve(b, connect(b, serviceHost, embedded))
	handler, err := ingress.New(connect(b, "ingress", embedded))
	if err != nil {
		b.Fatal(err)
	}
	server, err := ingress.Listen(handler, ingress.WithAddress("127.0.0.1:0"))
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			b.Error(err)
		}
	})
	transport := &http.Transport{MaxIdleConnsPerHost: 1 << 16} // no caller dials twice
	b.Cleanup(transport.CloseIdleConnections)
	base, outside := server.BaseURL()+"/"+serviceHost, &http.Client{Transport: transport}
	return client{
		add: func(ctx context.Context, arguments addArguments) (out addResults, err error) {
			return out, post(ctx, outside, base+"/add", arguments, &out)
		},
		echo: func(ctx context.Context, arguments echoArguments) (out echoResults, err error) {
			return out, post(ctx, outside, base+"/echo", arguments, &out)
		},
	}
}

// post sends JSON and decodes what comes back.
func post(ctx context.Context, outside *http.Client, url string, arguments, results any) error {
	body, err := json.Marshal(arguments)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := outside.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, body)
	}
	return json.Unmarshal(body, results)
}
