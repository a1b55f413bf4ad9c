package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/busline/busline/bus/calltap"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi/similar"
)

func (s *session) newTap() *cobra.Command {
	var options tapOptions
	c := prints(&cobra.Command{
		Use:   "tap [host …]",
		Short: "Calls as they happen: who calls whom, and with what result",
		Long: `Asks every instance for the calls that it serves, and for its own calls without an answer, and prints
each call when it ends, until interrupted, or until --timeout is over, if that is given: exit status 4.
Bodies, headers, queries and tokens are not shown. A host may be a pattern, '*.example', and selects the
calls from it and to it. A tap subscribes to nothing and changes nothing for the callers, except that
instances keep their latest calls while a client asks for them.`,
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
	})
	set := c.Flags()
	set.BoolVar(&options.failed, "failed", false, "only calls with a status of 400 or above")
	set.IntVar(&options.count, "count", 0, "stop after this many calls; 0 for no limit")
	return c
}

// tapOptions say which calls are printed.
type tapOptions struct {
	patterns []string // of hosts
	failed   bool
	count    int // 0: all
}

// shows reports whether a call is to be printed.
func (o tapOptions) shows(call *calltap.Call) bool {
	if o.failed && call.Status < http.StatusBadRequest {
		return false
	}
	return len(o.patterns) == 0 || matchesAny(o.patterns, call.From) || matchesAny(o.patterns, call.To)
}

// tap prints the calls of all instances, including those that come meanwhile.
func (s *session) tap(ctx context.Context, options tapOptions) error {
	conn, err := s.join(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := s.limitedIfGiven(ctx)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	left := options.count
	var printed error
	err = calltap.Follow(ctx, conn, &calltap.Follower{
		Timeout: s.settings.timeout,
		Note:    func(text string) { s.notef("%s", cleanLine(text)) },
		Discover: func(ctx context.Context) (all []calltap.Instance, err error) {
			there, err := s.discover(ctx, "all")
			for i := range there {
				all = append(all, calltap.Instance{Host: there[i].Host, ID: there[i].ID})
			}
			return all, err
		},
		Began: func(there []calltap.Instance) {
			s.doubtPatterns(options.patterns, there)
			if s.StderrTerminal {
				s.notef("tapping %s; Ctrl-C ends", plural(len(there), "instance"))
			}
		},
		Calls: func(calls []calltap.Call) {
			for i := range calls {
				if ctx.Err() != nil || !options.shows(&calls[i]) {
					continue
				}
				if printed = s.printCall(&calls[i]); printed != nil {
					stop(printed)
				} else if left--; left == 0 {
					stop(errPrinted)
				}
			}
		},
	})
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errPrinted):
		return nil
	case printed != nil:
		return printed
	default:
		return s.endedBy(ctx, err)
	}
}

// errPrinted ends a tap that has printed as many calls as are wanted.
var errPrinted = errors.New("all calls are printed")

// doubtPatterns warns if no host matches the patterns.
func (s *session) doubtPatterns(patterns []string, there []calltap.Instance) {
	hosts := make([]string, len(there))
	for i, each := range there {
		hosts[i] = each.Host
	}
	if len(patterns) > 0 && !slices.ContainsFunc(hosts, func(host string) bool { return matchesAny(patterns, host) }) {
		s.notef("no host is called %s yet; waiting for one%s",
			strings.Join(patterns, " or "), similar.DidYouMean(patterns[0], hosts))
	}
}

// printCall prints a call on one line.
func (s *session) printCall(call *calltap.Call) error {
	if s.settings.IsJSON() {
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
