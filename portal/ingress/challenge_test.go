package ingress_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/internal/portaltest"
)

// tell says what a handler of the program got.
func tell(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	fmt.Fprintf(w, "%s %s actor %t bus %q token %q for %q body %s", r.Method, r.URL.Path, bus.ActorOf(r.Context()) != "",
		r.Header["Bus-From-Host"], r.Header["Authorization"], r.Header["X-Forwarded-Host"], body)
}

func TestIngress_Handler(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := portaltest.OpenFor(t, i, ingress.WithHandler("/own", http.HandlerFunc(tell)), ingress.WithBodyLimit(10),
		ingress.WithInFlightLimit(1<<20))
	entrance.Serve("own", 443, portaltest.Echo)
	post := func(body string, headers ...string) portaltest.Answer {
		return entrance.Send("POST /own HTTP/1.1\r\nHost: door.example\r\nConnection: close\r\n"+
			fmt.Sprintf("Content-Length: %d\r\n", len(body))+strings.Join(append(headers, ""), "\r\n")+"\r\n"+body, "POST")
	}
	assert.Equal(t, `POST /own actor false bus [] token [] for ["door.example"] body text`,
		post("text", "Bus-From-Host: forged", "X-Forwarded-Host: forged").Text)
	assert.Equal(t, `POST /own actor true bus [] token [] for ["door.example"] body `, post("", i.In("hr")).Text)
	assert.Equal(t, "/", entrance.Get("/own/").Echoed(t).Target, "a service keeps its other paths")
	for _, test := range []struct {
		answer portaltest.Answer
		status int
	}{
		{post("", "Authorization: Bearer forged"), http.StatusUnauthorized},
		{post("", "Origin: https://evil.example"), http.StatusForbidden},
		{post("", "Sec-Fetch-Site: cross-site"), http.StatusForbidden},
		{post("more than it may be"), http.StatusRequestEntityTooLarge},
	} {
		problem := test.answer.Problem(t)
		assert.Equal(t, test.status, problem.Status)
		assert.Equal(t, "no", problem.Executed)
	}
	assert.Zero(t, ingress.Held(entrance.Handler))
}

// TestIngress_HandlerStreams holds that each piece of a response goes out at once, and that Close ends the context.
func TestIngress_HandlerStreams(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, ingress.WithHandler("/own", http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		_, _ = io.WriteString(w, "begun")
		<-r.Context().Done()
		_, _ = io.WriteString(w, " ended")
	})))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, entrance.Server.URL+"/own", http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	defer response.Body.Close()
	begun := make([]byte, len("begun"))
	_, err = io.ReadFull(response.Body, begun)
	require.NoError(t, err)
	entrance.Handler.Close()
	rest, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, " ended", string(rest))
}

func TestIngress_AuthorizationServers(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := portaltest.OpenFor(t, i, ingress.WithHandler("/own", http.HandlerFunc(tell)),
		ingress.WithAuthorizationServers("https://login.example"), ingress.WithOwnTokens("library.example"))
	entrance.Keep("vault.example", i.Trust())
	entrance.Serve("library.example", 443, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	})
	const (
		forged   = "Authorization: Bearer forged"
		metadata = "/.well-known/oauth-protected-resource"
		at       = `resource_metadata="http://door.example` + metadata
	)
	for _, test := range []struct{ path, header, begins, ends string }{
		{"/own", forged, `Bearer error="invalid_token", `, `, ` + at + `/own"`},
		{"/vault.example/gold", forged, `Bearer error="invalid_token", `, `, ` + at + `"`},
		{"/vault.example/gold", "A: b", `Bearer ` + at, `"`},
		{"/library.example/books", "A: b", "Bearer", "Bearer"},
	} {
		answer := entrance.Get(test.path, test.header)
		challenge := answer.Header.Get("WWW-Authenticate")
		assert.Equal(t, http.StatusUnauthorized, answer.StatusCode, test.path)
		assert.True(t, strings.HasPrefix(challenge, test.begins), challenge)
		assert.True(t, strings.HasSuffix(challenge, test.ends), challenge)
	}
	for path, resource := range map[string]string{metadata: "", metadata + "/own": "/own"} {
		answer := entrance.Get(path)
		assert.JSONEq(t, `{"resource":"http://door.example`+resource+`","authorization_servers":["https://login.example"],`+
			`"bearer_methods_supported":["header"]}`, answer.Text)
		assert.Equal(t, "*", answer.Header.Get("Access-Control-Allow-Origin"))
	}
	assert.Contains(t, entrance.Get(metadata+"/other").Problem(t).Detail, `"/other" is not a resource of its own`)
	assert.Equal(t, http.StatusNotFound, portaltest.Open(t).Get(metadata).Problem(t).Status)
}
