package bus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/busline/busline/bus/internal/feature"
)

// RunOption configures a program, in [Run]. Every [ConnectOption] is one.
type RunOption interface{ applyToRun(*runConfig) }

func (o ConnectOption) applyToRun(c *runConfig) { c.connect = append(c.connect, o) }

type runOption func(*runConfig)

func (o runOption) applyToRun(c *runConfig) { o(c) }

// runConfig holds what the options of Run set.
type runConfig struct {
	connect      []ConnectOption
	closeTimeout time.Duration
	probes       string // address; "" for none
}

const defaultCloseTimeout = 30 * time.Second

// WithCloseTimeout sets how long [Run] waits for handlers and their calls before it gives up on them. It should be
// longer than the longest call has, and shorter than the time that the scheduler gives. Run returns an error if timeout
// is not above zero. Default: 30 s.
func WithCloseTimeout(timeout time.Duration) RunOption {
	return runOption(func(c *runConfig) { c.closeTimeout = timeout })
}

// WithProbes serves HTTP for schedulers and Prometheus at an address, such as ":8081". GET /-/healthy answers 200 while
// the program runs, also before the broker is reached; GET /-/ready answers 200 when start has returned and the
// connection is [Conn.Healthy], else 503 and the reason; GET /metrics is [Conn.ServeMetrics]. An empty address stands
// for the default. Default: none.
func WithProbes(address string) RunOption {
	return runOption(func(c *runConfig) { c.probes = address })
}

func newRunConfig(options []RunOption) (*runConfig, error) {
	config := &runConfig{closeTimeout: defaultCloseTimeout}
	for i, option := range options {
		if connect, isConnect := option.(ConnectOption); option == nil || isConnect && connect == nil {
			return nil, feature.NoOption(i)
		}
		option.applyToRun(config)
	}
	if config.closeTimeout <= 0 {
		return nil, fmt.Errorf("close timeout %s is too short: set a time above zero with bus.WithCloseTimeout",
			config.closeTimeout)
	}
	return config, nil
}

// Run is the main of a service: it connects as host, calls start, waits for SIGINT, SIGTERM or the end of ctx, and
// closes the connection without losing a call, within 30 s (see [WithCloseTimeout]).
//
//	func main() {
//		err := bus.Run(context.Background(), "greeter.example", func(ctx context.Context, conn *bus.Conn) error {
//			return bus.Serve(conn, Greeter{})
//		})
//		if err != nil {
//			log.Fatal(err)
//		}
//	}
//
// Unlike [Connect], Run waits for the broker for as long as it takes, unless [WithConnectTimeout] is given; it logs
// what it waits for. What a retry cannot help, such as a refused login, is an error at once.
//
// start serves, and returns; Run logs then that the program is ready. start may also block until its ctx ends, as
// ingress.Server.Serve does: then WithProbes never reports it as ready. Its ctx ends with the first signal, before the
// connection is closed.
// The second signal ends the process at once. Programs with several hosts call Run in start: the inner connection is
// closed first.
//
// Run returns nil after a signal or the end of ctx, also while it waits for the broker. Else it returns the error of
// Connect, or the errors of start and Close, joined, and logs neither. It returns an error, too, if the application has
// closed the connection of [WithNATS], which never comes back.
func Run(ctx context.Context, host string, start func(ctx context.Context, conn *Conn) error,
	options ...RunOption) error {
	config, err := newRunConfig(options)
	if err == nil && start == nil {
		err = errors.New("start is nil: pass a function that calls bus.Serve")
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", host, err)
	}
	ctx, ignore := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer ignore()
	context.AfterFunc(ctx, ignore) // the next signal ends the process
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	p := &program{config: config, end: end}
	if err := p.openProbes(ctx); err != nil {
		return fmt.Errorf("run %s: %w", host, err)
	}
	defer p.closeProbes()
	conn, err := Connect(ctx, host, append([]ConnectOption{WithConnectTimeout(math.MaxInt64)}, config.connect...)...)
	switch {
	case err != nil && ctx.Err() != nil: // asked to stop
		return p.failure(ctx)
	case err != nil:
		return err
	}
	return p.run(ctx, conn, start)
}

// program is one Run.
type program struct {
	config *runConfig
	end    context.CancelCauseFunc // of the context of start
	conn   atomic.Pointer[Conn]    // nil until the broker is reached
	ready  atomic.Bool             // start has returned, and the program has not been asked to stop
	probes *http.Server            // nil without WithProbes
	served chan struct{}           // closed when probes has ended
}

// broken is why a program ends that was not asked to stop.
type broken struct{ error }

// failure returns why the context has ended, nil if the program was asked to stop.
func (*program) failure(ctx context.Context) error {
	if why, isBroken := errors.AsType[broken](context.Cause(ctx)); isBroken {
		return why.error
	}
	return nil
}

// run is the time between Connect and Close, and Close.
func (p *program) run(ctx context.Context, conn *Conn, start func(context.Context, *Conn) error) error {
	p.conn.Store(conn)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		select {
		case <-conn.broker.Lost():
			p.end(broken{fmt.Errorf("run %s: the broker connection given with bus.WithNATS is closed, and does not come back",
				conn.host)})
		case <-ctx.Done():
		}
	}()
	err := start(ctx, conn)
	if err != nil && ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		err = nil // asked to stop
	}
	if err == nil && ctx.Err() == nil {
		p.ready.Store(true)
		conn.log(conn.logger.Info(), "ready")
		<-ctx.Done()
		p.ready.Store(false)
	}
	if ctx.Err() != nil {
		conn.log(conn.logger.Info().Str("reason", context.Cause(ctx).Error()), "stopping")
	}
	p.end(nil)
	<-watching
	limit, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), p.config.closeTimeout,
		fmt.Errorf("%w: bus.WithCloseTimeout gives %s", context.DeadlineExceeded, p.config.closeTimeout))
	defer cancel()
	return errors.Join(err, p.failure(ctx), conn.Close(limit))
}

// probeTimeout is how long a client of the probes may take.
const probeTimeout = 10 * time.Second

// openProbes serves the probes, if there are any.
func (p *program) openProbes(ctx context.Context) error {
	if p.config.probes == "" {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", p.config.probes)
	if err != nil {
		return fmt.Errorf("bus.WithProbes: %w", err)
	}
	p.served = make(chan struct{})
	p.probes = &http.Server{
		Handler: p.probeHandler(), ReadTimeout: probeTimeout, WriteTimeout: probeTimeout, IdleTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), // of clients
	}
	go func() {
		defer close(p.served)
		if err := p.probes.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.end(broken{fmt.Errorf("bus.WithProbes: %w", err)})
		}
	}()
	return nil
}

func (p *program) closeProbes() {
	if p.probes != nil {
		_ = p.probes.Close() // cuts off probes
		<-p.served
	}
}

// probeHandler answers as the ingress does.
func (p *program) probeHandler() http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, text, unavailable string) {
		w.Header().Set("Cache-Control", "no-store")
		if unavailable != "" {
			http.Error(w, unavailable, http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, text+"\n") // fails only if the client has gone
	}
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) { answer(w, "healthy", "") })
	mux.HandleFunc("GET /-/ready", func(w http.ResponseWriter, _ *http.Request) { answer(w, p.readyText(), p.notReady()) })
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if conn := p.conn.Load(); conn != nil {
			conn.ServeMetrics(w, r)
			return
		}
		answer(w, "", p.notReady())
	})
	return mux
}

// readyText is what a program that is ready answers: also what operators should know.
func (p *program) readyText() string {
	lines := []string{"ready"}
	if conn := p.conn.Load(); conn != nil {
		lines = append(lines, conn.operatorNotes()...)
	}
	return strings.Join(lines, "\n")
}

// notReady returns why the program is not ready, "" if it is.
func (p *program) notReady() string {
	switch conn := p.conn.Load(); {
	case conn == nil:
		return "waiting for the broker"
	case conn.isClosing():
		return "stopping"
	case !p.ready.Load():
		return "starting, or stopping"
	case conn.Healthy():
		return ""
	case conn.Connected():
		return "messages were lost, or subscriptions were denied; see the log"
	default:
		return "the broker is out of reach"
	}
}
