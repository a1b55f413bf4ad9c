package wire_test

import (
	"bufio"
	"bytes"
	"net/http"
	"testing"

	"github.com/busline/busline/bus/wire"
)

func BenchmarkAppendRequest(b *testing.B) {
	req, buffer := usualRequest(), make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		buffer = wire.AppendRequest(buffer[:0], req)
	}
}

func BenchmarkAppendResponse(b *testing.B) {
	res, buffer := usualResponse(), make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		buffer = wire.AppendResponse(buffer[:0], res)
	}
}

func BenchmarkRequestHead(b *testing.B) {
	req, buffer := usualRequest(), make([]byte, 0, 1024)
	head := wire.NewRequestHead(req)
	b.ReportAllocs()
	for b.Loop() {
		buffer = head.AppendRequest(buffer[:0], req)
	}
}

func BenchmarkResponseHead(b *testing.B) {
	res, buffer := usualResponse(), make([]byte, 0, 1024)
	head := wire.NewResponseHead(res)
	b.ReportAllocs()
	for b.Loop() {
		buffer = head.AppendResponse(buffer[:0], res)
	}
}

func BenchmarkParseRequest(b *testing.B) {
	payload := wire.AppendRequest(nil, usualRequest())
	var req wire.Request
	b.ReportAllocs()
	for b.Loop() {
		if err := wire.ParseRequest(payload, &req); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseResponse(b *testing.B) {
	payload := wire.AppendResponse(nil, usualResponse())
	var res wire.Response
	b.ReportAllocs()
	for b.Loop() {
		if err := wire.ParseResponse(payload, &res); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReaderParseRequest(b *testing.B) {
	payload := wire.AppendRequest(nil, usualRequest())
	var reader wire.Reader
	var req wire.Request
	b.ReportAllocs()
	for b.Loop() {
		if err := reader.ParseRequest(payload, &req); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReaderParseResponse(b *testing.B) {
	payload := wire.AppendResponse(nil, usualResponse())
	var reader wire.Reader
	var res wire.Response
	b.ReportAllocs()
	for b.Loop() {
		if err := reader.ParseResponse(payload, &res); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHTTPReadRequest is what the standard library takes for the same request.
func BenchmarkHTTPReadRequest(b *testing.B) {
	payload := wire.AppendRequest(nil, usualRequest())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(payload))); err != nil {
			b.Fatal(err)
		}
	}
}
