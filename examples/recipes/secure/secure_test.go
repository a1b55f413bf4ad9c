package secure_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/examples/internal/recipetest"
	"github.com/busline/busline/examples/recipes/secure"
)

func TestPage(t *testing.T) {
	t.Parallel()
	b, issuer := bustest.New(t), bustest.NewIssuer(t)
	require.NoError(t, secure.Serve(b.Connect("accounts.example", issuer.Trust()), secure.Accounts{"ada": 900}))
	ingress, err := secure.Ingress(b.Connect("ingress", issuer.Trust()))
	require.NoError(t, err)
	recipetest.CurlThrough(t, ingress, "secure",
		map[string]string{"TOKEN": issuer.Token(claims.Claims{"roles": []string{"clerk"}})})
}
