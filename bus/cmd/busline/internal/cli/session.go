package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
)

// ownHost is the host of this command on the bus. It is the same for all users, so that a broker can have one user for
// them, with permissions of its own; it serves nothing.
const ownHost = "busline-cli"

// Limits that --timeout does not raise.
const (
	longestConnect = 5 * time.Second
	longestClose   = time.Second
)

// session is one run of the command.
type session struct {
	Environment
	settings settings
	help     helpWriter // to Stdout
	command  string     // as it is typed, "busline call"
	conn     *bus.Conn  // nil until it is needed
}

func newSession(environment Environment) *session {
	return &session{Environment: environment, help: helpWriter{Writer: environment.Stdout}, command: "busline"}
}

// join returns the connection to the bus, made on first use.
func (s *session) join(ctx context.Context) (*bus.Conn, error) {
	if s.conn != nil {
		return s.conn, nil
	}
	// The command serves nothing, and so needs no keys.
	options := append([]bus.ConnectOption{bus.WithVerifier(new(claims.Verifier))}, s.Connect...)
	if s.Getenv("BUS_LOG_LEVEL") == "" { // users of the command need only its own messages
		options = append([]bus.ConnectOption{bus.WithLogger(zerolog.Nop())}, options...)
	}
	options = append(options, bus.WithConnectTimeout(s.settings.connectTimeout()))
	if s.settings.url != "" {
		options = append(options, bus.WithURL(s.settings.url))
	}
	if s.settings.plane != "" {
		options = append(options, bus.WithPlane(s.settings.plane))
	}
	conn, err := bus.Connect(ctx, ownHost, options...)
	if err != nil {
		return nil, &failure{status: unreachable, err: err}
	}
	s.conn = conn
	return conn, nil
}

// close leaves the bus.
func (s *session) close() error {
	if s.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), longestClose)
	defer cancel()
	_ = s.conn.Close(ctx) // nothing is running; without a broker there is no leave to announce
	return nil
}

// limited returns a context for calls, with the actor of the token, and the deadline of --timeout.
func (s *session) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx = bus.WithActor(ctx, s.token())
	return context.WithTimeout(ctx, s.settings.timeout)
}

// token returns the bare token for calls, "" if there is none.
func (s *session) token() string {
	token := s.settings.token
	if token == "" {
		token = s.Getenv("BUS_TOKEN")
	}
	token = strings.TrimSpace(token)
	// copied from a header
	if scheme, bare, found := strings.Cut(token, " "); found && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(bare)
	}
	return token
}

// height returns how many lines the terminal has, 0 if that is unknown.
func (s *session) height() int {
	if s.Height == nil {
		return 0
	}
	return s.Height()
}

// print writes to standard output. An error ends the command: a closed pipe, a full disk.
func (s *session) print(format string, values ...any) error {
	_, err := fmt.Fprintf(s.Stdout, format, values...)
	return err
}

// notef prints a remark, which is not part of the result, to standard error.
func (s *session) notef(format string, values ...any) {
	fmt.Fprintf(s.Stderr, "busline: "+format+"\n", values...)
}
