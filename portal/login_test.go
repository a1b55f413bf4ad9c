package portal_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/portal"
)

func TestWithLogin(t *testing.T) {
	t.Parallel()
	entrance := open(t)
	entrance.register(portal.WithLogin("https://id.example/realms/shop", "page", "groups"))
	got := entrance.Get("/portal/login.json")
	assert.Equal(t, http.StatusOK, got.StatusCode)
	assert.JSONEq(t, `{"issuer":"https://id.example/realms/shop","clientId":"page","scopes":["openid","groups"]}`, got.Text)
	assert.Equal(t, "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'; "+
		"connect-src 'self' https://id.example", got.Header.Get("Content-Security-Policy"))
}

func TestWithLogin_None(t *testing.T) {
	t.Parallel()
	entrance := open(t)
	entrance.register()
	got := entrance.Get("/portal/login.json")
	assert.JSONEq(t, `{"issuer":"","clientId":"","scopes":[]}`, got.Text)
	assert.NotContains(t, got.Header.Get("Content-Security-Policy"), "connect-src")
}

func TestWithLogin_Environment(t *testing.T) {
	t.Setenv("BUS_LOGIN_ISSUER", "http://localhost:9000")
	t.Setenv("BUS_LOGIN_CLIENT_ID", "page")
	entrance := open(t)
	entrance.register()
	assert.JSONEq(t, `{"issuer":"http://localhost:9000","clientId":"page","scopes":["openid"]}`,
		entrance.Get("/portal/login.json").Text)
}

func TestWithLogin_Refused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ issuer, client, want string }{
		{"https://id.example", "", `the issuer "https://id.example" and the client ID ""`},
		{"", "page", `the issuer "" and the client ID "page": give it both, or neither`},
		{"http://id.example", "page", `the issuer of the login is "http://id.example": give it an https address`},
		{"id.example", "page", "give it an https address"},
		{"https://id.example?a=b", "page", "without a query"},
		{"https://ada:secret@id.example", "page", "give it an https address"},
		{"https://id.example;script-src *", "page", "give it an https address"},
	} {
		err := portal.Register(bustest.New(t).Connect("portal"), portal.WithLogin(test.issuer, test.client))
		require.ErrorContains(t, err, test.want)
	}
}
