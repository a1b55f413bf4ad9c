package oidc_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/oauth2-proxy/mockoidc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/recipetest"
	"github.com/busline/busline/examples/recipes/oidc"
)

func TestPage(t *testing.T) {
	t.Parallel()
	provider := startProvider(t)
	verifier, err := oidc.Open(t.Context(), provider.Issuer(), provider.ClientID)
	require.NoError(t, err)
	t.Cleanup(verifier.Close)
	b, trust := bustest.New(t), bus.WithVerifier(verifier)
	require.NoError(t, oidc.Serve(b.Connect("salaries.example", trust), oidc.Salaries{"ada": 5200}))
	recipetest.Curl(t, b, "oidc", map[string]string{
		"TOKEN":   logIn(t, provider, "hr"),
		"VISITOR": logIn(t, provider, "guests"),
	}, trust)
}

// TestOpen_Audience refuses a token that the same provider made for another client.
func TestOpen_Audience(t *testing.T) {
	t.Parallel()
	provider := startProvider(t)
	verifier, err := oidc.Open(t.Context(), provider.Issuer(), "another client")
	require.NoError(t, err)
	t.Cleanup(verifier.Close)
	_, err = verifier.Verify(t.Context(), logIn(t, provider, "hr"))
	assert.ErrorContains(t, err, "aud")
}

func TestOpen_Errors(t *testing.T) {
	t.Parallel()
	provider := startProvider(t)
	_, err := oidc.Open(t.Context(), provider.Issuer()+"/", "shop")
	require.ErrorContains(t, err, "the issuer there is")
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	defer elsewhere.Close()
	_, err = oidc.Open(t.Context(), elsewhere.URL, "shop")
	assert.ErrorContains(t, err, "404 Not Found")
}

// startProvider starts an identity provider that is stopped when the test ends.
func startProvider(t *testing.T) *mockoidc.MockOIDC {
	t.Helper()
	provider, err := mockoidc.Run()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, provider.Shutdown()) })
	return provider
}

// logIn returns the token that a member of a group gets: by the authorization code flow, as a browser does it.
func logIn(t *testing.T, provider *mockoidc.MockOIDC, group string) string {
	t.Helper()
	provider.QueueUser(&mockoidc.MockUser{Subject: "ada", Groups: []string{group}})
	address := provider.AuthorizationEndpoint() + "?" + url.Values{
		"response_type": {"code"}, "client_id": {provider.ClientID}, "scope": {"openid groups"},
		"redirect_uri": {"http://localhost:8080/"}, "state": {"state"}, "nonce": {"nonce"},
	}.Encode()
	login, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	redirect, err := http.DefaultTransport.RoundTrip(login)
	require.NoError(t, err)
	defer redirect.Body.Close()
	back, err := redirect.Location()
	require.NoError(t, err)

	response, err := http.PostForm(provider.TokenEndpoint(), url.Values{
		"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")},
		"client_id": {provider.ClientID}, "client_secret": {provider.ClientSecret},
	})
	require.NoError(t, err)
	defer response.Body.Close()
	var tokens struct {
		ID string `json:"id_token"`
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&tokens))
	return tokens.ID
}
