package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/busline/busline/bus/cmd/busline/internal/output"

	"github.com/busline/busline/reflectapi/similar"
)

func (s *session) newList() *cobra.Command {
	var watch bool
	every := 2 * time.Second
	c := prints(&cobra.Command{
		Use:   "ls [host …]",
		Short: "Who is on the bus: services, instances, versions, ports",
		Long: `Asks every instance on the plane who it is, and lists the answers. A host may be a pattern, '*.example'.
An instance without ports serves nothing: it only calls, or subscribes to events. One that is not ready
has left its queues: see bus.WithReadiness. With --watch the list
is repeated, and on a terminal replaces the last one, as far as it fits.`,
		Example: examples("busline ls", "busline ls 'calc*'", "busline ls --watch", "busline ls --jq '.[].host'",
			"busline ls -o name"),
		RunE: func(c *cobra.Command, patterns []string) error {
			if err := checkPatterns(patterns); err != nil {
				return err
			}
			if every <= 0 {
				return misuse("--every %s: choose a time such as 2s", every)
			}
			if watch {
				return s.watch(c.Context(), patterns, every)
			}
			return s.list(c.Context(), patterns)
		},
		ValidArgsFunction: s.completing(s.completeHosts),
	}, output.Wide, output.Name)
	set := c.Flags()
	set.BoolVarP(&watch, "watch", "w", false, "repeat until interrupted")
	set.DurationVar(&every, "every", every, "`time` between two lists, with --watch")
	return c
}

// list prints the instances once.
func (s *session) list(ctx context.Context, patterns []string) error {
	all, err := s.discover(ctx, "all")
	if err != nil {
		return err
	}
	found := selected(all, patterns)
	if len(found) > 0 || s.settings.IsJSON() {
		if err := s.print("%s", s.listing(found)); err != nil || len(found) > 0 {
			return err
		}
	}
	who, meant := "no instance is", ""
	if len(patterns) > 0 {
		who, meant = "no host matches "+strings.Join(patterns, " or "), similar.DidYouMean(patterns[0], hostsIn(all))
	}
	return &failure{status: absent, err: fmt.Errorf("%s on plane %s of %s%s", who, s.conn.Plane(),
		s.conn.NATS().ConnectedUrlRedacted(), meant)}
}

// selected returns the instances whose host matches one of the patterns; all of them without patterns.
func selected(all []instance, patterns []string) []instance {
	if len(patterns) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(each instance) bool {
		return !matchesAny(patterns, each.Host)
	})
}

// listing formats instances as a table, as JSON or as names.
func (s *session) listing(found []instance) string {
	switch {
	case s.settings.IsJSON():
		return string(jsonOf(found)) + "\n"
	case s.settings.IsName():
		var names strings.Builder
		for i := range found {
			names.WriteString(cleanLine(found[i].name()) + "\n")
		}
		return names.String()
	}
	rows := table{{cells: []string{"HOST", "INSTANCE", "VERSION", "PORTS"}}}
	if s.settings.IsWide() {
		rows[0].cells = append(rows[0].cells, "READY", "DIGEST")
	}
	for _, each := range found {
		cells := []string{each.Host, cleanLine(each.ID), orDash(cleanLine(each.Version)), orDash(joinPorts(each.Ports))}
		if s.settings.IsWide() {
			cells = append(cells, yesOrNo(each.NotReady == ""), orDash(cleanLine(each.Digest)))
		}
		rows.add("", cells...)
	}
	return s.headed(rows) + notReady(found) + differences(found)
}

// notReady has a line for each instance that has left its queues.
func notReady(found []instance) string {
	var text strings.Builder
	for _, each := range found {
		if each.NotReady != "" {
			fmt.Fprintf(&text, "%s.%s is not ready: %s\n", cleanLine(each.ID), each.Host, cleanLine(each.NotReady))
		}
	}
	return text.String()
}

// differences has a line for each host whose instances have different documents.
func differences(found []instance) string {
	var text strings.Builder
	for _, host := range hostsOf(found) {
		byDigest := make(map[string][]string)
		for _, each := range found {
			if each.Host == host && each.Digest != "" {
				byDigest[each.Digest] = append(byDigest[each.Digest], cleanLine(each.ID))
			}
		}
		if len(byDigest) < 2 {
			continue
		}
		groups := slices.SortedFunc(maps.Values(byDigest), func(a, b []string) int { return strings.Compare(a[0], b[0]) })
		var parts []string
		for _, ids := range groups {
			parts = append(parts, enumerated(ids))
		}
		fmt.Fprintf(&text, "instances of %s have different documents: %s\n", host, strings.Join(parts, " | "))
	}
	return text.String()
}

func joinPorts(ports []int) string {
	texts := make([]string, len(ports))
	for i, port := range ports {
		texts[i] = strconv.Itoa(port)
	}
	return strings.Join(texts, " ")
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// watch prints the instances at regular intervals: on a terminal over the previous ones, otherwise if something has
// changed.
func (s *session) watch(ctx context.Context, patterns []string, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	screen := output.Redraws(s.StdoutTerminal, s.Getenv) && !s.settings.IsJSON() && !s.settings.IsName()
	if screen {
		if err := s.print("\x1b[2J"); err != nil { // clear the screen
			return err
		}
	}
	before := ""
	for {
		text, found, err := s.look(ctx, patterns)
		switch {
		case err != nil && (s.conn == nil || ctx.Err() != nil):
			return err
		case err != nil && !screen: // such as a broker that is away for a moment
			text = err.Error()
			if text != before {
				s.complain(err)
			}
			err = nil
		case screen:
			if err != nil {
				text = cleanLine(err.Error()) + "\n"
			}
			err = s.print("%s", inPlace(text, found, s.height()))
		case text != before:
			err = s.print("%s", text)
		}
		if err != nil {
			return err
		}
		before = text
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// look lists the running instances.
func (s *session) look(ctx context.Context, patterns []string) (text string, found int, err error) {
	instances, err := s.discover(ctx, "all")
	if err != nil {
		return "", 0, err
	}
	instances = selected(instances, patterns)
	return s.listing(instances), len(instances), nil
}

// inPlace overwrites a terminal of so many lines, 0 if that is unknown, line by line so that nothing flickers. Whatever
// does not fit is left out: it would push the list off the screen, again and again.
func inPlace(text string, instances, height int) string {
	const home, restOfLine, restOfScreen = "\x1b[H", "\x1b[K", "\x1b[J"
	const cutLines, wrapLines = "\x1b[?7l", "\x1b[?7h"
	const below = 3 // an empty line, the number of instances, and the line of the cursor
	count := plural(instances, "instance")
	lines := slices.Collect(strings.Lines(text))
	if fit := max(height-below, 1); height > 0 && len(lines) > fit {
		count += fmt.Sprintf(", the first %d shown: name hosts to see others", fit-1)
		text = strings.Join(lines[:fit], "")
	}
	text += "\n" + count + "; Ctrl-C ends\n"
	return home + cutLines + strings.ReplaceAll(text, "\n", restOfLine+"\n") + restOfScreen + wrapLines
}
