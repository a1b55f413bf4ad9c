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
	"slices"
	"strings"
	"sync"
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
// the program runs, also before the broker is reached; GET /-/ready answers 200 when start has returned and
// [Conn.Health] is nil, else 503 and the reason; GET /metrics is [Conn.ServeMetrics]. An empty address stands for the
// default. Default: none.
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
// connection is closed. The second signal ends the process at once.
//
// A supervisor that sets NOTIFY_SOCKET, such as systemd for a service of Type=notify, is notified when the program is
// ready, and when it stops.
//
// Run returns nil after a signal or the end of ctx, also while it waits for the broker. Else it returns the error of
// Connect, or the errors of start and Close, joined, and logs neither. It returns an error, too, if the application has
// closed the connection of [WithNATS], which never comes back. [RunAll] is for programs with several hosts.
func Run(ctx context.Context, host string, start func(ctx context.Context, conn *Conn) error,
	options ...RunOption) error {
	return RunAll(ctx, []Service{{Host: host, Start: start}}, options...)
}

// Service is one service of a program, for [RunAll].
type Service struct {
	// Host is what the service connects as.
	Host string
	// Start serves, and returns.
	Start func(ctx context.Context, conn *Conn) error
	// Connect are options of this connection, after those of the program. Default: none.
	Connect []ConnectOption
}

// RunAll is [Run] for a program with several hosts, each with a connection of its own. It connects and starts one
// after another, closes them in the opposite order, and ends all when one fails. The program is ready when all are. A
// start that blocks until its ctx ends has to be the last one. The options apply to every connection, and the time of
// [WithCloseTimeout] is that of all together.
func RunAll(ctx context.Context, services []Service, options ...RunOption) error {
	config, err := newRunConfig(options)
	if err == nil {
		err = checkServices(services)
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", hostsOf(services), err)
	}
	ctx, ignore := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer ignore()
	context.AfterFunc(ctx, ignore) // the next signal ends the process
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	p := &program{config: config, end: end}
	if err := p.openProbes(ctx); err != nil {
		return fmt.Errorf("run %s: %w", hostsOf(services), err)
	}
	defer p.closeProbes()
	return p.run(ctx, services)
}

func checkServices(services []Service) error {
	if len(services) == 0 {
		return errors.New("there are no services: pass at least one")
	}
	for _, each := range services {
		if each.Start == nil {
			return fmt.Errorf("start of %s is nil: pass a function that calls bus.Serve", each.Host)
		}
	}
	return nil
}

// hostsOf returns the hosts of a program, for errors.
func hostsOf(services []Service) string {
	hosts := make([]string, len(services))
	for i, each := range services {
		hosts[i] = each.Host
	}
	return strings.Join(hosts, ", ")
}

// program is one RunAll.
type program struct {
	config   *runConfig
	end      context.CancelCauseFunc // of the context of start
	ready    atomic.Bool             // all have started, and the program has not been asked to stop
	probes   *http.Server            // nil without WithProbes
	served   chan struct{}           // closed when probes has ended
	watching sync.WaitGroup          // for connections that do not come back

	mu    sync.Mutex // protects conns
	conns []*Conn    // in the order of their start
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

// run starts the services, waits for the end, and closes them.
func (p *program) run(ctx context.Context, services []Service) error {
	var err error
	for i := 0; i < len(services) && err == nil && ctx.Err() == nil; i++ {
		err = p.start(ctx, services[i])
	}
	if err == nil && ctx.Err() == nil {
		p.ready.Store(true)
		p.log("ready", "")
		p.notify(ctx, "READY=1")
		<-ctx.Done()
		p.ready.Store(false)
	}
	if ctx.Err() != nil {
		p.notify(ctx, "STOPPING=1")
		p.log("stopping", context.Cause(ctx).Error())
	}
	p.end(nil)
	p.watching.Wait()
	limit, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), p.config.closeTimeout,
		fmt.Errorf("%w: bus.WithCloseTimeout gives %s", context.DeadlineExceeded, p.config.closeTimeout))
	defer cancel()
	errs := []error{err, p.failure(ctx)}
	for _, conn := range slices.Backward(p.connections()) {
		errs = append(errs, conn.Close(limit))
	}
	return errors.Join(errs...)
}

// start connects one service, and starts it.
func (p *program) start(ctx context.Context, service Service) error {
	conn, err := Connect(ctx, service.Host,
		slices.Concat([]ConnectOption{WithConnectTimeout(math.MaxInt64)}, p.config.connect, service.Connect)...)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil //nolint:nilerr // asked to stop
	case err != nil:
		return err
	}
	p.mu.Lock()
	p.conns = append(p.conns, conn)
	p.mu.Unlock()
	p.watching.Go(func() {
		select {
		case <-conn.broker.Lost():
			p.end(broken{fmt.Errorf("run %s: the broker connection given with bus.WithNATS is closed, and does not come back",
				conn.host)})
		case <-ctx.Done():
		}
	})
	err = service.Start(ctx, conn)
	if err != nil && ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return nil // asked to stop
	}
	return err
}

func (p *program) connections() []*Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.conns)
}

// log writes a line for each connection. An empty reason is omitted.
func (p *program) log(message, reason string) {
	for _, conn := range p.connections() {
		line := conn.logger.Info()
		if reason != "" {
			line.Str("reason", reason)
		}
		conn.log(line, message)
	}
}

// notify sends a state to the supervisor, if there is one (sd_notify(3)).
func (p *program) notify(ctx context.Context, state string) {
	address := os.Getenv("NOTIFY_SOCKET")
	if address == "" {
		return
	}
	socket, err := new(net.Dialer).DialContext(context.WithoutCancel(ctx), "unixgram", address)
	if err == nil {
		_, err = io.WriteString(socket, state)
		err = errors.Join(err, socket.Close())
	}
	if err != nil {
		p.log("the supervisor cannot be notified", err.Error())
	}
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
		if conns := p.connections(); len(conns) > 0 {
			MetricsHandler(conns...).ServeHTTP(w, r)
			return
		}
		answer(w, "", p.notReady())
	})
	return mux
}

// readyText is what a program that is ready answers: also what operators should know.
func (p *program) readyText() string {
	lines := []string{"ready"}
	for _, conn := range p.connections() {
		lines = append(lines, conn.operatorNotes()...)
	}
	return strings.Join(lines, "\n")
}

// notReady returns why the program is not ready, "" if it is.
func (p *program) notReady() string {
	conns := p.connections()
	switch {
	case len(conns) == 0:
		return "waiting for the broker"
	case slices.ContainsFunc(conns, (*Conn).isClosing):
		return "stopping"
	case !p.ready.Load():
		return "starting, or stopping"
	}
	for _, conn := range conns {
		if err := conn.Health(); err != nil {
			return err.Error()
		}
	}
	return ""
}
