// Ledger keeps what a call costs, from landing to landing: the CPU time of ten operations as a ratio to the cheapest
// other way to do the same, and what they allocate.
//
//	go run ./ledger                                  # measures, and prints a line of the ledger
//	go run ./ledger -append "what has changed"       # adds it to ../ledger.md
//	go run ./ledger -check                           # is an error if more is allocated than by the last line
//	go run ./ledger -beside first=…,last=… -for 10m  # measures beside other builds of this program
//
// The CPU time of builds is compared by turns, as what disturbs the machine then disturbs all of them. Allocations need
// no comparison: their count is the same on any machine with the same version of Go, but for a few percent.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/busline/busline/benchmarks/peers/peer"
)

func main() { os.Exit(peer.Main(run)) }

func run(ctx context.Context, arguments []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("ledger", flag.ContinueOnError)
	count := flags.Int("rounds", 3, "how many rounds")
	each := flags.Duration("time", 300*time.Millisecond, "how long each operation is measured in a round")
	file := flags.String("file", "../ledger.md", "the ledger")
	note := flags.String("append", "", "add a line to the ledger, with this note")
	check := flags.Bool("check", false, "fail if an operation allocates more than in the last line of the ledger")
	printJSON := flags.Bool("json", false, "print JSON, for a ledger that compares")
	beside := flags.String("beside", "", "other builds of this program, name=path, separated by commas")
	longest := flags.Duration("for", 10*time.Minute, "how long builds are compared at most")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *beside != "" {
		return compare(ctx, *beside, *each, *longest, out, progress)
	}
	measured, err := measure(ctx, *count, *each, progress)
	if err != nil {
		return err
	}
	switch {
	case *printJSON:
		return json.NewEncoder(out).Encode(measured)
	case *check:
		last, err := lastLine(*file)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, measured.line("now", "", ""))
		return errors.Join(measured.grownSince(last)...)
	case *note != "":
		return appendLine(ctx, *file, measured, *note)
	}
	_, err = fmt.Fprintln(out, measured.line(time.Now().Format(time.DateOnly), "", ""))
	return err
}
