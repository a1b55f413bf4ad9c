package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi/similar"
)

func (s *session) newTap() *cobra.Command {
	var options tapOptions
	c := &cobra.Command{
		Use:   "tap [host …]",
		Short: "Calls as they happen: who calls whom, and with what result",
		Long: `Asks every instance for the calls that it serves, and for its own calls without an answer, and prints
each call when it ends, until interrupted. Bodies, headers, queries and tokens are not shown. A host may
be a pattern, '*.example', and selects the calls from it and to it. A tap subscribes to nothing and
changes nothing for the callers, except that instances keep their latest calls while a client asks for
them.`,
		Example:     examples("busline tap", "busline tap calculator.example", "busline tap --failed --json | jq .traceId"),
		Annotations: annotated(Endless),
		RunE: func(c *cobra.Command, patterns []string) error {
			if err := checkPatterns(patterns); err != nil {
				return err
			}
			if options.count < 0 {
				return misuse("--count %d: choose a number of calls, or 0 for no limit", options.count)
			}
			options.patterns = patterns
			return s.tap(c.Context(), options)
		},
		ValidArgsFunction: s.completing(s.completeHosts),
	}
	set := c.Flags()
	set.BoolVar(&options.failed, "failed", false, "only calls with a status of 400 or above")
	set.IntVar(&options.count, "count", 0, "stop after this many calls; 0 for no limit")
	return c
}

// callRecord is a call as an instance reports it to a tap.
type callRecord struct {
	Ended   time.Time     `json:"ended"`
	From    string        `json:"from"`
	FromID  string        `json:"fromId"`
	To      string        `json:"to"`
	ToID    string        `json:"toId"` // empty when no instance took the call
	Port    int           `json:"port"`
	Method  string        `json:"method"`
	Path    string        `json:"path"`
	Status  int           `json:"status"`
	Took    time.Duration `json:"took"` // on the side that reports it
	MsgID   string        `json:"msgId"`
	TraceID string        `json:"traceId"`
	Depth   int           `json:"depth"` // 1 for a call that began a chain
}

// tapOptions say which calls are printed.
type tapOptions struct {
	patterns []string // of hosts
	failed   bool
	count    int // 0: all
}

// shows reports whether a call is to be printed.
func (o tapOptions) shows(call *callRecord) bool {
	if o.failed && call.Status < http.StatusBadRequest {
		return false
	}
	return len(o.patterns) == 0 || matchesAny(o.patterns, call.From) || matchesAny(o.patterns, call.To)
}

// newcomersEvery is the interval between searches for new instances.
const newcomersEvery = 3 * time.Second

// tap prints the calls of all instances, including those that come meanwhile.
func (s *session) tap(ctx context.Context, options tapOptions) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	taps := newTaps(s)
	defer taps.asking.Wait()
	defer stop()
	there, err := taps.look(ctx)
	if err != nil {
		return err
	}
	s.doubtPatterns(options.patterns, there)
	if s.StderrTerminal {
		s.notef("tapping %s; Ctrl-C ends", plural(len(taps.tapped), "instance"))
	}
	newcomers := time.NewTicker(newcomersEvery)
	defer newcomers.Stop()
	left := options.count
	for {
		select {
		case calls := <-taps.calls:
			for i := range calls {
				if calls[i].FromID == s.conn.ID() || !options.shows(&calls[i]) { // else a tap shows itself asking
					continue
				}
				if err := s.printCall(&calls[i]); err != nil {
					return err
				}
				if left--; left == 0 {
					return nil
				}
			}
		case one := <-taps.gone:
			taps.forget(ctx, one)
		case <-newcomers.C:
			if _, err := taps.look(ctx); err != nil && ctx.Err() == nil {
				s.complain(err) // such as a broker that is away for a moment
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// doubtPatterns warns if no host matches the patterns.
func (s *session) doubtPatterns(patterns []string, there []instance) {
	if len(patterns) > 0 && !slices.ContainsFunc(there,
		func(each instance) bool { return matchesAny(patterns, each.Host) }) {
		s.notef("no host is called %s yet; waiting for one%s",
			strings.Join(patterns, " or "), similar.DidYouMean(patterns[0], hostsOf(there)))
	}
}

// printCall prints a call on one line.
func (s *session) printCall(call *callRecord) error {
	if s.settings.json {
		return s.print("%s\n", jsonOf(call))
	}
	status := strconv.Itoa(call.Status)
	if call.Status >= http.StatusBadRequest {
		status = s.style().red(status)
	}
	to := call.To
	if call.Port != subject.PublicPort {
		to += fmt.Sprintf(":%d", call.Port)
	}
	const inMilliseconds = float64(time.Millisecond)
	return s.print("%s  %s → %s  %s %s  %s  %s\n", call.Ended.Local().Format("15:04:05.000"), cleanLine(call.From),
		cleanLine(to),
		cleanLine(call.Method), cleanLine(call.Path), status,
		s.style().dim(fmt.Sprintf("%.2f ms %s", float64(call.Took)/inMilliseconds, orDash(cleanLine(call.ToID)))))
}

// taps asks instances for their calls, each on its own goroutine.
type taps struct {
	session *session
	calls   chan []callRecord
	gone    chan departure    // instances that cannot be asked any more
	tapped  map[string]bool   // by ID and host
	said    map[string]string // why an instance could not be asked, by ID and host
	asking  sync.WaitGroup
}

// departure is an instance that cannot be asked any more, and why.
type departure struct {
	instance
	err error
}

func newTaps(s *session) *taps {
	return &taps{session: s, calls: make(chan []callRecord), gone: make(chan departure), tapped: make(map[string]bool),
		said: make(map[string]string)}
}

// look taps the running instances that are not tapped yet, and returns all that run.
func (t *taps) look(ctx context.Context) (there []instance, err error) {
	if there, err = t.session.discover(ctx, "all"); err != nil {
		return nil, err
	}
	for _, one := range there {
		if !t.tapped[one.name()] {
			t.tapped[one.name()] = true
			t.asking.Go(func() { t.ask(ctx, one) })
		}
	}
	return there, nil
}

// longestTapWait is how long an instance may wait for a call before it answers that there was none.
const longestTapWait = 5 * time.Second

// ask asks one instance repeatedly, until it has gone or ctx ends.
func (t *taps) ask(ctx context.Context, at instance) {
	address := fmt.Sprintf("GET https://%s:%d/tap", at.name(), subject.ControlPort)
	wait := min(longestTapWait, t.session.settings.timeout/2)
	after := int64(-1)
	for {
		var answer struct {
			Calls  []callRecord `json:"calls"`
			Next   int64        `json:"next"`
			Missed int64        `json:"missed"`
		}
		limited, cancel := t.session.limited(ctx)
		err := t.session.conn.Call(limited, address, bus.Args{"after": after, "wait": wait}, &answer)
		cancel()
		if err != nil {
			select {
			case t.gone <- departure{at, err}:
			case <-ctx.Done():
			}
			return
		}
		after = answer.Next
		if answer.Missed > 0 {
			t.session.notef("%s had %d more calls than it keeps; they are not shown", at.name(), answer.Missed)
		}
		if len(answer.Calls) == 0 {
			continue
		}
		select {
		case t.calls <- answer.Calls:
		case <-ctx.Done():
			return
		}
	}
}

// forget removes an instance that cannot be asked, so that it is asked again if it is still there, and says why, unless
// it has just left or this was said before.
func (t *taps) forget(ctx context.Context, one departure) {
	delete(t.tapped, one.name())
	if ctx.Err() != nil || errors.Is(one.err, bus.ErrNoResponder) || errors.Is(one.err, bus.ErrInstanceLost) ||
		errors.Is(one.err, bus.ErrDisconnected) {
		return
	}
	if why := cleanLine(one.err.Error()); t.said[one.name()] != why {
		t.said[one.name()] = why
		t.session.notef("%s: %s", one.name(), why)
	}
}
