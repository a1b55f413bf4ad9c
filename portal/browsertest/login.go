package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
)

// clientID is the page's at the provider.
const clientID = "busline-page"

// provider is a small OpenID provider: whoever comes is grace.
type provider struct {
	server *httptest.Server
	host   string
	key    *claimstest.Key

	mu    sync.Mutex // protects what follows
	codes map[string]url.Values
	forge func(claims.Claims) // changes the next ID token, nil for none
	deny  bool                // the next login
}

// startProvider starts a provider until the end of the scenario.
func (s *stage) startProvider() {
	p := &provider{key: s.key, codes: make(map[string]url.Values)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /realm/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		p.write(w, http.StatusOK, map[string]any{"issuer": p.issuer(), "authorization_endpoint": p.server.URL + "/authorize",
			"token_endpoint": p.server.URL + "/token", "end_session_endpoint": p.server.URL + "/end"})
	})
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.exchange)
	mux.HandleFunc("GET /end", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.FormValue("post_logout_redirect_uri")+"#/compare", http.StatusFound) //nolint:gosec // the page is the only client
	})
	p.server = httptest.NewServer(mux)
	p.host = strings.TrimPrefix(p.server.URL, "http://")
	s.provider = p
	s.atEnd(func(context.Context) error { p.server.Close(); return nil })
}

func (p *provider) issuer() string { return p.server.URL + "/realm" }

// authorize sends the browser back with a code, without a question.
func (p *provider) authorize(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = asked
	back := url.Values{"state": asked["state"], "code": {code}}
	if p.deny {
		back = url.Values{"state": asked["state"], "error": {"access_denied"}, "error_description": {"grace said no"}}
	}
	p.deny = false
	p.mu.Unlock()
	http.Redirect(w, r, asked.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound) //nolint:gosec // the page is the only client
}

// exchange returns an ID token for a code and its verifier, once.
func (p *provider) exchange(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked, found := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !found || asked.Get("code_challenge_method") != "S256" || asked.Get("client_id") != clientID ||
		r.PostFormValue("client_id") != clientID || asked.Get("scope") != "openid profile" ||
		asked.Get("redirect_uri") != r.PostFormValue("redirect_uri") ||
		asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
		p.write(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	payload := claims.Claims{"iss": p.issuer(), "aud": clientID, "sub": "grace", "nonce": asked.Get("nonce"),
		"exp": time.Now().Add(time.Hour).Unix(), "roles": []string{"hr"}, "level": 3}
	if p.forge != nil {
		p.forge(payload)
	}
	p.forge = nil
	token, err := p.key.Sign(payload)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	p.write(w, http.StatusOK, map[string]any{"id_token": token, "token_type": "Bearer"})
}

func (p *provider) write(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) //nolint:errchkjson // a map of texts; the page reports a body that is cut
}

// next prepares the next login.
func (p *provider) next(deny bool, forge func(claims.Claims)) step {
	return func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.deny, p.forge = deny, forge
		return nil
	}
}

// loggingIn logs in and out, and is refused what a login must not accept.
func loggingIn(v *visit) error {
	const logsIn = `dialog .buttons button:nth-child(1):not([type="submit"])`
	login := inTurn(v.clicks("#caller"), v.sees("dialog", "Log in"), v.named, v.legible, v.clicks(logsIn))
	fails := func(text string) step {
		return inTurn(login, v.sees("dialog .notice", text), v.sees("#caller", "nobody"),
			v.awaits("no code in the address", `location.search === ""`), v.clicks(`dialog .buttons:last-of-type .plain:last-child`))
	}
	wrong := func(name string, value any) step {
		return v.provider.next(false, func(payload claims.Claims) { payload[name] = value })
	}
	return do(v.startExamples, v.opens(addHash), v.sees(".operation", "Add"), login,
		v.sees("#caller", "grace, expires in"), v.sees(".operation", "Add"), v.at(addHash),
		v.awaits("no code in the address", `location.search === "" && !sessionStorage.getItem("login")`),
		v.opens("#/payroll.example:443/POST/salary"), v.sees(".operation .claims", "Requires a token"),
		v.reload, v.sees("#caller", "grace, expires in"),
		v.clicks("#caller"), v.clicks(`dialog .buttons .plain`), v.at("#/compare"), v.sees("#caller", "nobody"),
		v.provider.next(true, nil), fails("access_denied: grace said no"),
		wrong("nonce", "another"), fails("its nonce is not that of this login"),
		wrong("aud", "another"), fails("it is for another client"),
		wrong("iss", "https://evil.example"), fails("its issuer is another one"),
		wrong("exp", time.Now().Add(-time.Minute).Unix()), fails("it has expired"),
		func() error { return v.run(`location.search = "?code=stolen&state=guessed"`) },
		v.sees("dialog .notice", "The answer is to no login of this tab"), v.sees("#caller", "nobody"),
	)
}
