package portal_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/busline/busline/bus/claims"
)

func TestTokensAtTheDoor(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	door := openFor(t, i)
	door.keep("vault.example", i.Trust())
	keeper := i.in("keeper")
	token := strings.TrimPrefix(keeper, "Authorization: Bearer ")
	for _, test := range []struct {
		path    string
		headers []string
		status  int
		text    string
	}{
		{"gold", nil, 401, "a token is required; send it as Authorization: Bearer …"},
		{"gold", []string{keeper}, 200, `{"canaryGold":7}`},
		{"gold", []string{"authorization: bearer " + token}, 200, `{"canaryGold":7}`},
		{"gold", []string{"Authorization:BEARER   " + token}, 200, `{"canaryGold":7}`},
		{"gold", []string{i.in("cook")}, 403, "the claims of the token do not give access"},
		{"gold", []string{i.bearer(claims.Claims{"roles": "keeper"})}, 403, "do not give access"},
		{"gold", []string{"Authorization: Basic YTpi"}, 401, "a token is required"},
		{"gold", []string{"Bus-Actor: " + token, "bus_actor: " + token}, 401, "a token is required"},
		{"gold", []string{"Cookie: access_token=" + token, "Proxy-Authorization: Bearer " + token}, 401, "a token is required"},
		{"gold?access_token=" + token, nil, 401, "a token is required"},
		{"gold", []string{keeper, keeper}, 400, "there are 2 Authorization headers; send one"},
		{"gold", []string{keeper, "Authorization: Basic YTpi"}, 400, "there are 2 Authorization headers; send one"},
		{"stones", []string{keeper, keeper}, 400, "there are 2 Authorization headers; send one"},
		{"stones", nil, 200, `{"stones":3}`},
		{"stones", []string{"Authorization: Basic YTpi"}, 200, `{"stones":3}`},
		{"stones", []string{"Authorization: "}, 200, `{"stones":3}`},
		{"stones", []string{"Authorization: Bearer"}, 401, "Authorization: expected"},
		{"stones", []string{"Authorization: Bearer x"}, 401, "token: not a JWT"},
		{"stones", []string{keeper + " " + token}, 401, "Authorization: expected"},
		{"stones", []string{keeper + ", Bearer " + token}, 401, "Authorization: expected"},
		{"stones", []string{keeper + "x"}, 401, "token: "},
		{"stones", []string{i.bearer(claims.Claims{"exp": time.Now().Add(-time.Hour).Unix()})}, 401, "token: expired at "},
		{"stones", []string{i.bearer(claims.Claims{"exp": time.Now().Add(-20 * time.Second).Unix()})}, 200, `{"stones":3}`},
		{"stones", []string{newIssuer(t).in("keeper")}, 401, "token: "},
		{"stones", []string{i.in(strings.Repeat("x", 8<<10))}, 401, "token: longer than 8192 bytes"},
		{"who", nil, 200, `{"name":""}`},
		{"who", []string{keeper}, 200, `{"name":"ada"}`},
		{"who", []string{"X-Forwarded-User: eve", "X-Actor: eve", "Bus-From-Host: eve"}, 200, `{"name":""}`},
		{"openapi.json", []string{"Authorization: Bearer x"}, 401, "token: not a JWT"},
		{"nothing", []string{"Authorization: Bearer x"}, 401, "token: not a JWT"},
	} {
		got := door.get("/vault.example/"+test.path, test.headers...)
		if got.StatusCode != test.status || !strings.Contains(got.text, test.text) {
			t.Errorf("%s with %q: %d %s", test.path, test.headers, got.StatusCode, got.text)
		}
		if got.StatusCode != http.StatusOK && got.problem(t).Executed != "no" {
			t.Errorf("%s with %q: %s, want executed no", test.path, test.headers, got.text)
		}
		if challenge := got.Header.Get("WWW-Authenticate"); !isChallenge(challenge, test.status, test.text) {
			t.Errorf("%s with %q: WWW-Authenticate %q", test.path, test.headers, challenge)
		}
		if strings.Contains(got.text, token[len(token)-20:]) {
			t.Errorf("the token is told: %s", got.text)
		}
	}
}

// isChallenge tells whether a header says with which status, and why, a token was refused.
func isChallenge(header string, status int, detail string) bool {
	told, description, isTold := strings.Cut(header, ", error_description=")
	switch {
	case status == 401 && strings.HasPrefix(detail, "a token is required"):
		return header == "Bearer"
	case status == 401:
		return isTold && told == `Bearer error="invalid_token"` && strings.HasPrefix(description, `"`+detail)
	case status == 403:
		return isTold && told == `Bearer error="insufficient_scope"` && strings.Contains(description, detail)
	default:
		return header == ""
	}
}

// TestAuthorizationOnTheBus holds that a token travels as the call's actor alone, and another Authorization as it is.
func TestAuthorizationOnTheBus(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	door := openFor(t, i)
	conn := door.bus.Connect("echo.example", i.Trust())
	if err := conn.Handle("*", "/{rest+}", http.HandlerFunc(echo)); err != nil {
		t.Fatal(err)
	}
	for header, want := range map[string]string{
		i.in("keeper"): "", "Authorization: Basic YTpi": "Basic YTpi", "Authorization: Negotiate x": "Negotiate x",
		"Authorization: Bearers x": "Bearers x",
	} {
		got := door.get("/echo.example/x", header).echoed(t)
		if got.Header.Get("Authorization") != want || got.Header.Get("Bus-Actor") != "" {
			t.Errorf("%.40s arrives as %v", header, got.Header)
		}
	}
}

// TestToken_IsLookedAtFirst holds that nothing of a request with a bad token is read, and that HEAD is refused as GET is.
func TestToken_IsLookedAtFirst(t *testing.T) {
	t.Parallel()
	door := openFor(t, newIssuer(t))
	got := door.send("POST /vault.example/gold HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\nContent-Length: 1000000\r\n\r\n", http.MethodPost)
	if got.StatusCode != 401 {
		t.Errorf("status %d: %s", got.StatusCode, got.text)
	}
	got = door.send("HEAD /vault.example/gold HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer x\r\n\r\n", http.MethodHead)
	if got.StatusCode != 401 || got.text != "" {
		t.Errorf("HEAD: status %d: %s", got.StatusCode, got.text)
	}
}

// TestDoorWithoutKeys takes no token.
func TestDoorWithoutKeys(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	door := open(t)
	door.keep("vault.example", i.Trust())
	for header, status := range map[string]int{"X: y": 200, "Authorization: Basic YTpi": 200, i.in("keeper"): 401} {
		got := door.get("/vault.example/stones", header)
		if got.StatusCode != status {
			t.Errorf("%.40s: status %d: %s", header, got.StatusCode, got.text)
		}
	}
	if got := door.get("/-/healthy", i.in("keeper")); got.StatusCode != 200 {
		t.Errorf("what asks for nobody, and is on no bus, answers %d", got.StatusCode)
	}
}
