// Package operators is the rule of those that may operate events and see traces. It is one for the portal and for
// bus/trace.
package operators

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
)

// everyCaller is the rule that allows every caller, as is "".
const everyCaller = "*"

// Rule says which callers are operators. It does not change.
type Rule struct {
	option string
	open   bool         // every caller is
	rule   *claims.Rule // nil: no caller is, unless open
}

// FromEnvironment returns the rule in BUS_OPERATORS, nil for none.
func FromEnvironment() *string {
	rule := strings.TrimSpace(os.Getenv("BUS_OPERATORS"))
	if rule == "" {
		return nil
	}
	return &rule
}

// New returns the rule that an option sets, named as in "portal.WithOperators": an expression on claims, "" or * for
// every caller, nil for no caller.
func New(option string, rule *string) (*Rule, error) {
	compiled := &Rule{option: option}
	if rule == nil {
		return compiled, nil
	}
	if compiled.open = *rule == "" || *rule == everyCaller; compiled.open {
		return compiled, nil
	}
	var err error
	if compiled.rule, err = claims.Compile(*rule); err != nil {
		return nil, fmt.Errorf("%s or BUS_OPERATORS: %w", option, err)
	}
	return compiled, nil
}

// IsSet reports whether the rule allows any caller.
func (r *Rule) IsSet() bool { return r.open || r.rule != nil }

// Check returns an error unless the caller of the request that ctx serves is an operator. what is what only operators
// do, "operates events"; by names what does not let others do it, "the portal".
func (r *Rule) Check(ctx context.Context, by, what string) error {
	caller, verified := bus.ClaimsOf(ctx)
	switch {
	case r.open, r.rule != nil && verified && r.rule.Allows(caller):
		return nil
	case r.rule == nil:
		return bus.Errorf(http.StatusForbidden, "%s lets no caller %s: start it with %s, or set BUS_OPERATORS", by, what,
			r.option)
	case !verified:
		return bus.Errorf(http.StatusUnauthorized, "only operators may %s: send a token that satisfies %s, to %s with a key "+
			"set (BUS_JWKS)", what, r.option, by)
	default:
		return bus.Errorf(http.StatusForbidden, "the claims of the token do not satisfy %s: call with those of an operator",
			r.option)
	}
}
