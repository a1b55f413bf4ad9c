package portal_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/busline/busline/portal"
)

func TestOrigins(t *testing.T) {
	t.Parallel()
	listed := open(t, portal.WithOrigins("https://app.example.com", "http://localhost:3000"))
	anyone := open(t, portal.WithOrigins("*"))
	nobody := open(t)
	for _, door := range []*door{listed, anyone, nobody} {
		door.serve("calculator.example", 443, echo)
	}
	tests := []struct {
		door    *door
		origin  string
		allowed string
	}{
		{listed, "https://app.example.com", "https://app.example.com"},
		{listed, "http://localhost:3000", "http://localhost:3000"},
		{listed, "https://app.example.com.evil.example", ""},
		{listed, "https://APP.example.com", ""},
		{listed, "https://app.example.com:444", ""},
		{listed, "http://app.example.com", ""},
		{listed, "null", ""},
		{anyone, "https://app.example.com", "*"},
		{nobody, "https://app.example.com", ""},
	}
	for _, test := range tests {
		got := test.door.get("/calculator.example/add", "Origin: "+test.origin)
		if allowed := got.Header.Get("Access-Control-Allow-Origin"); allowed != test.allowed || got.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d, allowed %q, want %q", test.origin, got.StatusCode, allowed, test.allowed)
		}
		if credentials := got.Header.Get("Access-Control-Allow-Credentials"); credentials != "" {
			t.Errorf("%s: credentials are allowed: %s", test.origin, credentials)
		}
		if vary := got.Header.Get("Vary"); test.door == listed && vary != "Origin" {
			t.Errorf("%s: Vary is %q", test.origin, vary)
		}
		got = preflight(test.door, test.origin)
		if allowed := got.Header.Get("Access-Control-Allow-Origin"); allowed != test.allowed {
			t.Errorf("%s: before the call: status %d, allowed %q, want %q", test.origin, got.StatusCode, allowed, test.allowed)
		}
		if strings.Contains(got.text, `"target"`) {
			t.Errorf("%s: the question before the call reached the service", test.origin)
		}
	}
	if told := preflight(nobody, "https://app.example.com").problem(t); told.Status != http.StatusForbidden ||
		told.Detail != "pages of other origins may not call; see portal.WithOrigins" {
		t.Errorf("%+v", told)
	}
}

// preflight makes the request that a browser makes before a call with JSON.
func preflight(door *door, origin string) answer {
	return door.send("OPTIONS /calculator.example/add HTTP/1.1\r\nHost: a\r\nConnection: close\r\nOrigin: "+origin+
		"\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type\r\n\r\n", "OPTIONS")
}
