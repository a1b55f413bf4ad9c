package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/busline/busline/benchmarks/peers/rounds"
)

// startNetHTTP is the standard library: JSON over HTTP/1.1.
func startNetHTTP(ctx context.Context, _ string, setup *rounds.Setup) (base string, err error) {
	mux := http.NewServeMux()
	mux.Handle("POST /add", jsonHandler(add))
	mux.Handle("POST /echo", jsonHandler(echo))
	return listenHTTP(ctx, setup, mux, nil)
}

// dialNetHTTP has a connection for each caller.
func dialNetHTTP(_ context.Context, base string, setup *rounds.Setup) (client, error) {
	outside := &http.Client{Transport: newTransport(setup, nil)}
	return client{
		add: func(ctx context.Context, x, y int) (int, error) {
			response, err := postJSON[addResponse](ctx, outside, base+"/add", addRequest{X: x, Y: y})
			return response.Sum, err
		},
		echo: func(ctx context.Context, text string) (string, error) {
			response, err := postJSON[echoResponse](ctx, outside, base+"/echo", echoRequest{Text: text})
			return response.Echo, err
		},
	}, nil
}

func jsonHandler[Request, Response any](handle func(Request) Response) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var request Request
		if err := json.Unmarshal(body, &request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body, err = json.Marshal(handle(request))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // if it fails, the caller notices
	}
}

func postJSON[Response any](ctx context.Context, outside *http.Client, url string,
	request any) (response Response, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return response, err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return response, err
	}
	post.Header.Set("Content-Type", "application/json")
	answer, err := outside.Do(post)
	if err != nil {
		return response, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(answer.Body)
	if err != nil {
		return response, err
	}
	if answer.StatusCode != http.StatusOK {
		return response, fmt.Errorf("%s: %s", answer.Status, body)
	}
	return response, json.Unmarshal(body, &response)
}
