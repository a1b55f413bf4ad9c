package bus

import (
	"context"
	"net/http"
)

// limitRequest makes the [Interceptor] that refuses a request body that is too large for the endpoint. Other limits are
// held before: how many handlers run, how large a message is, and how long a handler takes, which its context tells.
func limitRequest(e *endpoint) Interceptor {
	return func(next CallFunc) CallFunc {
		return func(ctx context.Context, x *Exchange) error {
			if err := limitBody(x.Request.Body, e.bodyLimit); err != nil {
				return err
			}
			return next(ctx, x)
		}
	}
}

func limitBody(body []byte, limit int) error {
	if len(body) <= limit {
		return nil
	}
	return newError(http.StatusRequestEntityTooLarge, ExecutedNo, nil,
		"a body of %d bytes exceeds this endpoint's limit of %d", len(body), limit)
}
