package bus_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
)

// line returns the only line with a message, "" for none.
func (l *lines) line(t *testing.T, message string) map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var found map[string]any
	for line := range strings.Lines(l.text.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if fields["message"] == message {
			if found != nil {
				t.Errorf("%q is logged twice", message)
			}
			found = fields
		}
	}
	if found == nil {
		t.Fatalf("%q is not logged:\n%s", message, l.text.String())
	}
	return found
}

// TestLogLines holds what a line tells of a call on either side, and that it tells no secret.
func TestLogLines(t *testing.T) {
	t.Parallel()
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	overBoth(t, func(t *testing.T, w *world) {
		issuer := newIssuer(t)
		served, made := new(lines), new(lines)
		callee := w.connect(calculatorHost, bus.WithLogger(zerolog.New(served).Level(zerolog.DebugLevel)), issuer.trust())
		serve(t, callee, calculator{callee.ID()})
		caller := w.connect("caller.example", bus.WithLogger(zerolog.New(made).Level(zerolog.DebugLevel)))
		token := issuer.token(claims.Claims{"sub": "secret-subject"})
		request, err := http.NewRequestWithContext(bus.WithActor(t.Context(), token), http.MethodPost,
			calculatorURL+"/add?secret-query=1", strings.NewReader(`{"x":1,"secret-body":2}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Traceparent", parent)
		response, err := caller.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		for message, line := range map[string]map[string]any{"request served": served.line(t, "request served"), "call made": made.line(t, "call made")} {
			if line["msgId"] != response.Header.Get("Bus-Msg-Id") || line["traceId"] != parent[3:35] || line["status"] != 200.0 ||
				line["method"] != "POST" || line["path"] != "/add" || line["level"] != "debug" || line["duration"].(float64) < 0 {
				t.Errorf("%s: %v", message, line)
			}
		}
		if line := served.line(t, "request served"); line["caller"] != "caller.example" || line["callerId"] != caller.ID() || line["endpoint"] != "calculator.Add" {
			t.Errorf("served: %v", line)
		}
		if line := made.line(t, "call made"); line["callee"] != calculatorHost || line["port"] != 443.0 {
			t.Errorf("made: %v", line)
		}
		if err := caller.Call(t.Context(), calculatorURL+"/panic", nil, nil); bus.StatusOf(err) != 500 {
			t.Error(err)
		}
		if line := served.line(t, "handler panicked"); line["level"] != "error" || line["panic"] != "boom" || line["status"] != 500.0 || !strings.Contains(line["stack"].(string), "calculator") {
			t.Errorf("panicked: %v", line)
		}
		if err := caller.Call(t.Context(), calculatorURL+"/exit", nil, nil); bus.StatusOf(err) != 500 {
			t.Error(err)
		}
		if line := served.line(t, "request failed"); line["level"] != "error" || line["status"] != 500.0 || !strings.Contains(line["stack"].(string), "calculator.Exit") ||
			line["endpoint"] != "calculator.Exit" || line["callerId"] != caller.ID() || line["duration"] == nil || line["path"] != "/exit" {
			t.Errorf("exited: %v", line)
		}
		for name, log := range map[string]*lines{"served": served, "made": made} {
			log.mu.Lock()
			if text := log.text.String(); strings.Contains(text, "secret") || strings.Contains(text, token) {
				t.Errorf("%s: a secret is logged:\n%s", name, text)
			}
			log.mu.Unlock()
		}
	})
}
