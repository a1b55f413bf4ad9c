package portal

import (
	"context"
	"fmt"
	"net/http"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
)

// eventOperators says which callers may operate events.
type eventOperators struct {
	open bool         // every caller may
	rule *claims.Rule // nil: no caller may, unless open
}

func newEventOperators(rule *string) (*eventOperators, error) {
	switch {
	case rule == nil:
		return &eventOperators{}, nil
	case *rule == "":
		return &eventOperators{open: true}, nil
	}
	compiled, err := claims.Compile(*rule)
	if err != nil {
		return nil, fmt.Errorf("portal.WithEventOperators or BUS_EVENT_OPERATORS: %w", err)
	}
	return &eventOperators{rule: compiled}, nil
}

// check returns an error unless the caller may operate events.
func (o *eventOperators) check(ctx context.Context) error {
	caller, verified := bus.ClaimsOf(ctx)
	switch {
	case o.open, o.rule != nil && verified && o.rule.Allows(caller):
		return nil
	case o.rule == nil:
		return bus.Errorf(http.StatusForbidden,
			"the portal lets no caller operate events: start it with portal.WithEventOperators, or set BUS_EVENT_OPERATORS")
	case !verified:
		return bus.Errorf(http.StatusUnauthorized, "events are operated with a token: "+
			"send one that satisfies portal.WithEventOperators, to a portal that has a key set (BUS_JWKS)")
	default:
		return bus.Errorf(http.StatusForbidden,
			"the claims of the token do not satisfy portal.WithEventOperators: call with those of an operator")
	}
}
