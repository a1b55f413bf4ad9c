package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/cmd/busline/internal/contexts"
	"github.com/busline/busline/bus/cmd/busline/internal/output"
	"github.com/busline/busline/bus/trace"
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
	records  bool       // the connection remembers its calls
	conn     *bus.Conn  // nil until it is needed

	converter io.Closer // what Stdout is, nil for the output itself
}

func newSession(environment Environment) *session {
	return &session{Environment: environment, help: helpWriter{Writer: environment.Stdout}, command: "busline"}
}

// join returns the connection to the bus, made on first use.
func (s *session) join(ctx context.Context) (*bus.Conn, error) {
	if s.conn != nil {
		return s.conn, nil
	}
	if err := s.given().Apply(); err != nil {
		return nil, err
	}
	// The command serves nothing, and is no service: it needs no keys.
	options := append([]bus.ConnectOption{bus.WithServiceKey(""), bus.WithServiceKeySet("")}, s.Connect...)
	if s.records {
		// It must not refuse tokens then, as that of the question comes to it, too.
		options = append(options, trace.Record(trace.Operators(""), trace.Bytes(64<<10)))
	} else {
		options = append([]bus.ConnectOption{bus.WithVerifier(new(claims.Verifier))}, options...)
	}
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

// limitedIfGiven returns a context for a command without an end, which ends after --timeout if that is given.
func (s *session) limitedIfGiven(ctx context.Context) (context.Context, context.CancelFunc) {
	if !s.settings.timeoutGiven {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.settings.timeout)
}

// endedBy returns the error of a command, which says so if --timeout has ended its context.
func (s *session) endedBy(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return &failure{status: TimedOut, err: fmt.Errorf("ended after %s, as --timeout says", s.settings.timeout)}
	}
	return err
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

// given returns what the command line says about the bus.
func (s *session) given() *contexts.Given {
	return &contexts.Given{URL: s.settings.url, Plane: s.settings.plane, Token: s.settings.token,
		Context: s.settings.context, Getenv: s.Getenv, Setenv: s.Setenv}
}

// UseContext sets the variables of the process as the context of a command line says, for a subcommand that joins the
// bus itself.
func UseContext(c *cobra.Command, environment Environment) error {
	value := func(flag string) string { return c.Flag(flag).Value.String() }
	given := &contexts.Given{URL: value("url"), Plane: value("plane"), Token: value("token"), Context: value("context"),
		Getenv: environment.Getenv, Setenv: environment.Setenv}
	return given.Apply()
}

// openOutput puts what converts JSON before standard output, if the flags ask for it.
func (s *session) openOutput(ctx context.Context) {
	if !s.settings.Converts() {
		return
	}
	writer := s.settings.Writer(ctx, s.Stdout, s.StdoutTerminal)
	s.Stdout, s.converter = writer, writer
}

// closeOutput waits until all is printed.
func (s *session) closeOutput() error {
	if s.converter == nil {
		return nil
	}
	return s.converter.Close()
}

// show prints a result as the flags say: its value in JSON, its names, or a text.
func (s *session) show(value any, text func() string, names func() []string) error {
	switch {
	case s.settings.IsJSON():
		return s.print("%s\n", jsonOf(value))
	case s.settings.IsName():
		for _, name := range names() {
			if err := s.print("%s\n", output.CleanLine(name)); err != nil {
				return err
			}
		}
		return nil
	default:
		return s.print("%s", text())
	}
}

// jsonOf returns a value as JSON on one line. The value must be one that JSON can represent. Bytes that are not UTF-8
// become U+FFFD.
func jsonOf(ours any) []byte {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(ours); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(line.Bytes(), []byte("\n"))
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
