package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/examples/payroll/payrollsvc"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/internal/portaltest"
	"github.com/busline/busline/portal/mcp"
)

// post posts a message of the protocol.
func (a *agents) post(body string, more ...string) (response *http.Response, text string) {
	a.t.Helper()
	request, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, a.server.URL+"/mcp",
		strings.NewReader(body))
	require.NoError(a.t, err)
	for _, line := range append([]string{"Content-Type: application/json",
		"Accept: application/json, text/event-stream"}, more...) {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
	}
	response, err = http.DefaultTransport.RoundTrip(request)
	require.NoError(a.t, err)
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	require.NoError(a.t, err)
	return response, string(read)
}

const listing = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// TestTools_Requests has requests that are not as the protocol wants them, or not from where they may come.
func TestTools_Requests(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	expired := "Authorization: Bearer " + a.issuer.Token(claims.Claims{"exp": time.Now().Add(-time.Hour).Unix()})
	calling := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":`
	for _, test := range []struct {
		name, body, header string
		status             int
		want               string
	}{
		{"list", listing, "A: b", 200, `"tools":[]`},
		{"no portal page's origin", listing, "Origin: https://evil.example", 403, "pages of https://evil.example may not call"},
		{"other site", listing, "Sec-Fetch-Site: cross-site", 403, "may not call"},
		{"expired token", listing, expired, 401, "expired"},
		{"no token", listing, "Authorization: Bearer x", 401, "not a JWT"},
		{"unknown version", listing, "Mcp-Protocol-Version: 2020-01-01", 400, "Unsupported protocol version"},
		{"batch of an old version", "[" + listing + "]", "A: b", 200, `"tools":[]`},
		{"batch", "[" + listing + "]", "Mcp-Protocol-Version: 2025-06-18", 400, "batching is not supported"},
		{"no JSON", "{", "A: b", 400, `"code":-32700`},
		{"JSON, and more", listing + " x", "A: b", 400, `"code":-32700`},
		{"two messages", listing + listing, "A: b", 400, `"code":-32700`},
		{"too deep", calling + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}}", "A: b", 400, "malformed payload"},
		{"too large", calling + `"` + strings.Repeat("a", 5<<20) + `"}}`, "A: b", 413, "exceeds"},
		{"no event streams", listing, "Accept: application/json", 400, "Accept must contain"},
	} {
		response, text := a.post(test.body, test.header)
		assert.Equal(t, test.status, response.StatusCode, test.name)
		assert.Contains(t, text, test.want, test.name)
		if test.status == 200 {
			assert.Equal(t, "private, no-store", response.Header.Get("Cache-Control"), test.name)
		}
	}
}

// TestTools_Announcements holds that no client waits for what never comes.
func TestTools_Announcements(t *testing.T) {
	t.Parallel()
	response, text := newAgents(t).post(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{
		"notifications":{"toolsListChanged":true},
		"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},
			"io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"}}}}`,
		"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen")
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.Contains(t, text, `"notifications":{}`)
	assert.Contains(t, text, `"resultType":"complete"`)
}

// TestTools_RequireToken has a client that learns where to get a token.
func TestTools_RequireToken(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	a.server = a.serve([]mcp.Option{mcp.RequireToken()}, ingress.WithAuthorizationServers("https://login.example"))
	const metadata = "/.well-known/oauth-protected-resource/mcp"
	for _, header := range []string{"A: b", "Authorization: Bearer x"} {
		response, _ := a.post(listing, header)
		assert.Equal(t, http.StatusUnauthorized, response.StatusCode)
		assert.Contains(t, response.Header.Get("WWW-Authenticate"), `resource_metadata="`+a.server.URL+metadata+`"`)
	}
	response, _ := a.post(listing, "Authorization: Bearer "+a.issuer.Token(nil))
	assert.Equal(t, http.StatusOK, response.StatusCode)
}

// TestTools_OtherTransports has hosts that know HTTP with event streams alone, those that listen to a session, and
// those that end one: there is none, and they are told.
func TestTools_OtherTransports(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	_, err := sdk.NewClient(&sdk.Implementation{Name: "old", Version: "1"}, nil).Connect(t.Context(),
		&sdk.SSEClientTransport{Endpoint: a.server.URL + "/mcp"}, nil)
	require.ErrorContains(t, err, "Method Not Allowed")
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut} {
		request, err := http.NewRequestWithContext(t.Context(), method, a.server.URL+"/mcp", nil)
		require.NoError(t, err)
		response, err := http.DefaultTransport.RoundTrip(request)
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, http.StatusMethodNotAllowed, response.StatusCode)
		assert.Equal(t, http.MethodPost, response.Header.Get("Allow"))
		assert.Contains(t, string(text), "the protocol comes with POST")
	}
	response, text := a.post(listing, "Mcp-Session-Id: unknown", "Mcp-Protocol-Version: 2025-06-18")
	assert.Equal(t, http.StatusOK, response.StatusCode, text)
}

// TestTools_ResultType holds that clients of the newest version see that a result is whole, and those of others what
// they know.
func TestTools_ResultType(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	require.NoError(t, payrollsvc.Serve(a.connect("payroll.example")))
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"payroll_headcount"%s}}`
	_, text := a.post(fmt.Sprintf(call, `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
		"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"}}`),
		"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: payroll_headcount")
	assert.Contains(t, text, `"resultType":"complete"`)
	_, text = a.post(fmt.Sprintf(call, ""), "Mcp-Protocol-Version: 2025-11-25")
	assert.NotContains(t, text, "resultType")
	assert.Contains(t, text, `{"count":2}`)
}

// TestTools_NoPortal says what is missing.
func TestTools_NoPortal(t *testing.T) {
	t.Parallel()
	a := &agents{t: t, issuer: bustest.NewIssuer(t), bus: bustest.New(t)}
	a.server = a.serve(nil)
	_, err := a.open(nil).ListTools(t.Context(), nil)
	assert.ErrorContains(t, err, "there is none on the bus: serve it with portal.Register, here or elsewhere")
	require.NoError(t, portal.Register(a.connect("portal")))
	assert.Empty(t, a.open(nil).names())
}

// TestTools_AnyInstance holds that a client may talk to another instance each time.
func TestTools_AnyInstance(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	require.NoError(t, payrollsvc.Serve(a.connect("payroll.example")))
	first := a.open(nil, "2025-06-18")
	assert.Empty(t, first.ID(), "there is no session")
	a.server = a.serve(nil)
	_, text := a.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"payroll_headcount"}}`)
	assert.Contains(t, text, `{"count":2}`)
}

func TestNew_Options(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect("ingress")
	_, err := mcp.New(nil)
	require.EqualError(t, err, "mcp: tools cannot call without a connection")
	for _, test := range []struct {
		option mcp.Option
		want   string
	}{
		{nil, "mcp: option 1 is nil: leave it out"},
		{mcp.WithFunctions(), `mcp.WithFunctions names no functions: name each, as in "payments.example/pay"`},
		{mcp.WithFunctions("payments.example"), `mcp.WithFunctions: "payments.example" names no functions: write`},
		{mcp.WithFunctions("pay ments/*"), "names no functions"},
		{mcp.WithEvents(), `mcp.WithEvents names no events: name each, as in "orders.example/on-ordered"`},
		{mcp.WithEvents("all/*"), `mcp.WithEvents: "all/*" names no events`},
		{mcp.WithListLimit(-1), "mcp.WithListLimit: -1 tools are too few: 0 always replaces the list"},
		{mcp.WithStreamLimit(0, 1, 1), "mcp.WithStreamLimit: 0 elements, 1 bytes and 1ns leave nothing of a stream"},
		{mcp.WithResultLimit(0), "mcp.WithResultLimit: 0 bytes leave nothing of a result"},
	} {
		_, err := mcp.New(conn, test.option)
		assert.ErrorContains(t, err, test.want)
	}
}

// TestTools_Chosen holds that only the functions that are named are tools.
func TestTools_Chosen(t *testing.T) {
	t.Parallel()
	a := newAgents(t, mcp.WithFunctions("payroll.example/headcount", "products.example/*"), mcp.WithResultLimit(20))
	require.NoError(t, payrollsvc.Serve(a.connect("payroll.example")))
	a.serveProducts()
	boss := a.open(claims.Claims{"roles": []string{"hr"}, "level": 3})
	assert.Equal(t, "payroll_headcount products_create products_delete products_list_all products_read products_update "+
		"products_watch", boss.names())
	for range 2 {
		_, _, structured := boss.call("products_create", `{"body":{"name":"Tea","price":4.5}}`)
		assert.Contains(t, structured, "id")
	}
	result, text, _ := boss.call("products_list_all", `{}`)
	assert.True(t, result.IsError)
	assert.Contains(t, text, "502 Bad Gateway: the function has run, and its result has more than 20 bytes: ask for less")
	assert.NotContains(t, text, `"executed":"no"`)
}

// foreign describes functions without Busline: so many of each host.
type foreign struct {
	hosts []string
	count int
}

// document returns the document of a host.
func (f foreign) document(t testing.TB, host string) string {
	t.Helper()
	paths := make(map[string]any)
	for i := range f.count {
		paths[fmt.Sprintf("/%s:443/do-%d", host, i)] = map[string]any{"post": map[string]any{
			"operationId": fmt.Sprintf("Do%d", i), "summary": fmt.Sprintf("Do%d(amount int) (sum int)", i),
			"description": fmt.Sprintf("Do%d adds an amount to the account number %d, and returns the sum of both.", i, i),
			"requestBody": map[string]any{"content": map[string]any{"application/json": map[string]any{"schema": map[string]any{
				"type": "object", "properties": map[string]any{"amount": map[string]any{"type": "integer"}}}}}},
			"responses": map[string]any{"200": map[string]any{"description": "OK", "content": map[string]any{
				"application/json": map[string]any{"schema": map[string]any{"type": "object"}}}}},
		}}
	}
	text, err := json.Marshal(map[string]any{"openapi": "3.0.0", "info": map[string]any{"title": host, "version": "1"},
		"paths": paths})
	require.NoError(t, err)
	return string(text)
}

func (a *agents) serveForeign(t *testing.T, f foreign) {
	t.Helper()
	for _, host := range f.hosts {
		portaltest.NewForeignInstance(t, a.bus, host).Tells("/openapi.json", f.document(t, host))
	}
}

// TestTools_Many holds that a caller of 1000 functions gets three tools that find, describe and call them.
func TestTools_Many(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	require.NoError(t, payrollsvc.Serve(a.connect("payroll.example")))
	a.serveForeign(t, foreign{hosts: []string{"a.example", "b.example", "c.example", "d.example"}, count: 250})
	boss := a.open(claims.Claims{"roles": []string{"hr"}, "level": 3})
	assert.Equal(t, "find describe call", boss.names())
	listed, err := boss.ListTools(t.Context(), nil)
	require.NoError(t, err)
	const perToken, tokens = 4, 2000 // bytes
	assert.Less(t, len(jsonOf(t, listed))/perToken, tokens)
	_, text, _ := boss.call("find", `{}`)
	assert.Equal(t, "a.example: 250\nb.example: 250\nc.example: 250\nd.example: 250\npayroll.example: 3", text)
	_, text, _ = boss.call("find", `{"query":"raise salary"}`)
	assert.True(t, strings.HasPrefix(text, "payroll_raise: "), text)
	assert.Contains(t, text, "\npayroll_salary: ")
	_, text, _ = boss.call("find", `{"host":"b.example"}`)
	assert.Contains(t, text, "b_do0: Do0 adds an amount to the account number 0, and returns the sum of both\n")
	assert.True(t, strings.HasSuffix(text, "\n230 more: ask with skip 20."), text)
	_, text, _ = boss.call("find", `{"host":"b.example","skip":240}`)
	assert.Equal(t, 9, strings.Count(text, "\n"))
	_, text, _ = boss.call("find", `{"query":"xylophone"}`)
	assert.Contains(t, text, "No tool has these words.")
	_, _, structured := boss.call("describe", `{"name":"payroll_raise"}`)
	assert.Contains(t, structured, `"percent":{"format":"int64","type":"integer"}`)
	_, _, structured = boss.call("call", `{"name":"payroll_raise","arguments":{"employee":"ada","percent":10}}`)
	assert.JSONEq(t, `{"amount":5720}`, structured)
	_, _, structured = boss.call("payroll_headcount", `{}`)
	assert.JSONEq(t, `{"count":2}`, structured)
	for name, arguments := range map[string]string{"find": `{"query":1}`, "describe": `{}`, "call": `{}`} {
		result, text, _ := boss.call(name, arguments)
		assert.True(t, result.IsError)
		assert.Contains(t, text, name+" takes ")
	}
	_, text, _ = boss.call("describe", `{"name":"payroll_rase"}`)
	assert.Contains(t, text, "did you mean payroll_raise?")
	_, err = boss.CallTool(t.Context(), &sdk.CallToolParams{Name: "call", Arguments: map[string]any{"name": "payroll_rase"}})
	assert.ErrorContains(t, err, "did you mean payroll_raise?")
}

// TestTools_Names holds that two hosts that would share a name both get more of theirs, and that longer names work.
func TestTools_Names(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	long := strings.Repeat("long", 15) + "er"
	a.serveForeign(t, foreign{hosts: []string{"shop.example", "other.example", "shop.test", "shop-a.example", "shop.a.example",
		long + ".example"}, count: 1})
	opened := a.open(nil)
	names := strings.Fields(opened.names())
	require.Len(t, names, 6)
	assert.Equal(t, []string{"other_do0", "shop-a_do0", "shop_a_do0", "shop_example_do0", "shop_test_do0"},
		append([]string{names[1]}, names[2:]...))
	assert.Regexp(t, "^(long){14}l_[a-z2-7]{6}$", names[0])
	_, err := opened.CallTool(t.Context(), &sdk.CallToolParams{Name: "shop_do0"})
	assert.ErrorContains(t, err, `"shop_do0" may be each of ["shop_a_do0" "shop_example_do0" "shop_test_do0"]: choose one`)
}
