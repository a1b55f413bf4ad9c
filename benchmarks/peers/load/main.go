// Load calls Busline and its peers in open loops, and prints how long calls take:
//
//	go run ./load
//	go run ./load -readme ../README.md -picture ../load.svg  # writes them there
//	go run ./load -rounds 1 -time 100ms                      # a quick look
//	go run ./load -only grpc                                 # some of the targets
//
// An open loop starts each call at a time that was drawn beforehand, whatever became of the earlier ones, and counts
// from that time: what waits behind a stall counts as late, which closed loops and most load programs leave out. The
// parts of a target run in processes of their own, one target after the other. README.md of the folder above explains
// the tables.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/busline/busline/benchmarks/peers/markdown"
	"github.com/busline/busline/benchmarks/peers/peer"
)

func main() { os.Exit(peer.Main(run)) }

func run(ctx context.Context, arguments []string, tables, progress io.Writer) error {
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	count := flags.Int("rounds", 3, "how many rounds")
	each := flags.Duration("time", 2*time.Second, "how long each rate lasts in a round")
	limit := flags.Int("limit", 20_000, "how many calls are in flight at most; those beyond it are not sent")
	only := flags.String("only", "", "a regular expression: which targets, such as 'grpc'")
	readme := flags.String("readme", "", "write the short tables into this file, between its marks, too")
	picture := flags.String("picture", "", "write the picture, an SVG, into this file")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *count < 1 || *each <= 0 || *limit < 1 {
		return errors.New("nothing is measured: -rounds, -time and -limit have to be above zero")
	}
	matching, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	targets := slices.DeleteFunc(peer.Open(), func(t peer.Target) bool { return !matching.MatchString(t.Name) })
	if len(targets) == 0 {
		return fmt.Errorf("no target has a name that matches %q", *only)
	}
	measured, err := measureAll(ctx, targets, settings{rounds: *count, each: *each, limit: *limit, progress: progress})
	if err != nil {
		return err
	}
	if *picture != "" {
		if err := os.WriteFile(*picture, []byte(draw(measured)), 0o644); err != nil { //nolint:gosec // for all to read
			return err
		}
	}
	fmt.Fprintln(tables, longTable(measured))
	machine := fmt.Sprintf("%s Rounds: %d, of %v.\n", markdown.Machine(time.Now()), *count, *each)
	return markdown.Publish(tables, *readme, "load", []string{machine, latencyTable(measured), overloadTable(measured)})
}
