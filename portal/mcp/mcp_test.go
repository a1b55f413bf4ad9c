package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/examples/payments/paymentssvc"
	"github.com/busline/busline/examples/payroll/payrollsvc"
	"github.com/busline/busline/examples/products/productsvc"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/mcp"
)

// testTimeout bounds what a client waits for.
const testTimeout = time.Minute

// agents is a bus with a portal and an ingress, at which agents have tools.
type agents struct {
	t      testing.TB
	bus    *bustest.Bus
	issuer *bustest.Issuer
	server *httptest.Server
}

func newAgents(t testing.TB, options ...mcp.Option) *agents {
	t.Helper()
	a := &agents{t: t, issuer: bustest.NewIssuer(t), bus: bustest.New(t)}
	require.NoError(t, portal.Register(a.connect("portal")))
	a.server = a.serve(options)
	return a
}

// serve serves the tools at an ingress.
func (a *agents) serve(options []mcp.Option, more ...ingress.Option) *httptest.Server {
	a.t.Helper()
	door := a.connect("ingress")
	tools, err := mcp.New(door, options...)
	require.NoError(a.t, err)
	handler, err := ingress.New(door, append(more, ingress.WithHandler("/mcp", tools))...)
	require.NoError(a.t, err)
	server := httptest.NewServer(handler)
	a.t.Cleanup(server.Close)
	return server
}

func (a *agents) serveProducts() {
	a.t.Helper()
	conn := a.connect("products.example")
	store, err := productsvc.OpenStore(a.t.Context(), conn)
	require.NoError(a.t, err)
	require.NoError(a.t, productsvc.Serve(conn, store))
}

func (a *agents) connect(host string) *bus.Conn { return a.bus.Connect(host, a.issuer.Trust()) }

// agent is a client of tools.
type agent struct {
	*sdk.ClientSession

	t        testing.TB
	progress chan *sdk.ProgressNotificationParams
}

// headers adds headers to all requests.
type headers map[string]string

// RoundTrip implements http.RoundTripper.
func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// open opens a session of an agent whose token has these claims, or who has none.
func (a *agents) open(c claims.Claims, versions ...string) *agent {
	a.t.Helper()
	sent := make(headers)
	if c != nil {
		sent["Authorization"] = "Bearer " + a.issuer.Token(c)
	}
	opened, err := a.tryOpen(sent, versions...)
	require.NoError(a.t, err)
	return opened
}

func (a *agents) tryOpen(sent headers, versions ...string) (*agent, error) {
	opened := &agent{t: a.t, progress: make(chan *sdk.ProgressNotificationParams, 1000)}
	client := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			opened.progress <- r.Params
		},
	})
	options := new(sdk.ClientSessionOptions)
	for _, version := range versions {
		options.ProtocolVersion = version
	}
	session, err := client.Connect(a.t.Context(), &sdk.StreamableClientTransport{Endpoint: a.server.URL + "/mcp",
		HTTPClient: &http.Client{Transport: sent}, MaxRetries: -1}, options)
	if err != nil {
		return nil, err
	}
	a.t.Cleanup(func() { _ = session.Close() })
	opened.ClientSession = session
	return opened, nil
}

// names lists the names of the tools.
func (a *agent) names() string {
	a.t.Helper()
	listed, err := a.ListTools(a.t.Context(), nil)
	require.NoError(a.t, err)
	var names []string
	for _, each := range listed.Tools {
		names = append(names, each.Name)
	}
	return strings.Join(names, " ")
}

// tool returns a tool that is listed.
func (a *agent) tool(name string) *sdk.Tool {
	a.t.Helper()
	listed, err := a.ListTools(a.t.Context(), nil)
	require.NoError(a.t, err)
	at := slices.IndexFunc(listed.Tools, func(t *sdk.Tool) bool { return t.Name == name })
	require.GreaterOrEqual(a.t, at, 0, name)
	return listed.Tools[at]
}

// call calls a tool, and returns its texts and its structured content.
func (a *agent) call(name, arguments string) (result *sdk.CallToolResult, text, structured string) {
	a.t.Helper()
	result, err := a.CallTool(a.t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	require.NoError(a.t, err)
	return result, textOf(result), jsonOf(a.t, result.StructuredContent)
}

func textOf(result *sdk.CallToolResult) string {
	var texts []string
	for _, each := range result.Content {
		if text, ok := each.(*sdk.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func jsonOf(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// TestTools lists and calls functions of several kinds, by each version of the protocol.
func TestTools(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	require.NoError(t, paymentssvc.Serve(a.connect("payments.example")))
	a.serveProducts()
	for _, version := range []string{"", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"} {
		t.Run("version "+version, func(t *testing.T) {
			t.Parallel()
			opened := a.open(nil, version)
			assert.Equal(t, "payments_pay payments_receipts products_create products_delete products_list_all "+
				"products_read products_update products_watch", opened.names())
			result, text, structured := opened.call("payments_pay",
				`{"cents":450,"currency":"EUR","by":{"kind":"voucher","code":"TEA-2026","worth":900}}`)
			assert.False(t, result.IsError, text)
			assert.Contains(t, structured, `"cents":450`)
			assert.JSONEq(t, text, structured)
		})
	}
}

// TestTools_Described reads what an agent gets to know of a function.
func TestTools_Described(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	require.NoError(t, paymentssvc.Serve(a.connect("payments.example")))
	pay := a.open(nil).tool("payments_pay")
	assert.Equal(t, "Pay of payments.example", pay.Title)
	assert.Equal(t, "Pay takes a payment, and returns its receipt.", pay.Description)
	assert.JSONEq(t, `{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}`,
		jsonOf(t, pay.Annotations))
	assert.JSONEq(t, `{"type":"object","required":["by","cents","currency"],"properties":{
			"cents":{"type":"integer","format":"int64","minimum":1,"examples":[450],
				"description":"in the smallest unit of the currency"},
			"currency":{"type":"string","oneOf":[{"const":"EUR","description":"cents"},{"const":"CHF","description":"Rappen"}]},
			"note":{"type":"string","maxLength":80,"description":"what it is for"},
			"by":{"$ref":"#/$defs/Means"}},
		"$defs":{
			"Means":{"type":"object","description":"Means is what a payment is made with.","oneOf":[
				{"$ref":"#/$defs/Means_card"},{"$ref":"#/$defs/Means_transfer"},{"$ref":"#/$defs/Means_voucher"}]},
			"Means_card":{"type":"object","description":"Card is charged at once.","required":["kind","number"],"properties":{
				"kind":{"type":"string","const":"card"},
				"number":{"type":"string","pattern":"^[0-9]{12,19}$","examples":["4111111111111111"]}}},
			"Means_transfer":{"type":"object","description":"Transfer is a promise: the money comes later.",
				"required":["kind","iban"],"properties":{
				"kind":{"type":"string","const":"transfer"},
				"iban":{"type":"string","minLength":15,"maxLength":34,"examples":["DE02120300000000202051"]}}},
			"Means_voucher":{"type":"object","description":"Voucher was paid in advance, and is worth some of a currency.",
				"required":["kind","code","worth"],"properties":{
				"kind":{"type":"string","const":"voucher"},
				"code":{"type":"string","minLength":4,"examples":["TEA-2026"]},
				"worth":{"type":"integer","format":"int64","minimum":1}}}}}`, jsonOf(t, pay.InputSchema))
	receipts := a.open(nil).tool("payments_receipts")
	assert.Equal(t, "Look at receipts", receipts.Title)
	assert.JSONEq(t, `{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":false,"openWorldHint":true}`,
		jsonOf(t, receipts.Annotations))
	assert.Contains(t, jsonOf(t, pay.OutputSchema), `"receipt":{"$ref":"#/$defs/Receipt"}`)
}

// till returns the key of a request.
type till interface {
	// Pay pays.
	//
	//busline:idempotent
	Pay(ctx context.Context) (key string)
}

type keyReader struct{}

func (keyReader) Pay(ctx context.Context) (key string) {
	return bus.RequestHeader(ctx).Get("Idempotency-Key")
}

// TestTools_Keys holds that a call has a key: that of its arguments, unless it is blank, else a new one.
func TestTools_Keys(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	require.NoError(t, bus.Serve[till](a.connect("till.example"), keyReader{}, bus.SourceFS(fstest.MapFS{"till.go": {
		Data: []byte("package mcp_test\n\n// till returns the key of a request.\ntype till interface {\n\t// Pay pays.\n\t//\n" +
			"\t//busline:idempotent\n\tPay(ctx context.Context) (key string)\n}\n")}})))
	opened := a.open(nil)
	for arguments, want := range map[string]string{`{"Idempotency-Key":"order-7"}`: `^\{"key":"order-7"\}$`,
		`{"Idempotency-Key":7}`: `^\{"key":"7"\}$`, `{}`: `[A-Z2-7]{26}`, `{"Idempotency-Key":null}`: `[A-Z2-7]{26}`,
		`{"Idempotency-Key":""}`: `[A-Z2-7]{26}`, `{"Idempotency-Key":" \t"}`: `[A-Z2-7]{26}`} {
		result, text, _ := opened.call("till_pay", arguments)
		assert.False(t, result.IsError, text)
		assert.Regexp(t, want, text, arguments)
	}
}

// TestTools_REST holds that arguments get to their places in the path, the query and the body, and the hints.
func TestTools_REST(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	a.serveProducts()
	opened := a.open(nil)
	for _, test := range []struct{ name, arguments, want string }{
		{"products_create", `{"body":{"name":"Tea","price":4.5}}`, `{"id":1}`},
		{"products_create", `{"body":{"name":"Cake","price":3}}`, `{"id":2}`},
		{"products_list_all", `{"sortBy":"price","limit":1}`, `{"result":[{"name":"Cake","price":3,"tags":[]}]}`},
		{"products_read", `{"id":1}`, `{"name":"Tea","price":4.5,"tags":[]}`},
		{"products_read", `{"id":"1"}`, `{"name":"Tea","price":4.5,"tags":[]}`},
		{"products_update", `{"id":1,"body":{"name":"Tea","price":5}}`, `{}`},
		{"products_delete", `{"id":1}`, `{}`},
	} {
		result, text, structured := opened.call(test.name, test.arguments)
		assert.False(t, result.IsError, text)
		assert.JSONEq(t, test.want, structured, test.name)
	}
	for name, want := range map[string]string{
		"products_list_all": `{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":true}`,
		"products_update":   `{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":true}`,
		"products_delete":   `{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":true}`,
		"products_create":   `{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}`,
	} {
		assert.JSONEq(t, want, jsonOf(t, opened.tool(name).Annotations), name)
	}
}

// TestTools_Problems has calls that are refused, by whom and how.
func TestTools_Problems(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	require.NoError(t, paymentssvc.Serve(a.connect("payments.example")))
	a.serveProducts()
	opened := a.open(nil)
	for _, test := range []struct{ name, arguments, text, problem string }{
		{"payments_pay", `{"cents":0,"currency":"GBP","by":{"kind":"card","number":"1"}}`,
			"422 Unprocessable Entity: by.number (body): expects text that matches ^[0-9]{12,19}$; " +
				"cents (body): expects at least 1; currency (body): expects one of EUR, CHF",
			`"errors":[{"name":"by.number","in":"body","detail":"expects text that matches ^[0-9]{12,19}$"},` +
				`{"name":"cents","in":"body","detail":"expects at least 1"},`},
		{"payments_pay", `{"cents":900,"currency":"EUR","by":{"kind":"voucher","code":"TEA-2026","worth":1}}`,
			"402 Payment Required, declined: ", `"type":"declined"`},
		{"payments_pay", `[]`, "400 Bad Request: the arguments are not one JSON object", `"executed":"no"`},
		{"payments_pay", `{"cents":` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + "}", "400 Bad Request", ""},
		{"products_read", `{"id":7}`, "404 Not Found: no product", `"instance":"/products.example/products/7"`},
		{"products_read", `{}`, "422 Unprocessable Entity: id (path): is missing", `"executed":"no"`},
		{"products_read", `{"id":".."}`, `422 Unprocessable Entity: id (path): ".." cannot be in a path`, ""},
		{"products_read", `{"number":7}`, `400 Bad Request: there is no argument "number": there are id`, ""},
		{"products_list_all", `{"sort":"name"}`,
			`there is no argument "sort": there are limit, offset, sortBy; did you mean sortBy?`, ""},
		{"products_update", `{"id":"..","body":{}}`, `422 Unprocessable Entity: id (path): ".." cannot be in a path`,
			`"errors":[{"name":"id","in":"path","detail":`},
		{"payments_pay", `{"cent":1}`, `there is no argument "cent": there are by, cents, currency, note; did you mean cents?`, ""},
		{"products_watch", `{"stopAfter":0}`, "422 Unprocessable Entity: stopAfter: expects an integer from 1", ""},
	} {
		result, text, _ := opened.call(test.name, test.arguments)
		assert.True(t, result.IsError, test.name)
		assert.Nil(t, result.StructuredContent, "clients may hold it to the schema of results")
		require.Len(t, result.Content, 2)
		assert.Contains(t, text, test.text)
		assert.Contains(t, text, test.problem)
	}
	_, err := opened.CallTool(t.Context(), &sdk.CallToolParams{Name: "payments_pya"})
	failed, ok := errors.AsType[*jsonrpc.Error](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, int64(jsonrpc.CodeInvalidParams), failed.Code)
	assert.Contains(t, failed.Message, `there is no tool "payments_pya" for this caller; did you mean payments_pay?`)
}

// TestTools_Claims has callers with different claims, side by side.
func TestTools_Claims(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	require.NoError(t, payrollsvc.Serve(a.connect("payroll.example")))
	nobody, clerk, boss := a.open(nil), a.open(claims.Claims{"roles": []string{"hr"}, "level": 2}),
		a.open(claims.Claims{"roles": []string{"hr"}, "level": 3})
	assert.Equal(t, "payroll_headcount", nobody.names())
	assert.Equal(t, "payroll_headcount payroll_salary", clerk.names())
	assert.Equal(t, "payroll_headcount payroll_raise payroll_salary", boss.names())
	_, _, structured := boss.call("payroll_raise", `{"employee":"ada","percent":10}`)
	assert.JSONEq(t, `{"amount":5720}`, structured)
	_, _, structured = clerk.call("payroll_salary", `{"employee":"ada"}`)
	assert.JSONEq(t, `{"amount":5720}`, structured)
	_, err := clerk.CallTool(t.Context(), &sdk.CallToolParams{Name: "payroll_raise"})
	assert.ErrorContains(t, err, `there is no tool "payroll_raise" for this caller`)
	listed, err := boss.ListTools(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, "private", listed.CacheScope)
	assert.Zero(t, listed.TTLMs)
}

// counter streams.
type counter struct {
	begun chan struct{}
	ended chan error
}

func newCounter() *counter { return &counter{make(chan struct{}, 10), make(chan error, 10)} }

// Count counts to a number, or without an end to 0.
func (c *counter) Count(ctx context.Context, to int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := 1; to == 0 || i <= to; i++ {
			if !yield(i, nil) {
				c.ended <- ctx.Err()
				return
			}
		}
	}
}

// Wait streams one number, and waits until the caller has left.
func (c *counter) Wait(ctx context.Context) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		yield(1, nil)
		c.begun <- struct{}{}
		<-ctx.Done()
		c.ended <- ctx.Err()
	}
}

// Sleep waits until the caller has left.
func (c *counter) Sleep(ctx context.Context) error {
	c.begun <- struct{}{}
	<-ctx.Done()
	c.ended <- ctx.Err()
	return ctx.Err()
}

// Break fails with what no client may see.
func (*counter) Break() error { return errors.New("the password is 4711") }

// Fail streams one number, and fails.
func (*counter) Fail() iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		if yield(1, nil) {
			yield(0, bus.Errorf(http.StatusConflict, "no more"))
		}
	}
}

func TestTools_Streams(t *testing.T) {
	t.Parallel()
	a := newAgents(t, mcp.WithStreamLimit(5, 1000, testTimeout))
	service := newCounter()
	require.NoError(t, bus.Serve(a.connect("counter.example"), service))
	opened := a.open(nil)
	count := opened.tool("counter_count")
	assert.Contains(t, count.Description, "Streams its results, maybe without an end")
	assert.JSONEq(t, `{"type":"object","required":["to"],"properties":{"to":{"type":"integer","format":"int64"},
		"stopAfter":{"type":"integer","minimum":1,"description":"ends the stream after so many elements"}}}`,
		jsonOf(t, dropRequired(count.InputSchema)))
	for _, test := range []struct{ arguments, want string }{
		{`{"to":3}`, `{"elements":[1,2,3],"truncated":false}`},
		{`{"to":0}`, `{"elements":[1,2,3,4,5],"truncated":true}`},
		{`{"to":0,"stopAfter":2}`, `{"elements":[1,2],"truncated":true}`},
		{`{"to":0,"stopAfter":100}`, `{"elements":[1,2,3,4,5],"truncated":true}`},
	} {
		_, text, structured := opened.call("counter_count", test.arguments)
		assert.JSONEq(t, test.want, structured)
		assert.JSONEq(t, test.want, text)
	}
	params := &sdk.CallToolParams{Name: "counter_count", Arguments: map[string]any{"to": 3}}
	params.SetProgressToken("token")
	_, err := opened.CallTool(t.Context(), params)
	require.NoError(t, err)
	for i := 1; i <= 3; i++ {
		progress := <-opened.progress
		assert.Equal(t, fmt.Sprint(i), progress.Message)
		assert.InDelta(t, i, progress.Progress, 0)
	}
	result, text, _ := opened.call("counter_fail", `{}`)
	assert.True(t, result.IsError)
	assert.Contains(t, text, "409 Conflict: no more\n")
	assert.Contains(t, text, `"status":409`)
	assert.Contains(t, text, "\nIt came after 1 elements: [1]")
}

// dropRequired adds the member required if the schema has none, as a zero need not be said.
func dropRequired(s any) any {
	object, _ := s.(map[string]any)
	if object["required"] == nil {
		object["required"] = []string{"to"}
	}
	return object
}

// TestTools_StreamEnds holds that a stream without an end is cancelled when its time is over, or too much has come.
func TestTools_StreamEnds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit           mcp.Option
		name, arguments string
		want            string
	}{
		{mcp.WithStreamLimit(1000, 1000, time.Millisecond), "counter_wait", `{}`, `"truncated":true}`},
		{mcp.WithStreamLimit(1000, 4, testTimeout), "counter_count", `{"to":0}`, `{"elements":[1,2],"truncated":true}`},
	} {
		a := newAgents(t, test.limit)
		service := newCounter()
		require.NoError(t, bus.Serve(a.connect("counter.example"), service))
		_, _, structured := a.open(nil).call(test.name, test.arguments)
		assert.Contains(t, structured, test.want)
		assert.ErrorIs(t, <-service.ended, context.Canceled)
	}
}

// TestTools_Internal holds that a tool does not say what is inside of a service.
func TestTools_Internal(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	require.NoError(t, bus.Serve(a.connect("counter.example"), newCounter()))
	result, text, structured := a.open(nil).call("counter_break", `{}`)
	assert.True(t, result.IsError)
	assert.Contains(t, text, "500 Internal Server Error: the reason is in the log of the service, at msgId ")
	assert.NotContains(t, text+structured, "4711")
}

// TestTools_TimeBudget holds that a client may ask for less time.
func TestTools_TimeBudget(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	a.server = a.serve(nil, ingress.WithTimeBudget(time.Millisecond))
	service := newCounter()
	require.NoError(t, bus.Serve(a.connect("counter.example"), service))
	result, text, _ := a.open(nil).call("counter_sleep", `{}`)
	assert.True(t, result.IsError)
	assert.Contains(t, text, "504 Gateway Timeout")
}

// TestTools_Cancelled holds that a client that leaves ends the call.
func TestTools_Cancelled(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "2025-06-18"} {
		for _, name := range []string{"counter_sleep", "counter_wait"} {
			a := newAgents(t)
			service := newCounter()
			require.NoError(t, bus.Serve(a.connect("counter.example"), service))
			opened := a.open(nil, version)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-service.begun
				cancel()
			}()
			_, err := opened.CallTool(ctx, &sdk.CallToolParams{Name: name})
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, <-service.ended, context.Canceled)
		}
	}
}
