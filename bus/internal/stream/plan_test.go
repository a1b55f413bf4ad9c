package stream_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/wire"
)

// TestPlan_AnySize cuts messages of any size for brokers that take any size, and puts them together again.
func TestPlan_AnySize(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(0, 100_000).Draw(t, "size")
		payload := rapid.IntRange(700, 70_000).Draw(t, "payload")
		filling := rapid.IntRange(0, 200).Draw(t, "head")
		body := someBytes(size)
		sent := largeRequest(filling, body)
		request, err := stream.ArrivedRequest(sent, payload)
		if err != nil || !bytes.Equal(request.Body, body) ||
			request.Header.Get("X-Filling") != sent.Header.Get("X-Filling") || request.Host != sent.Host {
			t.Fatalf("a request of %d bytes in messages of %d: %v", size, payload, err)
		}
		answered := largeResponse(filling, body)
		response, err := stream.ArrivedResponse(answered, payload)
		if err != nil || !bytes.Equal(response.Body, body) ||
			response.Header.Get("X-Filling") != answered.Header.Get("X-Filling") || response.Status != 200 {
			t.Fatalf("a response of %d bytes in messages of %d: %v", size, payload, err)
		}
	})
}

// sent returns the parts that a plan makes of a body.
func sent(t *testing.T, plan stream.Plan, body []byte) (bodies [][]byte) {
	t.Helper()
	err := plan.Writer(t.Context(), stream.Unsent, func(part wire.Fragment, body []byte) error {
		bodies = append(bodies, body)
		assert.Equal(t, wire.Fragment{Number: len(bodies), Count: plan.Count}, part)
		return nil
	}).CloseWith(body)
	require.NoError(t, err)
	require.Len(t, bodies, plan.Count)
	return bodies
}

// TestPlan_FitsPayload holds that the broker takes every part, whichever instance the request goes to.
func TestPlan_FitsPayload(t *testing.T) {
	t.Parallel()
	instance := "k3f9x2m7qp." + strings.Repeat("h", 253) // the longest there can be
	const payload = 1024
	for _, filling := range []int{0, 200, 500} {
		for size := 1000; size < 3000; size += 7 {
			request, response := *largeRequest(filling, someBytes(size)), *largeResponse(filling, someBytes(size))
			requests, err := stream.PlanRequest(&request, payload)
			require.NoError(t, err)
			for i, body := range sent(t, requests, request.Body) {
				request.Fragment, request.Body = wire.Fragment{Number: i + 1, Count: requests.Count}, body
				require.LessOrEqual(t, len(wire.AppendRequest(nil, &request)), payload)
				request.Header, request.Host = nil, instance
			}
			responses, err := stream.PlanResponse(&response, payload)
			require.NoError(t, err)
			for i, body := range sent(t, responses, response.Body) {
				response.Fragment, response.Body = wire.Fragment{Number: i + 1, Count: responses.Count}, body
				require.LessOrEqual(t, len(wire.AppendResponse(nil, &response)), payload)
				response.Header = nil
			}
		}
	}
}

// TestPlan_HeadLargerThanPayload compares the smallest payload that the head fits into with one byte less.
func TestPlan_HeadLargerThanPayload(t *testing.T) {
	t.Parallel()
	body := someBytes(5000)
	request, response := largeRequest(600, body), largeResponse(600, body)
	for name, plan := range map[string]func(payload int) (stream.Plan, error){
		"request":  func(payload int) (stream.Plan, error) { return stream.PlanRequest(request, payload) },
		"response": func(payload int) (stream.Plan, error) { return stream.PlanResponse(response, payload) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			payload := 600
			_, err := plan(payload)
			for err != nil && payload < 4096 {
				checkTooLargeForBroker(t, err, payload)
				payload++
				_, err = plan(payload)
			}
			first, err := plan(payload)
			require.NoError(t, err)
			assert.Zero(t, first.First, "beside a head that leaves no room")
			first, err = plan(payload + 1)
			require.NoError(t, err)
			assert.Equal(t, 1, first.First, "beside a head that leaves room for one byte")
		})
	}
}

func checkTooLargeForBroker(t *testing.T, err error, payload int) {
	t.Helper()
	var head int
	if failed, _ := fmt.Sscanf(err.Error(), "413 Request Entity Too Large: a head of %d bytes", &head); failed == 0 {
		t.Fatalf("the error is %v", err)
	}
	checkRejected(t, err, 413,
		fmt.Sprintf("a head of %d bytes does not fit into a message of the broker, whose limit is %d", head, payload))
	if !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("the cause is not %v", nats.ErrMaxPayload)
	}
}

// TestPlan_MostParts compares the largest body that travels in as many parts as a message may have with a byte more.
func TestPlan_MostParts(t *testing.T) {
	t.Parallel()
	const payload, most = 300, 1 << 16
	response := largeResponse(0, someBytes(5000))
	plan, err := stream.PlanResponse(response, payload)
	require.NoError(t, err)
	response.Body = make([]byte, plan.First+(most-1)*plan.Following)
	plan, err = stream.PlanResponse(response, payload)
	require.NoError(t, err)
	assert.Equal(t, most, plan.Count)
	response.Body = append(response.Body, 0)
	_, err = stream.PlanResponse(response, payload)
	checkRejected(t, err, 413,
		fmt.Sprintf("a body of %d bytes needs more than 65536 broker messages of at most 300 bytes each", len(response.Body)))
	if !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("the cause of %v is not %v", err, nats.ErrMaxPayload)
	}
}
