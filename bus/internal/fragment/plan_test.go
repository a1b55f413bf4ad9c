package fragment_test

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

	"github.com/busline/busline/bus/internal/fragment"
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
		request, err := fragment.ArrivedRequest(sent, payload)
		if err != nil || !bytes.Equal(request.Body, body) || request.Header.Get("X-Filling") != sent.Header.Get("X-Filling") || request.Host != sent.Host {
			t.Fatalf("a request of %d bytes in messages of %d: %v", size, payload, err)
		}
		answered := largeResponse(filling, body)
		response, err := fragment.ArrivedResponse(answered, payload)
		if err != nil || !bytes.Equal(response.Body, body) || response.Header.Get("X-Filling") != answered.Header.Get("X-Filling") || response.Status != 200 {
			t.Fatalf("a response of %d bytes in messages of %d: %v", size, payload, err)
		}
	})
}

// TestPlan_FitsPayload holds that the broker takes every fragment, whichever instance the request goes to, and that only the
// first one has the header.
func TestPlan_FitsPayload(t *testing.T) {
	t.Parallel()
	instance := "k3f9x2m7qp." + strings.Repeat("h", 253) // the longest there can be
	for _, filling := range []int{0, 200, 500} {
		for size := 1000; size < 3000; size += 7 {
			const payload = 1024
			request, response := largeRequest(filling, someBytes(size)), largeResponse(filling, someBytes(size))
			requests, err := fragment.PlanRequest(request, payload)
			require.NoError(t, err)
			for number := 1; number <= requests.Count; number++ {
				part := requests.Request(number, request, instance)
				if text := wire.AppendRequest(nil, part); len(text) > payload {
					t.Fatalf("fragment %d of a request has %d bytes, the broker takes %d", number, len(text), payload)
				}
				isFirst := number == 1
				require.Equal(t, isFirst, (len(part.Header) > 0), "%d, %s", number, part.Host)
				require.Equal(t, isFirst, (part.Host == request.Host), "%d, %s", number, part.Host)
			}
			responses, err := fragment.PlanResponse(response, payload)
			require.NoError(t, err)
			for number := 1; number <= responses.Count; number++ {
				part := responses.Response(number, response)
				if text := wire.AppendResponse(nil, part); len(text) > payload {
					t.Fatalf("fragment %d of a response has %d bytes, the broker takes %d", number, len(text), payload)
				}
				if (len(part.Header) > 0) != (number == 1) {
					t.Fatalf("fragment %d of a response has the header %v", number, part.Header)
				}
			}
		}
	}
}

// TestPlan_HeadLargerThanPayload compares the smallest payload that the head fits into with one byte less.
func TestPlan_HeadLargerThanPayload(t *testing.T) {
	t.Parallel()
	body := someBytes(5000)
	request, response := largeRequest(600, body), largeResponse(600, body)
	for name, plan := range map[string]func(payload int) (first []byte, err error){
		"request": func(payload int) ([]byte, error) {
			plan, err := fragment.PlanRequest(request, payload)
			return plan.Request(1, request, "").Body, err
		},
		"response": func(payload int) ([]byte, error) {
			plan, err := fragment.PlanResponse(response, payload)
			return plan.Response(1, response).Body, err
		},
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
			require.NoError(t, err, "the first fragment has %d bytes of the body beside a head that leaves no room", len(first))
			assert.Empty(t, first, "the first fragment has %d bytes of the body beside a head that leaves no room", len(first))
			first, err = plan(payload + 1)
			require.NoError(t, err, "the first fragment has %d bytes of the body beside a head that leaves room for one", len(first))
			assert.Len(t, first, 1, "the first fragment has %d bytes of the body beside a head that leaves room for one", len(first))
		})
	}
}

func checkTooLargeForBroker(t *testing.T, err error, payload int) {
	t.Helper()
	var head int
	if failed, _ := fmt.Sscanf(err.Error(), "413 Request Entity Too Large: a head of %d bytes", &head); failed == 0 {
		t.Fatalf("the error is %v", err)
	}
	checkRejected(t, err, 413, fmt.Sprintf("a head of %d bytes does not fit into a message of the broker, whose limit is %d", head, payload))
	if !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("the cause is not %v", nats.ErrMaxPayload)
	}
}

// TestPlan_MostFragments compares the largest body that travels in as many fragments as a message may have with a byte more.
func TestPlan_MostFragments(t *testing.T) {
	t.Parallel()
	const payload, most = 300, 1 << 16
	response := largeResponse(0, someBytes(5000))
	plan, err := fragment.PlanResponse(response, payload)
	require.NoError(t, err)
	first, following := len(plan.Response(1, response).Body), len(plan.Response(2, response).Body)
	response.Body = make([]byte, first+(most-1)*following)
	plan, err = fragment.PlanResponse(response, payload)
	require.NoError(t, err)
	assert.Equal(t, most, plan.Count)
	response.Body = append(response.Body, 0)
	_, err = fragment.PlanResponse(response, payload)
	checkRejected(t, err, 413, fmt.Sprintf("a body of %d bytes needs more than 65536 broker messages of at most 300 bytes each", len(response.Body)))
	if !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("the cause of %v is not %v", err, nats.ErrMaxPayload)
	}
}
