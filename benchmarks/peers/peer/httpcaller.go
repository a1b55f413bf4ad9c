package peer

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/busline/busline/benchmarks/peers/rounds"
)

// newHTTPAdder returns a caller of Add with a connection of its own. It does as little as it can, so that what is
// measured is the server.
func newHTTPAdder(address, nameX, nameY string,
	setup *rounds.Setup) (func(ctx context.Context, x, y int) (int, error), error) {
	to, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	conn, err := net.Dial("tcp", to.Host) //nolint:noctx // loopback
	if err != nil {
		return nil, err
	}
	setup.Cleanup(func() { _ = conn.Close() })
	reader := bufio.NewReader(conn)
	return func(_ context.Context, x, y int) (int, error) {
		body := fmt.Appendf(nil, `{%q:%d,%q:%d}`, nameX, x, nameY, y)
		request := fmt.Appendf(nil,
			"POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			to.Path, to.Host, len(body), body)
		if _, err := conn.Write(request); err != nil {
			return 0, err
		}
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			return 0, err
		}
		defer response.Body.Close()
		if body, err = io.ReadAll(response.Body); err != nil {
			return 0, err
		}
		if response.StatusCode != http.StatusOK {
			return 0, &httpError{response.StatusCode, response.Header.Get("Retry-After"), string(body)}
		}
		return sumOf(body)
	}, nil
}

// httpError is a response with another status than 200.
type httpError struct {
	status     int
	retryAfter string
	body       string
}

func (e *httpError) Error() string { return fmt.Sprintf("%d: %s", e.status, e.body) }

// sumOf reads {"sum":11}, or "11", as protobuf has an int64.
func sumOf(body []byte) (int, error) {
	if text, err := strconv.Unquote(string(body)); err == nil {
		return strconv.Atoi(text)
	}
	var response addResponse
	err := json.Unmarshal(body, &response)
	return response.Sum, err
}
