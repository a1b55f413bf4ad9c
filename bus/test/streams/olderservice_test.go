package streams_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

const olderURL = "https://" + kit.ScriptedHost + "/measure"

// olderService takes bodies in parts of a known number, and no streams: it answers 400 to 1/*, and else with how many
// bytes came.
type olderService struct {
	raw    *nats.Conn
	plane  string
	window int64 // in its acks: it says that it takes streams
	body   []byte
	open   int // requests whose number of parts is unknown
	whole  chan []byte
}

func newOlderService(t *testing.T, w *kit.World) *olderService {
	t.Helper()
	s := &olderService{raw: kit.RawClient(t, w), plane: w.Plane(), whole: make(chan []byte, 4)}
	for _, host := range []string{kit.ScriptedHost, kit.ScriptedID + "." + kit.ScriptedHost} {
		address := subject.Address{Host: host, Port: subject.PublicPort, Method: http.MethodPost, Path: "/measure"}
		to, err := address.Subject(s.plane)
		require.NoError(t, err)
		_, err = s.raw.Subscribe(to, s.receive)
		require.NoError(t, err)
	}
	_, err := s.raw.Subscribe(subject.Response(s.plane, kit.ScriptedHost, kit.ScriptedID), func(*nats.Msg) {})
	require.NoError(t, err)
	kit.Flush(t, s.raw)
	return s
}

func (s *olderService) receive(message *nats.Msg) {
	var part wire.Request
	if err := wire.ParseRequest(message.Data, &part); err != nil {
		return // nothing is answered, which fails the client that waits for it
	}
	if !part.Fragment.IsOpen() { // before the ack, after which the other subscription gets the other parts
		s.body = append(s.body, part.Body...)
	}
	if part.Fragment.Number <= 1 {
		s.reply(&part, &wire.Response{Status: http.StatusAccepted, OpCode: kit.Ack, Window: s.window})
	}
	if part.Fragment.IsOpen() {
		if part.Fragment.Number == 1 { // another part may be under way before the answer comes
			s.open++
			s.reply(&part, &wire.Response{Status: http.StatusBadRequest, OpCode: kit.Res, Body: []byte("Bus-Fragment")})
		}
		return
	}
	if part.Fragment.Number < part.Fragment.Count {
		return
	}
	whole := s.body
	s.body = nil
	s.whole <- whole
	length := strconv.AppendInt(nil, int64(len(whole)), 10)
	s.reply(&part, &wire.Response{Status: http.StatusOK, OpCode: kit.Res, Body: length})
}

func (s *olderService) reply(to *wire.Request, response *wire.Response) {
	response.FromHost, response.FromID, response.MsgID = kit.ScriptedHost, kit.ScriptedID, to.MsgID
	_ = s.raw.Publish(subject.Response(s.plane, to.FromHost, to.FromID), wire.AppendResponse(nil, response))
}

// measure sends a body to the service; length is negative if it is unknown.
func measure(ctx context.Context, conn *bus.Conn, body io.Reader, length int64) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, olderURL, body)
	if err != nil {
		return nil, err
	}
	request.ContentLength = length
	return conn.Do(request)
}

// closeNoting is a body that shows whether it was closed.
type closeNoting struct {
	io.Reader

	closed chan struct{}
}

func (b closeNoting) Close() error {
	select {
	case b.closed <- struct{}{}:
	default:
	}
	return nil
}

// TestOlderService_GetsParts has bodies that would be streams at a service that takes parts and no streams.
func TestOlderService_GetsParts(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	s := newOlderService(t, w)
	caller := w.Connect("caller.example")
	for name, length := range map[string]int64{"of unknown length": -1, "too large for memory at once": 3 << 20} {
		data, err := io.ReadAll(kit.NewNumbered(3 << 20))
		require.NoError(t, err)
		body := closeNoting{bytes.NewReader(data), make(chan struct{}, 1)}
		s.open = 0
		response, err := measure(t.Context(), caller, body, length)
		require.NoError(t, err, name)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err, name)
		assert.Equal(t, http.StatusOK, response.StatusCode, name)
		assert.Equal(t, strconv.Itoa(3<<20), string(text), name)
		assert.True(t, bytes.Equal(data, kit.Await(t, name, s.whole)), name)
		assert.Equal(t, 1, s.open, name)
		kit.Await(t, "the end of the body", body.closed)
	}
}

// TestOlderService_RefusesMore has bodies that are larger than messages may be, or break off: no handler sees any of
// them, and the error says why they cannot be sent.
func TestOlderService_RefusesMore(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	s := newOlderService(t, w)
	caller := w.Connect("caller.example", bus.WithMaxMessageBytes(1<<20))
	for name, length := range map[string]int64{"of unknown length": -1, "too large": 3 << 20} {
		_, err := measure(t.Context(), caller, io.MultiReader(kit.NewNumbered(3<<20)), length)
		kit.CheckError(t, err, http.StatusRequestEntityTooLarge, bus.ExecutedNo)
		assert.ErrorContains(t, err,
			kit.ScriptedHost+" takes no stream, as versions before streams do: a body of at least ", name)
		assert.ErrorContains(t, err, "bytes exceeds the limit of 1048576", name)
	}
	breaks := io.MultiReader(kit.NewNumbered(100_000), iotestError{errors.New("the disk is gone")})
	_, err := measure(t.Context(), caller, breaks, -1)
	kit.CheckError(t, err, http.StatusBadRequest, bus.ExecutedNo)
	require.ErrorContains(t, err, "the request body cannot be read: the disk is gone")
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	go func() {
		_, _ = writer.Write(make([]byte, 100_000))
		cancel()
	}()
	_, err = measure(ctx, caller, reader, -1)
	kit.CheckError(t, err, http.StatusServiceUnavailable, bus.ExecutedNo)
	assert.Empty(t, s.whole)
}

// TestOlderService_Window has a service that says it takes streams, and answers 400: it has seen the request, which is
// not sent again.
func TestOlderService_Window(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	s := newOlderService(t, w)
	s.window = 1 << 20
	response, err := measure(t.Context(), w.Connect("caller.example"), io.MultiReader(kit.NewNumbered(3<<20)), -1)
	require.NoError(t, err)
	assert.Equal(t, http.StatusBadRequest, response.StatusCode)
	assert.Equal(t, 1, s.open)
	assert.Empty(t, s.whole)
}

// TestOlderCaller_TooLarge has a caller that takes no streams, and a body that is larger than messages may be: trying
// again is of no use.
func TestOlderCaller_TooLarge(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	w.Handle(t, "GET /large", func(w http.ResponseWriter, _ *http.Request) {
		for range 40 {
			_, _ = w.Write(make([]byte, 1<<20))
		}
	})
	response, text := kit.NewHostile(t, w).Send("443.example.stream.|.GET.large",
		kit.RawRequest("GET /large HTTP/1.1", kit.StreamHost))
	assert.Equal(t, http.StatusInternalServerError, response.StatusCode)
	assert.Empty(t, response.Header.Get("Retry-After"))
	assert.Regexp(t, `"the response cannot be sent: a body of at least \d+ bytes exceeds the limit of 33554432"`, text)
	assert.NotContains(t, text, "executed", "which stands for yes")
}
