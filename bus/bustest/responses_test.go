package bustest_test

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/wire"
)

// offer is a result with constraints.
type offer struct {
	Price *float64 `json:"price" jsonschema:"minimum=0"`
	Tags  []string `json:"tags" jsonschema:"maxItems=1"`
	Sort  string   `json:"sort" jsonschema:"enum=apple,enum=pear"`
}

// stall answers with what it has.
type stall struct {
	offers  []offer
	receipt string
	status  int
	err     error
}

func (s *stall) Best() (name string, best offer) { return "best", s.offers[0] }

func (s *stall) ReadOffer(id string) (httpResponseBody []offer, httpStatusCode int) {
	return s.offers, s.status
}

func (s *stall) Buy(amount uint) (receipt *string, err error) { return &s.receipt, s.err }

func (s *stall) Watch(sort string) iter.Seq2[offer, error] { return nil }

// fruit returns an offer.
func fruit(sort string, price float64, tags ...string) offer { return offer{&price, tags, sort} }

// TestBus_HoldsResponsesToDocuments calls a service that answers with what its document does not say, over both
// transports, twice.
func TestBus_HoldsResponsesToDocuments(t *testing.T) {
	t.Parallel()
	const best, read, buy = "GET https://stall.example/best", "GET https://stall.example/offers/1",
		"POST https://stall.example/buy?amount=1"
	for _, test := range []struct {
		name   string
		served stall
		call   string
		texts  []string
	}{
		{"as documented", stall{offers: []offer{fruit("apple", 1, "red"), {Sort: "pear"}}, status: 206}, read, nil},
		{"a member", stall{offers: []offer{fruit("apple", -1)}}, best, []string{
			"stall.Best (POST /best on stall.example) answered 200, which does not fit its OpenAPI document: best.price: " +
				"minimum: got -1, want 0\n" +
				"return what the type says, or mend the type, its json and jsonschema tags or the directives of the method; " +
				"b.AllowWrongResponses() turns this check off\n" +
				`the body is {"name":"best","best":{"price":-1,"tags":[],"sort":"apple"}}`,
		}},
		{"elements", stall{offers: []offer{fruit("apple", -1), fruit("plum", -1, "a", "b")}}, read, []string{
			"[0].price: minimum: got -1, want 0\n", "[1].sort: value must be one of 'apple', 'pear'\n",
			"[1].tags: maxItems: got 2, want 1\n",
		}},
		{"any status", stall{status: 203}, read, nil},
		{"a status without a body", stall{status: 304}, read, nil},
		{"an error", stall{err: bus.Errorf(404, "none left")}, buy, nil},
	} {
		for name, transport := range map[string]bus.ConnectOption{"short circuit": bus.WithInterceptors(),
			"broker": bus.WithoutShortCircuit()} {
			t.Run(test.name+", "+name, func(t *testing.T) {
				t.Parallel()
				record := &recordingT{TB: t}
				b := bustest.New(bustest.Reporter(record))
				caller := b.Connect("caller.example", transport)
				require.NoError(t, bus.Serve(b.Connect("stall.example", transport), &test.served))
				call := func() {
					var out struct{ Best offer }
					var results any
					if test.call == best { // passed as a Go value
						results = &out
					}
					err := caller.Call(t.Context(), test.call, nil, results)
					assert.Equal(t, bus.StatusOf(test.served.err), bus.StatusOf(err))
				}
				call()
				call()
				texts, _ := record.seen()
				require.Len(t, texts, len(test.texts), strings.Join(texts, "\n"))
				for i, want := range test.texts {
					assert.Contains(t, texts[i], want)
				}
			})
		}
	}
}

// TestBus_HoldsInterceptorsToDocuments uses an interceptor that answers in place of the function.
func TestBus_HoldsInterceptorsToDocuments(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		response wire.Response
		text     string
	}{
		{"as documented", wire.Response{Status: 200,
			Header: wire.Header{{Name: "Content-Type", Value: "application/json; charset=utf-8"}},
			Body:   []byte(`{"receipt":"1"}`)}, ""},
		{"text", wire.Response{Status: 200, Header: wire.Header{{Name: "Content-Type", Value: "text/plain"}},
			Body: []byte("1")},
			`its media type is "application/json" there and "text/plain" here` +
				"\nlet the interceptor that makes this response return what the document says;"},
		{"no JSON", wire.Response{Status: 200, Header: wire.Header{{Name: "Content-Type", Value: "application/json"}},
			Body: []byte("1,")}, "it is no JSON: "},
		{"a status", wire.Response{Status: 202, Header: wire.Header{{Name: "Content-Type", Value: "application/json"}},
			Body: []byte("{}")},
			"it has no such status, but 200\nreturn one of these, or declare this one in the interface with //busline:status;"},
		{"no body", wire.Response{Status: 200}, `its media type is "application/json" there and "" here`},
		{"a page", wire.Response{Status: 404, Header: wire.Header{{Name: "Content-Type", Value: "text/html"}},
			Body: []byte("<p>")},
			`its media type is "application/problem+json" there and "text/html" here`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			answer := func(bus.CallFunc) bus.CallFunc {
				return func(_ context.Context, call *bus.Exchange) error {
					call.Response = &test.response
					return nil
				}
			}
			for _, allowed := range []bool{false, true} {
				record := &recordingT{TB: t}
				b := bustest.New(bustest.Reporter(record))
				if allowed {
					b.AllowWrongResponses()
				}
				require.NoError(t, bus.Serve(b.Connect("stall.example"), &stall{}, bus.Intercept(answer)))
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://stall.example/buy",
					strings.NewReader(""))
				require.NoError(t, err)
				response, err := b.Connect("caller.example").Do(request)
				require.NoError(t, err)
				_ = response.Body.Close()
				texts, _ := record.seen()
				if test.text == "" || allowed {
					assert.Empty(t, texts)
					continue
				}
				require.Len(t, texts, 1)
				assert.Contains(t, texts[0], test.text)
			}
		})
	}
}

// TestBus_HoldsStreamsToDocuments uses an interceptor that answers in place of a function that streams.
func TestBus_HoldsStreamsToDocuments(t *testing.T) {
	t.Parallel()
	const apple, plum = `{"price":1,"tags":[],"sort":"apple"}`, `{"price":-1,"tags":[],"sort":"plum"}`
	for _, test := range []struct {
		name, contentType, body string
		texts                   []string
	}{
		{"as documented", "application/x-ndjson", apple + "\n" + apple + "\n", nil},
		{"empty", "application/x-ndjson", "", nil},
		{"one line", "application/x-ndjson; charset=utf-8", apple, nil},
		{"events", "text/event-stream", "data: " + apple + "\n\n", nil},
		{"members", "application/x-ndjson", apple + "\n" + plum + "\n" + plum + "\n", []string{
			"line 2: price: minimum: got -1, want 0\n", "line 2: sort: value must be one of 'apple', 'pear'\n",
		}},
		{"no JSON", "application/x-ndjson", apple + "\n\n" + apple + "\n", []string{"line 2: it is no JSON: "}},
		{"no stream", "application/json", apple,
			[]string{`its media type is "application/x-ndjson or text/event-stream" there and "application/json" here`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			record := &recordingT{TB: t}
			b := bustest.New(bustest.Reporter(record))
			answer := func(bus.CallFunc) bus.CallFunc {
				return func(_ context.Context, call *bus.Exchange) error {
					call.Response = &wire.Response{Status: 200, Header: wire.Header{{Name: "Content-Type", Value: test.contentType}},
						Body: []byte(test.body)}
					return nil
				}
			}
			require.NoError(t, bus.Serve(b.Connect("stall.example"), &stall{}, bus.Intercept(answer)))
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://stall.example/watch", nil)
			require.NoError(t, err)
			response, err := b.Connect("caller.example").Do(request)
			require.NoError(t, err)
			_ = response.Body.Close()
			texts, _ := record.seen()
			require.Len(t, texts, len(test.texts), strings.Join(texts, "\n"))
			for i, want := range test.texts {
				assert.Contains(t, texts[i], want)
			}
		})
	}
}
