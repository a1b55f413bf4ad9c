// Peers measures a call over Busline beside calls over other things, and prints tables in Markdown:
//
//	go run . -rounds 9
//	go run . -rounds 9 -readme ../README.md  # writes them there
//	go run . -rounds 1 -time 10ms            # a quick look
//
// All peers run in this process, with their brokers and servers, or each part in a process of its own, one after the
// other. A round measures each of them; the order changes from round to round. A ratio is the median of the ratios of
// the rounds: a temporary disturbance of the machine affects both sides of it. README.md of the folder above explains
// the columns.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/busline/busline/benchmarks/peers/markdown"
	"github.com/busline/busline/benchmarks/peers/peer"
	"github.com/busline/busline/benchmarks/peers/rounds"
)

func main() { os.Exit(peer.Main(run)) }

func run(ctx context.Context, arguments []string, tables, progress io.Writer) error {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	count := flags.Int("rounds", 9, "how many rounds")
	each := flags.Duration("time", 300*time.Millisecond, "how long each peer is measured in a round, in each mode")
	only := flags.String("only", "", "a regular expression: which scenarios, such as 'Add'")
	readme := flags.String("readme", "", "write the tables into this file, between its marks, too")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	scenarios, err := rounds.Select(peer.Scenarios(), *only)
	if err != nil {
		return err
	}
	results, err := rounds.Run(ctx, scenarios, rounds.Settings{Rounds: *count, Time: *each, Progress: progress})
	if err != nil {
		return err
	}
	parts := []string{fmt.Sprintf("%s Rounds: %d, of %v.\n", markdown.Machine(time.Now()), *count, *each)}
	for _, result := range results {
		parts = append(parts, result.Table())
	}
	return markdown.Publish(tables, *readme, "peers", parts)
}
