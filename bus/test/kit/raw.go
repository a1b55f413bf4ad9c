package kit

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Hostile is a raw client that publishes what no connection of ours would.
type Hostile struct {
	t       *testing.T
	Raw     *nats.Conn
	Plane   string
	Answers chan *nats.Msg
}

// NewHostile returns one that listens for what evil.example is answered.
func NewHostile(t *testing.T, w *World) *Hostile {
	t.Helper()
	h := &Hostile{t: t, Raw: RawClient(t, w), Plane: w.Plane(), Answers: make(chan *nats.Msg, 64)}
	_, err := h.Raw.ChanSubscribe(h.Plane+".r.example.evil.e1aaaaaaaa", h.Answers)
	require.NoError(t, err)
	require.NoError(t, h.Raw.Flush())
	return h
}

// Send publishes a message and returns the response that comes after the ack.
func (h *Hostile) Send(subject, text string) (*http.Response, string) {
	h.t.Helper()
	require.NoError(h.t, h.Raw.Publish(h.Plane+"."+subject, []byte(strings.ReplaceAll(text, "\n", "\r\n"))))
	ack, _ := h.Read()
	assert.Equal(h.t, http.StatusAccepted, ack.StatusCode, text)
	assert.Equal(h.t, "Ack", ack.Header.Get("Bus-Op-Code"), text)
	return h.Read()
}

// Read returns the next answer.
func (h *Hostile) Read() (*http.Response, string) {
	h.t.Helper()
	select {
	case message := <-h.Answers:
		response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(message.Data)), nil)
		if err != nil {
			h.t.Fatalf("%q: %v", message.Data, err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(h.t, err)
		return response, string(body)
	case <-time.After(10 * time.Second): // far more than it takes
		h.t.Fatal("no answer")
		return nil, ""
	}
}

// AddSubject is where the calculator takes a GET of /add, below the plane.
const AddSubject = "443.example.calculator.|.GET.add"

// RawRequest writes a request of evil.example with the given first line, host and further fields.
func RawRequest(line, host string, fields ...string) string {
	text := line + "\nHost: " + host +
		"\nBus-From-Host: evil.example\nBus-From-Id: e1aaaaaaaa\nBus-Msg-Id: m1\nBus-Op-Code: Req\n"
	return text + strings.Join(append(fields, ""), "\n") + "\n"
}

// Tap listens to what passes on a broker, from a connection of its own.
func Tap(t *testing.T, w *World, subject string) <-chan *nats.Msg {
	t.Helper()
	raw := RawClient(t, w)
	messages := make(chan *nats.Msg, 1024)
	_, err := raw.ChanSubscribe(subject, messages)
	require.NoError(t, err)
	require.NoError(t, raw.Flush())
	return messages
}

// RawClient is a NATS client that knows nothing of the bus.
func RawClient(t *testing.T, w *World) *nats.Conn {
	t.Helper()
	raw, err := nats.Connect("", nats.InProcessServer(w.Broker()))
	require.NoError(t, err)
	t.Cleanup(raw.Close)
	return raw
}
