package bus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/proof"
	"github.com/busline/busline/bus/internal/testcaller"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// WithActor returns a context whose calls are made on behalf of the bearer of a token, instead of the actor of the
// chain; with "" they have no actor. The token is a bare JWT, without "Bearer"; with anything else each call fails with
// 401. The token travels with each call and with the calls made to serve it, and every service verifies it.
func WithActor(ctx context.Context, token string) context.Context {
	return callctx.WithActor(ctx, token)
}

// ActorOf returns the token that calls with ctx carry: the one set by [WithActor], else, in a handler, that of the
// request; "" for none. Nothing is known of it unless [ClaimsOf] has claims. The token is a secret of its bearer: do
// not log it.
func ActorOf(ctx context.Context) string { return callctx.Actor(ctx) }

// ClaimsOf returns the claims of the token of the request that ctx serves; false without a token, outside a handler,
// and on a connection without keys, which verifies none. [WithActor] does not change them. They are a copy, which the
// handler may change. In tests, outside a handler, Issuer.WithActor of bus/bustest sets the claims, so that a method
// can be called without a bus.
func ClaimsOf(ctx context.Context) (claims.Claims, bool) {
	said := claimsOf(ctx)
	return said.Clone(), said != nil
}

// claimsOf returns the claims without copying them, nil for none. In a handler only those of the request count.
func claimsOf(ctx context.Context) claims.Claims {
	if h := callctx.Of(ctx); h != nil {
		return h.Claims
	}
	return testcaller.ClaimsIn(ctx)
}

// tokens verifies the tokens of a connection's callers.
type tokens struct {
	verifier *claims.Verifier // nil accepts no token
	own      *claims.Verifier // the same if the connection has to close it; else nil
	warned   atomic.Bool      // that there is no verifier was logged
	asks     atomic.Bool      // an endpoint requires claims
	passed   atomic.Bool      // that tokens are passed on unverified was logged
}

// openVerifier returns the verifier configured by the environment; nil if none is configured, or if an option sets one.
// It needs no broker, so an invalid key set is reported even while the broker is out of reach.
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

// closeVerifier closes the connection's own verifier, after the last handler has returned.
func (c *Conn) closeVerifier() {
	c.tokens.own.Close()
}

// VerifyToken verifies a token, a bare JWT, like the services of this connection, with the key set of BUS_JWKS or
// [WithVerifier]. It returns a copy of the claims. Every error has status 401.
func (c *Conn) VerifyToken(ctx context.Context, token string) (claims.Claims, error) {
	verified, err := c.verify(ctx, token)
	return verified.Clone(), err
}

// verify returns the claims of a token, without copying them.
func (c *Conn) verify(ctx context.Context, token string) (claims.Claims, error) {
	verified, err := c.tokens.verifier.Verify(ctx, token)
	if err == nil {
		return verified, nil
	}
	c.warnOfMissingKeys("")
	detail := "the token cannot be verified"
	if known, ok := errors.AsType[*claims.Error](err); ok {
		detail = known.Error()
	}
	return nil, notRun(http.StatusUnauthorized, err, "%s", detail)
}

// checkClaims returns the [Interceptor] that rejects callers that may not call the endpoint.
func checkClaims(e *endpoint) Interceptor {
	return func(next CallFunc) CallFunc {
		return func(ctx context.Context, x *Exchange) error {
			h := &x.in.Handler
			if len(e.callers) > 0 {
				if err := x.in.conn.callers.check(h, h.Request, h.Called, e, x.began); err != nil {
					return err
				}
				h.Proven.Store(true)
			}
			if err := x.in.conn.authorize(h, e); err != nil {
				return err
			}
			x.in.Authorized()
			return next(ctx, x)
		}
	}
}

// authorize rejects a request whose token is invalid, whatever the endpoint requires, and one whose claims do not
// satisfy the endpoint. A connection that neither has keys nor requires claims passes tokens on unverified. The error
// does not reveal anything about the endpoint.
func (c *Conn) authorize(h *callctx.Handler, e *endpoint) (err error) {
	if h.Request.Actor == "" {
		return c.tokenMissing(h.Request, e)
	}
	h.Claims, err = c.identify(h, h.Request.Actor, e)
	return err
}

// tokenMissing rejects a request without a token for an endpoint that requires one.
func (c *Conn) tokenMissing(request *wire.Request, e *endpoint) error {
	if request.Actor != "" || e.allows(nil) {
		return nil
	}
	return notRun(http.StatusUnauthorized, nil, "a token is required; %s", howToSendToken(request))
}

// identify returns the claims of a token, none of one that is passed on unverified. It rejects a token that is invalid
// or does not give access to the endpoint.
func (c *Conn) identify(ctx context.Context, token string, e *endpoint) (claims.Claims, error) {
	if c.passesTokensOn() && e.rule == nil {
		return nil, nil //nolint:nilnil // without claims
	}
	verified, err := c.verify(ctx, token)
	if err == nil && !e.allows(verified) {
		err = notRun(http.StatusForbidden, errClaims, "%s", errClaims)
	}
	return verified, err
}

// passesTokensOn reports whether no endpoint requires claims and there are no keys: then each service that is called on
// behalf of the bearer verifies the token, and nothing here relies on it. It logs so once.
func (c *Conn) passesTokensOn() bool {
	if c.tokens.verifier != nil || c.tokens.asks.Load() {
		return false
	}
	if !c.tokens.passed.Swap(true) {
		c.log(c.logger.Info(), "this connection has no keys and requires no claims: it ignores the tokens of its callers, "+
			"and passes them on unverified; "+
			"to verify them set BUS_JWKS, or use bus.WithVerifier")
	}
	return true
}

// noteRequired notes that an endpoint requires claims, and warns if no caller can have any, or can be proven.
func (c *Conn) noteRequired(endpoints []*endpoint) {
	c.warnOfMissingServiceKeys(endpoints)
	if first := slices.IndexFunc(endpoints, func(e *endpoint) bool { return e.secured }); first >= 0 {
		c.tokens.asks.Store(true)
		c.warnOfMissingKeys(endpoints[first].Name)
	}
}

// callers is how a connection proves who it is, and verifies who calls.
type callers struct {
	prover   *proof.Prover   // nil proves nothing
	verifier *proof.Verifier // nil verifies nothing
	warned   atomic.Bool     // that there is no verifier was logged
}

// openCallers reads the service key and the key set of services. It needs no broker.
func (c *connectConfig) openCallers(ctx context.Context, host, id string) (*callers, error) {
	opened := new(callers)
	var err error
	if c.serviceKey != "" {
		if opened.prover, err = proof.NewProver(c.serviceKey, host, id, c.plane); err != nil {
			return nil, err
		}
	}
	if c.serviceKeySet != "" {
		logger := c.loggerOf(host, id).With().Str("variable", "BUS_SERVICE_JWKS").Logger()
		if opened.verifier, err = proof.Open(ctx, c.serviceKeySet, id, c.plane, logger); err != nil {
			return nil, fmt.Errorf("BUS_SERVICE_JWKS or bus.WithServiceKeySet: %w", err)
		}
	}
	return opened, nil
}

// close closes the verifier, after the last handler has returned.
func (c *callers) close() {
	if c.verifier != nil {
		c.verifier.Close()
	}
}

// prove sets the proof of a call, as actFor sets its actor. Requests of the framework on its own port have none.
func (c *callers) prove(call *clientCall, now time.Time) (err error) {
	call.CallerProof = ""
	if c.prover == nil || call.Address.Port == subject.ControlPort {
		return nil
	}
	if call.CallerProof, err = c.prover.For(call.Address.Host, call.Address.Port, now); err != nil {
		return notRun(http.StatusInternalServerError, err, "the service key cannot sign: %s", err)
	}
	return nil
}

// proves reports whether the caller of a request is proven. It verifies that once.
func (c *callers) proves(h *callctx.Handler) bool {
	if h.Request.CallerProof == "" || c.verifier == nil || h.Proven.Load() {
		return h.Proven.Load()
	}
	if c.verifier.Verify(h, h.Request, h.Called, h.Port, time.Now()) != nil {
		return false
	}
	h.Proven.Store(true)
	return true
}

// check rejects a request to a host for an endpoint that requires callers, unless it comes from one of them.
func (c *callers) check(ctx context.Context, request *wire.Request, called string, e *endpoint, now time.Time) error {
	if err := c.missing(request, e); err != nil || len(e.callers) == 0 {
		return err
	}
	if c.verifier == nil {
		return unproven(&proof.Error{Detail: "it cannot be verified, because the service has no key set"})
	}
	if err := c.verifier.Verify(ctx, request, called, e.Port, now); err != nil {
		return unproven(err)
	}
	if !subject.IsCaller(request.FromHost, e.callers) {
		return notRun(http.StatusForbidden, nil, "the service %s is not among those that may call here", request.FromHost)
	}
	return nil
}

func unproven(err error) error { return notRun(http.StatusUnauthorized, err, "%s", err) }

// missing rejects a request without a proof for an endpoint that requires callers.
func (c *callers) missing(request *wire.Request, e *endpoint) error {
	switch {
	case request.CallerProof != "" || len(e.callers) == 0:
		return nil
	case c.verifier == nil:
		return notRun(http.StatusForbidden, nil, "only some services may call here, and this service cannot verify which "+
			"one calls, as it has no key set: see BUS_SERVICE_JWKS")
	default:
		return notRun(http.StatusForbidden, nil, "only some services may call here, and the caller does not prove which one "+
			"it is: it needs a key, see BUS_SERVICE_KEY")
	}
}

// warnOfMissingServiceKeys warns once if one of the endpoints requires callers and none can be proven.
func (c *Conn) warnOfMissingServiceKeys(endpoints []*endpoint) {
	first := slices.IndexFunc(endpoints, func(e *endpoint) bool { return len(e.callers) > 0 })
	if first < 0 || c.callers.verifier != nil || c.callers.warned.Swap(true) {
		return
	}
	c.log(c.logger.Warn().Str("endpoint", endpoints[first].Name),
		"this connection has no key set of services, so every call of an endpoint that requires callers is refused; "+
			"set BUS_SERVICE_JWKS, or use bus.WithServiceKeySet")
}

// howToSendToken returns a hint on how to send a token: for a caller on the bus if the request has the field
// Authorization, which the ingress would have removed, else for a caller through the ingress.
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

// compileClaims compiles the rule of an endpoint that requires claims.
func (e *endpoint) compileClaims() (err error) {
	switch {
	case !e.secured:
		return nil
	case e.claims == "":
		return errors.New("bus.RequireClaims: the expression is empty; use bus.AllowAnonymous for an endpoint that needs " +
			"no token")
	}
	e.rule, err = claims.Compile(e.claims)
	return err
}

// warnOfMissingKeys warns once, when an endpoint requires claims or a token is to be verified, that every caller that
// has a token or needs one is rejected: without keys none can be verified. endpoint is the first that requires claims,
// "" for none.
func (c *Conn) warnOfMissingKeys(endpoint string) {
	if c.tokens.verifier != nil || c.tokens.warned.Swap(true) {
		return
	}
	line := c.logger.Warn()
	if endpoint != "" {
		line.Str("endpoint", endpoint)
	}
	c.log(line,
		"this connection has no keys, so every call that has a token or needs one is refused; set BUS_JWKS, "+
			"or use bus.WithVerifier")
}

// actFor sets the token of the actor of a request. Requests of the framework on its own port have no actor, except
// those that concern events and traces.
func actFor(ctx context.Context, request *clientCall) error {
	token := ActorOf(ctx)
	if token == "" || request.Address.Port == subject.ControlPort && !takesActor(request.Address.Path) {
		request.Actor = ""
		return nil
	}
	for i := range len(token) {
		if token[i] <= ' ' || '~' < token[i] { // the two transports would carry such a byte differently
			return notRun(http.StatusUnauthorized, nil,
				"the token of the call is not a JWT: byte %d is %#02x; pass bus.WithActor the bare token, without Bearer",
				i+1, token[i])
		}
	}
	request.Actor = token
	return nil
}

// errClaims is the cause of a rejection because of insufficient claims.
var errClaims = errors.New("the claims of the token do not give access")

// addChallenge adds the header field that explains a rejection to HTTP clients (RFC 6750, 3). Without a token it only
// names the scheme, as no token was invalid. A 403 returned by a handler gets no challenge: it is not about the token.
func (e *Error) addChallenge(fields *wire.Header) {
	const name = "WWW-Authenticate"
	invalid, isInvalid := errors.AsType[*claims.Error](e.cause)
	unproven, isUnproven := errors.AsType[*proof.Error](e.cause)
	switch {
	case e.Status == http.StatusUnauthorized && isUnproven:
		fields.Add(name, challenge(wire.HeaderCallerProof, "invalid_token", unproven.Detail))
	case e.Status == http.StatusUnauthorized && isInvalid:
		fields.Add(name, challenge("Bearer", "invalid_token", invalid.Detail))
	case e.Status == http.StatusUnauthorized: // a challenge is required (RFC 9110, 15.5.2)
		fields.Add(name, "Bearer")
	case e.Status == http.StatusForbidden && errors.Is(e.cause, errClaims):
		fields.Add(name, challenge("Bearer", "insufficient_scope", errClaims.Error()))
	}
}

func challenge(scheme, code, description string) string {
	return scheme + ` error="` + code + `", error_description="` + strings.Map(describing, description) + `"`
}

// describing replaces a character that error_description may not contain.
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
