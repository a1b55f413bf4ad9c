package main_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nats-io/nats.go"
)

const (
	isJSON = "application/json"
	isForm = "application/x-www-form-urlencoded"
)

// TestShow makes the calls that the README and the documents show.
func TestShow(t *testing.T) {
	t.Parallel()
	show := start(t, "")
	for _, call := range []struct {
		method, path, contentType, body string
		status                          int
		answer                          string // a regular expression for all of it
	}{
		{"GET", "/messaging.example/home", "", "", 200, home(3)},
		{"GET", "/calculator.example/add?x=5&y=6", "", "", 200, `{"sum":11}`},
		{"POST", "/calculator.example:443/add", isForm, "x=5&y=6", 200, `{"sum":11}`},
		{"POST", "/calculator.example/add", isJSON + "; charset=utf-8", `{"x":5,"y":6}`, 200, `{"sum":11}`},
		{"POST", "/calculator.example/arithmetic", isForm, "x=5&op=*&y=6", 200, `{"result":30}`},
		{"POST", "/products.example/products", isJSON, `{"name":"Tea","price":4.5}`, 201, `{"id":1}`},
		{"GET", "/products.example/products/1", "", "", 200, `{"name":"Tea","price":4.5,"tags":\[\]}`},
		{"GET", "/products.example/products?sortBy=price&limit=3&offset=0", "", "", 200,
			`\[{"name":"Tea","price":4.5,"tags":\[\]}\]`},
		{"POST", "/calculator.example/add", isJSON, `{"x":"five"}`, 400, `.*"errors":\[{"name":"x","in":"body".*`},
		{"GET", "/nobody.example/x", "", "", 503, `.*"no instance serves nobody.example.*`},
		{"GET", "/payments.example/receipts", "", "", 200, `{"receipts":\[\]}`},
		{"POST", "/payments.example/pay", isJSON, `{"cents":1,"currency":"EUR","by":{"kind":"cash"}}`, 400,
			`.*by.kind \(body\): expects one of card, transfer, voucher.*`},
		{"GET", "/payroll.example/headcount", "", "", 200, `{"count":2}`},
		{"GET", "/payroll.example/salary?employee=ada", "", "", 401, `.*"a token is required; send it as.*`},
		{"GET", "/trouble.example/sleep?ms=100", "", "", 200, `{"slept":100}`},
		{"GET", "/trouble.example/panic", "", "", 500, `.*"the reason is in the log.*`},
		{"POST", "/trouble.example/echo", isJSON, `[1,{"a":null}]`, 200, `\[1,{"a":null}\]`},
		{"GET", "/messaging.example/cache-store?key=k&value=v", "", "", 200, `key: k\nvalue: v\nStored by \w{10}\n`},
		{"GET", "/messaging.example/cache-load?key=k", "", "", 200, `key: k\nfound: yes\nvalue: v\nLoaded by \w{10}\n`},
		{"GET", "/portal/openapi.json", "", "", 200, `{"openapi":"3.0.0",.*"/products.example:443/products/{id}".*}`},
		{"GET", "/orders.example/order?item=Tea&quantity=2", "", "", 200, `{"number":\d}`},
		{"GET", "/portal/events.json", "", "", 200,
			`.*"operator":true,"unavailable":"".*"service":"shipping.example".*"service":"stock.example".*`},
		{"GET", "/portal/", "", "", 200, `<!doctype html>.*`},
		{"GET", "/", "", "", 302, ``},
		{"GET", "/calculator.example/add" + strings.Repeat("x", 5000), "", "", 414, `.*`},
	} {
		status, answer := ask(t, call.method, show.baseURL+call.path, call.contentType, call.body)
		if status != call.status || !matches(answer, call.answer) {
			t.Errorf("%s %.100s %s\nanswered %d %s\nexpected %d %s", call.method, call.path, call.body, status, answer,
				call.status, call.answer)
		}
	}
}

// matches reports whether all of an answer is of a form. Upper and lower case do not matter.
func matches(answer, form string) bool {
	return regexp.MustCompile(`(?is)^` + form + `$`).MatchString(answer)
}

// home is what the messaging service shows when it has so many instances.
func home(instances int) string {
	return `Processed by: \w{10}

Unicast
GET https://messaging.example/default-queue
> DefaultQueue \w{10}

Direct addressing unicast
GET https://\w{10}.messaging.example/default-queue
> DefaultQueue \w{10}

Multicast
GET https://messaging.example/no-queue
` + strings.Repeat(`> NoQueue \w{10}
`, instances) + `
Direct addressing multicast
GET https://\w{10}.messaging.example/no-queue
> NoQueue \w{10}

.*refresh.*
`
}

// TestPrints opens every URL that the showcase prints, and holds what main.go says of it to what it prints.
func TestPrints(t *testing.T) {
	t.Parallel()
	show := start(t, "")
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	documented := oneBlank(string(source))
	usual := strings.NewReplacer("BUS_NATS_URL="+show.brokerURL+" ", "", show.brokerURL, nats.DefaultURL, show.baseURL,
		"http://127.0.0.1:8080")
	for _, line := range show.lines {
		if !strings.Contains(documented, oneBlank(usual.Replace(line))) {
			t.Errorf("main.go does not say that this is printed: %s", line)
		}
		url := strings.Fields(line)[0]
		if url == show.brokerURL {
			continue
		}
		want := http.StatusOK
		if url == show.baseURL+"/mcp" { // takes POST alone; see TestTools
			want = http.StatusMethodNotAllowed
		}
		if status, answer := ask(t, "GET", url, "", ""); status != want {
			t.Errorf("%s answers %d %s", url, status, answer)
		}
	}
	if len(show.lines) != 12 {
		t.Errorf("%d lines, want 12:\n%s", len(show.lines), strings.Join(show.lines, "\n"))
	}
}

// TestTools lists and calls the tools of the showcase as an agent does.
func TestTools(t *testing.T) {
	t.Parallel()
	show := start(t, "")
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: show.baseURL + "/mcp"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, each := range listed.Tools {
		names = append(names, each.Name)
	}
	if !slices.Contains(names, "payments_pay") || !slices.Contains(names, "payroll_headcount") ||
		slices.Contains(names, "payroll_raise") {
		t.Errorf("the tools are %q", names)
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "calculator_add",
		Arguments: map[string]int{"x": 5, "y": 6}})
	if err != nil {
		t.Fatal(err)
	}
	if sum, _ := result.StructuredContent.(map[string]any); sum["sum"] != 11.0 {
		t.Errorf("the result is %v", result.StructuredContent)
	}
}

// oneBlank leaves one blank where there are several.
func oneBlank(text string) string { return strings.Join(strings.Fields(text), " ") }

// ask makes a request and returns the answer; a redirection is one.
func ask(t *testing.T, method, url, contentType, body string) (status int, answer string) {
	t.Helper()
	status, answer, err := tryToAsk(t.Context(), method, url, contentType, body)
	if err != nil {
		t.Fatal(err)
	}
	return status, answer
}

// tryToAsk keeps no connection.
func tryToAsk(ctx context.Context, method, url, contentType, body string) (status int, answer string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.Close = true
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	return response.StatusCode, string(read), err
}

// TestShow_Events reads the events of the first visit, as docs/guides/events.md shows.
func TestShow_Events(t *testing.T) {
	t.Parallel()
	show := start(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		show.baseURL+"/orders.example:417/on-ordered?lastEventId=0", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	const want = "retry: 2000\n\nid: 1\ndata: {\"number\":1,"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(response.Body, got); err != nil || string(got) != want {
		t.Errorf("got %q, %v", got, err)
	}
	if err := show.stop(); err != nil {
		t.Error(err)
	}
}
