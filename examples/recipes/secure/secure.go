// Package secure has what a service and an ingress close before they meet strangers. docs/recipes/secure.md is the
// checklist.
package secure

import (
	"net/http"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal/ingress"
)

// Accounts are what people have, by name.
type Accounts map[string]int

// Balance returns the balance of an account.
func (a Accounts) Balance(name string) (cents int, err error) {
	cents, found := a[name]
	if !found {
		return 0, bus.Errorf(http.StatusNotFound, "there is no account of that name")
	}
	return cents, nil
}

// Reset is for the program itself.
func (a Accounts) Reset() { clear(a) }

// Health returns the number of accounts.
func (a Accounts) Health() (accounts int) { return len(a) }

// Serve puts the accounts on the bus.
func Serve(conn *bus.Conn, accounts Accounts) error {
	return bus.Serve(conn, accounts,
		bus.RequireClaims(`"clerk" in roles`),      // for all methods, also those of tomorrow
		bus.Method("Health", bus.AllowAnonymous()), // an exception has to be said
		bus.ExcludeMethods("Reset"),                // Serve refuses to guess
		bus.PostOnly(),                             // no link, picture or prefetch calls anything
		bus.MaxBodyBytes(64<<10),                   // as much as a request may be
		bus.TimeBudget(2*time.Second),              // as long as it may take
	)
}

// Ingress lets outsiders in from one origin.
func Ingress(conn *bus.Conn) (*ingress.Handler, error) {
	return ingress.New(conn,
		ingress.WithOrigins("https://app.example"), // pages that may call
		ingress.WithTrustedProxies("10.0.0.0/8"),   // who may say where a request comes from
		ingress.WithBodyLimit(1<<20),
		ingress.WithTimeBudget(5*time.Second),
	)
}
