package bus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/internal/testcaller"
	"github.com/busline/busline/bus/wire"
)

// WithActor returns a context whose calls are made on behalf of the bearer of a token, instead of the actor of the
// chain; with "" they have no actor. The token is a bare JWT, without "Bearer"; anything else makes
// each call fail with 401. It travels with each call and with those made to serve it, and every service verifies it.
func WithActor(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor{token})
}

type actorKey struct{}

// actor is a struct so that the token is not seen where a context is printed.
type actor struct{ token string }

// ActorOf returns the token that calls with ctx carry: the one that [WithActor] has set, else, in a handler, that of the
// request; "" for none. It is a secret of its bearer: do not log it.
func ActorOf(ctx context.Context) string {
	if set, ok := ctx.Value(actorKey{}).(actor); ok {
		return set.token
	}
	if s := handlerCtxOf(ctx); s != nil {
		return s.request.Actor
	}
	return ""
}

// ClaimsOf returns the claims of the token of the request that ctx serves; false without a token, and outside a
// handler. [WithActor] makes no difference to it. They are a copy, which the handler may change. So that a test can call a
// method without a bus, Issuer.ActAs of bus/bustest sets them, outside a handler alone.
func ClaimsOf(ctx context.Context) (claims.Claims, bool) {
	said := claimsOf(ctx)
	return said.Clone(), said != nil
}

// claimsOf returns the claims themselves, nil for none. In a handler only those of the request count.
func claimsOf(ctx context.Context) claims.Claims {
	if s := handlerCtxOf(ctx); s != nil {
		return s.claims
	}
	return testcaller.ClaimsIn(ctx)
}

// openVerifier makes the verifier that the environment asks for; nil if it asks for none, or an option gives one. It needs
// no broker, so what is wrong with the key set is told even if there is none.
func (c *connectConfig) openVerifier(ctx context.Context, host, id string) (*claims.Verifier, error) {
	if c.verifier != nil || c.claimsConfig.KeySet == "" {
		return nil, nil //nolint:nilnil // a nil verifier is one that accepts no token
	}
	keys := c.claimsConfig
	keys.Logger = c.loggerOf(host, id)
	own, err := claims.Open(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("BUS_JWKS: %w", err)
	}
	return own, nil
}

// closeVerifier is for when no handler is left that has to know its caller.
func (c *Conn) closeVerifier() {
	c.ownVerifier.Close()
}

// VerifyToken returns the claims of a token, a bare JWT, verified as the services of this connection do it: by the key
// set of BUS_JWKS or [WithVerifier]. They are a copy. Any error is a 401.
func (c *Conn) VerifyToken(ctx context.Context, token string) (claims.Claims, error) {
	verified, err := c.verify(ctx, token, "")
	return verified.Clone(), err
}

// verify returns the claims of a token, which are shared, for a caller of the endpoint of that name, "" for none.
func (c *Conn) verify(ctx context.Context, token, endpoint string) (claims.Claims, error) {
	verified, err := c.verifier.Verify(ctx, token)
	if err == nil {
		return verified, nil
	}
	c.warnOfMissingKeys(endpoint)
	detail := "the token cannot be verified"
	if known, ok := errors.AsType[*claims.Error](err); ok {
		detail = known.Error()
	}
	return nil, newError(http.StatusUnauthorized, ExecutedNo, err, "%s", detail)
}

// checkClaims makes the [Interceptor] that lets those through who may call the endpoint.
func checkClaims(e *endpoint) Interceptor {
	return func(next CallFunc) CallFunc {
		return func(ctx context.Context, x *Exchange) error {
			if err := x.in.serving.conn.authorize(&x.in.serving, e); err != nil {
				return err
			}
			return next(ctx, x)
		}
	}
}

// authorize refuses a request whose token is bad, whatever it asks for, and one that does not satisfy what its endpoint
// asks. It says nothing of the endpoint that the caller does not know.
func (c *Conn) authorize(s *handlerCtx, e *endpoint) (err error) {
	if s.request.Actor == "" {
		return c.tokenMissing(s.request, e)
	}
	s.claims, err = c.identify(s, s.request.Actor, e)
	return err
}

// tokenMissing refuses a request without a token for an endpoint that asks for one.
func (c *Conn) tokenMissing(request *wire.Request, e *endpoint) error {
	if request.Actor != "" || e.allows(nil) {
		return nil
	}
	c.warnOfMissingKeys(e.Name)
	return newError(http.StatusUnauthorized, ExecutedNo, nil, "a token is required; %s", howToSendToken(request))
}

// identify returns the claims of a token, and refuses one that is bad or does not give access to the endpoint.
func (c *Conn) identify(ctx context.Context, token string, e *endpoint) (claims.Claims, error) {
	verified, err := c.verify(ctx, token, e.Name)
	if err == nil && !e.allows(verified) {
		err = newError(http.StatusForbidden, ExecutedNo, errClaims, "%s", errClaims)
	}
	return verified, err
}

// howToSendToken tells a caller through the ingress, which takes the field away, or on the bus.
func howToSendToken(request *wire.Request) string {
	if _, present, _ := claims.Bearer(request.Header.Get("Authorization")); present {
		return "a call on the bus carries it with bus.WithActor, not as Authorization"
	}
	return "send it as Authorization: Bearer …"
}

// allows reports whether a caller with these claims may call the endpoint, and see it in documents.
func (e *endpoint) allows(verified claims.Claims) bool {
	return e.rule == nil || verified != nil && e.rule.Allows(verified)
}

// compileClaims makes the rule of an endpoint that asks for claims.
func (e *endpoint) compileClaims() (err error) {
	switch {
	case !e.secured:
		return nil
	case e.claims == "":
		return errors.New("bus.RequireClaims: the expression is empty; use bus.AllowAnonymous for an endpoint that needs no token")
	}
	e.rule, err = claims.Compile(e.claims)
	return err
}

// warnOfMissingKeys warns once, when a caller is refused, that this is so for all callers that have a token or need one: without
// keys no claim can be proved. The endpoint is that of the first one, "" for none.
func (c *Conn) warnOfMissingKeys(endpoint string) {
	if c.verifier != nil || c.warnedNoVerifier.Swap(true) {
		return
	}
	line := c.logger.Warn()
	if endpoint != "" {
		line.Str("endpoint", endpoint)
	}
	c.log(line,
		"this connection has no keys, so every call that has a token or needs one is refused; set BUS_JWKS, or use bus.WithVerifier")
}

// actFor gives a request the token of its actor. What the framework asks on its own port has no actor.
func actFor(ctx context.Context, request *clientCall) error {
	token := ActorOf(ctx)
	if token == "" || request.address.Port == controlPort {
		request.Actor = ""
		return nil
	}
	for i := range len(token) {
		if token[i] <= ' ' || '~' < token[i] { // which the two transports would not carry in the same way
			return newError(http.StatusUnauthorized, ExecutedNo, nil,
				"the token of the call is not a JWT: byte %d is %#02x; pass bus.WithActor the bare token, without Bearer", i+1, token[i])
		}
	}
	request.Actor = token
	return nil
}

// errClaims is the cause of a refusal of claims that are not those which an endpoint asks for.
var errClaims = errors.New("the claims of the token do not give access")

// addChallenge adds what HTTP clients read to tell why they are refused (RFC 6750, 3). Where no token was sent, it
// only says that one may be: there is nothing wrong with it. A 403 with which a handler answers is about something
// else than its token.
func (e *Error) addChallenge(fields *wire.Header) {
	const name = "WWW-Authenticate"
	invalid, isInvalid := errors.AsType[*claims.Error](e.cause)
	switch {
	case e.Status == http.StatusUnauthorized && isInvalid:
		fields.Add(name, challenge("invalid_token", invalid.Detail))
	case e.Status == http.StatusUnauthorized: // which must have one (RFC 9110, 15.5.2)
		fields.Add(name, "Bearer")
	case e.Status == http.StatusForbidden && errors.Is(e.cause, errClaims):
		fields.Add(name, challenge("insufficient_scope", errClaims.Error()))
	}
}

func challenge(code, description string) string {
	return `Bearer error="` + code + `", error_description="` + strings.Map(describing, description) + `"`
}

// describing returns a character that error_description may hold, in place of one that it may not.
func describing(c rune) rune {
	switch {
	case c == '"':
		return '\''
	case c == '\\', c < ' ', c > '~':
		return '?'
	default:
		return c
	}
}
