package main

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
	"github.com/busline/busline/bus/trace"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/ingress"
)

// closeTimeout is how long a bus may take to close.
const closeTimeout = 20 * time.Second

// operators is the rule of those who see traces and operate events: stage.token is one of theirs.
const operators = `sub == "ada"`

// stage is a bus with an ingress and a portal, and at first nothing else.
type stage struct {
	ctx     context.Context // of the scenario
	broker  *broker.Broker
	key     *claimstest.Key // signs valid tokens
	connect []bus.ConnectOption
	record  []bus.ConnectOption // of what join connects
	baseURL string
	plane   string
	stop    func() error // the HTTP server
	// where users log in, nil for nowhere
	provider *provider
	closers  []func(context.Context) error
}

func newStage(ctx context.Context, one scenario) (s *stage, err error) {
	s = &stage{ctx: ctx, plane: rand.Text()}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	directory, err := os.MkdirTemp("", "browsertest-")
	if err != nil {
		return nil, err
	}
	s.atEnd(func(context.Context) error { return os.RemoveAll(directory) })
	var options []broker.Option
	if one.jetStream {
		options = append(options, broker.JetStream(directory))
	}
	if s.broker, err = broker.Start(options...); err != nil {
		return nil, err
	}
	s.atEnd(func(context.Context) error { s.broker.Close(); return nil })
	verifier, err := s.newVerifier(directory)
	if err != nil {
		return nil, err
	}
	s.connect = []bus.ConnectOption{bus.WithBroker(s.broker), bus.WithPlane(s.plane), bus.WithVerifier(verifier),
		bus.WithVersion("1"), bus.WithLogger(zerolog.Nop()), bus.WithoutShortCircuit()}
	if one.traced {
		s.record = []bus.ConnectOption{trace.Record(trace.Operators(operators))}
	}
	page, err := s.join("portal")
	if err != nil {
		return nil, err
	}
	registered := []portal.RegisterOption{portal.WithOperators(operators)}
	if one.login {
		s.startProvider()
		registered = append(registered, portal.WithLogin(s.provider.issuer(), clientID, "profile"))
	}
	if err := portal.Register(page, registered...); err != nil {
		return nil, err
	}
	door, err := s.join("ingress")
	if err != nil {
		return nil, err
	}
	handler, err := ingress.New(door, ingress.WithEvents("orders.example/*"),
		ingress.WithPath("/shop", "https://products.example"))
	if err != nil {
		return nil, err
	}
	return s, s.listen(handler)
}

// newVerifier makes a key in a directory, and a verifier of its tokens.
func (s *stage) newVerifier(directory string) (*claims.Verifier, error) {
	key, err := claimstest.NewKey()
	if err != nil {
		return nil, err
	}
	s.key = key
	keySet := filepath.Join(directory, "keys.json")
	if err := claimstest.WriteKeySet(keySet, key); err != nil {
		return nil, err
	}
	verifier, err := claims.Open(s.ctx, claims.Config{KeySet: keySet})
	if err != nil {
		return nil, err
	}
	s.atEnd(func(context.Context) error { verifier.Close(); return nil })
	return verifier, nil
}

// listen serves the ingress on a port of its own.
func (s *stage) listen(handler http.Handler) error {
	server, err := ingress.Listen(handler, ingress.WithAddress("127.0.0.1:0"), ingress.WithBaseURL(""))
	if err != nil {
		return err
	}
	s.baseURL = server.BaseURL()
	serving, cancel := context.WithCancel(s.ctx)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(serving) }()
	stopped := false
	s.stop = func() error {
		cancel()
		if stopped {
			return nil
		}
		stopped = true
		return <-ended
	}
	s.atEnd(func(context.Context) error { return s.stop() })
	return nil
}

// join connects a host until the end of the scenario.
func (s *stage) join(host string, more ...bus.ConnectOption) (*bus.Conn, error) {
	conn, err := bus.Connect(s.ctx, host, slices.Concat(s.connect, s.record, more)...)
	if err != nil {
		return nil, err
	}
	s.atEnd(conn.Close)
	return conn, nil
}

// publish serves a document that is not generated.
func (s *stage) publish(host string, document http.HandlerFunc) error {
	conn, err := s.join(host)
	if err != nil {
		return err
	}
	return conn.Handle(http.MethodGet, "/openapi.json", document, bus.Undocumented())
}

// token returns a token for ada with the given lifetime, and further claims.
func (s *stage) token(life time.Duration, more claims.Claims) (string, error) {
	payload := claims.Claims{"sub": "ada", "exp": time.Now().Add(life).Unix()}
	maps.Copy(payload, more)
	return s.key.Sign(payload)
}

// atEnd registers something to be closed at the end, before everything that was opened earlier.
func (s *stage) atEnd(closer func(context.Context) error) { s.closers = append(s.closers, closer) }

// close closes everything, and returns all errors.
func (s *stage) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var failed []error
	for _, closer := range slices.Backward(s.closers) {
		failed = append(failed, closer(ctx))
	}
	return errors.Join(failed...)
}
