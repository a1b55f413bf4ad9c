// Package oidc lets an identity provider say who may call. docs/recipes/oidc.md explains it. It is a module of its own,
// because its test has an identity provider that nothing else needs.
package oidc

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
)

// Open returns a verifier of the tokens that an issuer makes for an audience. It finds the key set of the issuer by
// OpenID Connect Discovery. Close the verifier after the connections that use it.
func Open(ctx context.Context, issuer, audience string) (*claims.Verifier, error) {
	address := strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("discover %s: %w", issuer, err)
	}
	defer response.Body.Close()
	var found struct {
		Issuer string
		JWKS   string `json:"jwks_uri"`
	}
	if err := json.NewDecoder(response.Body).Decode(&found); err != nil {
		return nil, fmt.Errorf("discover %s: read %s, %s: %w", issuer, address, response.Status, err)
	}
	if found.Issuer != issuer {
		return nil, fmt.Errorf("discover %s: the issuer there is %q; use that if you trust it", issuer, found.Issuer)
	}
	return claims.Open(ctx, claims.Config{KeySet: found.JWKS, Issuer: issuer, Audience: audience})
}

// Salaries are what people earn, by their names.
type Salaries map[string]int

// Salary returns what an employee earns.
func (s Salaries) Salary(employee string) (amount int) { return s[employee] }

// Serve puts salaries on the bus, for the group hr alone. It is live when Serve returns.
func Serve(conn *bus.Conn, salaries Salaries) error {
	return bus.Serve(conn, salaries, bus.RequireClaims(`"hr" in groups`))
}
