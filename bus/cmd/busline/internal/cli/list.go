package cli

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

func (s *session) newList() *cobra.Command {
	var watch bool
	every := 2 * time.Second
	c := &cobra.Command{
		Use:   "ls [host …]",
		Short: "Who is on the bus: services, instances, versions, ports",
		Long: `Asks every instance on the plane who it is, and lists the answers. A host may be a pattern, '*.example'. An instance
without ports serves nothing: it only calls, or subscribes to events. With --watch the list is repeated, and on a
terminal replaces the last one, as far as it fits.`,
		Example: examples("busline ls", "busline ls 'calc*'", "busline ls --watch", "busline ls --json | jq -r '.[].host'"),
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
	}
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
	if len(found) > 0 || s.settings.json {
		text, err := s.listing(found)
		if err == nil {
			err = s.print("%s", text)
		}
		if err != nil || len(found) > 0 {
			return err
		}
	}
	who, meant := "no instance is", ""
	if len(patterns) > 0 {
		who, meant = "no host matches "+strings.Join(patterns, " or "), didYouMean(patterns[0], hostsIn(all))
	}
	return &failure{status: absent, err: fmt.Errorf("%s on plane %s of %s%s", who, s.conn.Plane(), s.conn.NATS().ConnectedUrlRedacted(), meant)}
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

// listing formats instances as a table, or as JSON.
func (s *session) listing(found []instance) (string, error) {
	if s.settings.json {
		return string(jsonOf(found)) + "\n", nil
	}
	var plain bytes.Buffer
	table := tabwriter.NewWriter(&plain, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "HOST\tINSTANCE\tVERSION\tPORTS")
	for _, each := range found {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", each.Host, cleanLine(each.ID), orDash(cleanLine(each.Version)), orDash(joinPorts(each.Ports)))
	}
	if err := table.Flush(); err != nil {
		return "", err
	}
	heading, rest, _ := strings.Cut(plain.String(), "\n")
	return s.style().bold(heading) + "\n" + rest, nil
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
