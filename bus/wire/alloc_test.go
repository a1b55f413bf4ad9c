package wire_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/busline/busline/bus/wire"
)

func TestAllocations(t *testing.T) {
	buffer := make([]byte, 0, 1024)
	request := wire.AppendRequest(nil, usualRequest())
	response := wire.AppendResponse(nil, usualResponse())
	ack := wire.AppendResponse(nil, usualAck())
	proven := usualRequest()
	proven.CallerProof = strings.Repeat("proof", 70)
	withProof := wire.AppendRequest(nil, proven)
	req, res := usualRequest(), usualResponse()
	requestHead, responseHead := wire.NewRequestHead(req), wire.NewResponseHead(res)
	var reused, kept wire.Request
	var keptResponse wire.Response
	var reader wire.Reader
	tests := map[string]struct {
		most float64
		run  func() error
	}{
		"AppendRequest":  {0, func() error { buffer = wire.AppendRequest(buffer[:0], req); return nil }},
		"AppendResponse": {0, func() error { buffer = wire.AppendResponse(buffer[:0], res); return nil }},
		"RequestHead": {0, func() error {
			buffer = requestHead.AppendRequest(buffer[:0], req)
			return nil
		}},
		"ResponseHead": {0, func() error {
			buffer = responseHead.AppendResponse(buffer[:0], res)
			return nil
		}},
		"Reader.ParseRequest":              {0, func() error { return reader.ParseRequest(request, &kept) }},
		"Reader.ParseRequest with a proof": {0, func() error { return reader.ParseRequest(withProof, &kept) }},
		"Reader.ParseResponse":             {0, func() error { return reader.ParseResponse(response, &keptResponse) }},
		"Reader.ParseResponse of an ack":   {0, func() error { return reader.ParseResponse(ack, &keptResponse) }},
		"ParseRequest with a used Header":  {1, func() error { return wire.ParseRequest(request, &reused) }},
		"ParseRequest": {2, func() error {
			var req wire.Request
			return wire.ParseRequest(request, &req)
		}},
		"ParseResponse":           {2, func() error { var res wire.Response; return wire.ParseResponse(response, &res) }},
		"ParseResponse of an ack": {1, func() error { var res wire.Response; return wire.ParseResponse(ack, &res) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := testing.AllocsPerRun(100, func() {
				if err := test.run(); err != nil {
					t.Fatal(err)
				}
			})
			if got > test.most {
				t.Errorf("%v allocations, want at most %v", got, test.most)
			}
		})
	}
}

// TestParseRequest_GrowsHeaderOnce holds that one allocation holds the header of a request with many fields.
func TestParseRequest_GrowsHeaderOnce(t *testing.T) {
	req := usualRequest()
	for range 200 {
		req.Header.Add("X-Many", "value")
	}
	payload := wire.AppendRequest(nil, req)
	got := testing.AllocsPerRun(100, func() {
		var req wire.Request
		if err := wire.ParseRequest(payload, &req); err != nil || len(req.Header) != 201 {
			t.Fatal(len(req.Header), err)
		}
	})
	if got > 2 {
		t.Errorf("%v allocations, want at most 2", got)
	}
}

// TestParseRequest_LimitsBeforeAllocation holds that a message over the limits allocates only its error.
func TestParseRequest_LimitsBeforeAllocation(t *testing.T) {
	many := usualRequest()
	for range wire.MaxFields {
		many.Header.Add("X-Many", "value")
	}
	long := usualRequest()
	long.Header.Add("X-Long", strings.Repeat("x", wire.MaxHeadBytes))
	for name, req := range map[string]*wire.Request{"fields": many, "bytes": long} {
		t.Run(name, func(t *testing.T) {
			payload := wire.AppendRequest(nil, req)
			const runs, most = 100, 512
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range runs {
				if wire.ParseRequest(payload, req) == nil {
					t.Fatal("accepted")
				}
			}
			runtime.ReadMemStats(&after)
			if bytes := (after.TotalAlloc - before.TotalAlloc) / runs; bytes > most {
				t.Errorf("too many %s: %d bytes allocated, want at most %d", name, bytes, most)
			}
		})
	}
}
