package mcp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/payroll/payrollsvc"
	"github.com/busline/busline/portal/mcp"
)

// BenchmarkList lists 1000 functions: each with its schemas, and by the tools that find them.
func BenchmarkList(b *testing.B) {
	for name, option := range map[string]mcp.Option{"each": mcp.WithListLimit(1000), "find": mcp.WithListLimit(40)} {
		b.Run(name, func(b *testing.B) {
			a := &agents{t: b, issuer: bustest.NewIssuer(b), bus: bustest.New(b)}
			document := foreign{count: 1000}.document(b, "shop.example")
			if err := a.connect("portal").Handle(http.MethodGet, "/openapi.json", http.HandlerFunc(
				func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("ETag", `"1"`)
					if r.Header.Get("If-None-Match") != "" {
						w.WriteHeader(http.StatusNotModified)
						return
					}
					_, _ = io.WriteString(w, document)
				}), bus.Undocumented()); err != nil {
				b.Fatal(err)
			}
			a.server = a.serve([]mcp.Option{option})
			opened := a.open(nil)
			size := 0
			for b.Loop() {
				listed, err := opened.ListTools(b.Context(), nil)
				if err != nil {
					b.Fatal(err)
				}
				if size == 0 {
					text, err := json.Marshal(listed)
					if err != nil {
						b.Fatal(err)
					}
					size = len(text)
				}
			}
			const perToken = 4 // bytes
			b.ReportMetric(float64(size/perToken), "tokens")
		})
	}
}

// BenchmarkCall calls a function as a tool, and by HTTP.
func BenchmarkCall(b *testing.B) {
	a := newAgents(b)
	if err := payrollsvc.Serve(a.connect("payroll.example")); err != nil {
		b.Fatal(err)
	}
	opened := a.open(nil)
	b.Run("tool", func(b *testing.B) {
		for b.Loop() {
			if _, err := opened.CallTool(b.Context(), &sdk.CallToolParams{Name: "payroll_headcount"}); err != nil {
				b.Fatal(err)
			}
		}
	})
	post := func(b *testing.B, path, body string) {
		for b.Loop() {
			request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, a.server.URL+path, strings.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			request.Header = http.Header{"Content-Type": {"application/json"},
				"Accept": {"application/json, text/event-stream"}}
			response, err := http.DefaultTransport.RoundTrip(request)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, response.Body); err != nil {
				b.Fatal(err)
			}
			_ = response.Body.Close()
		}
	}
	b.Run("tool by HTTP", func(b *testing.B) {
		post(b, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"payroll_headcount"}}`)
	})
	b.Run("HTTP", func(b *testing.B) { post(b, "/payroll.example/headcount", "{}") })
}
