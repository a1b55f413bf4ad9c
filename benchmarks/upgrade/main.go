// Upgrade runs versions of Busline together, old beside new, and writes a page about what works between them:
//
//	go run ./benchmarks/upgrade                  # builds each version first: many minutes
//	go run ./benchmarks/upgrade -programs /tmp/old # again, with the programs of old versions that are there
//
// Run it at the top of the repository. It takes the trees of old versions from the history of git. Each version is a
// service, a caller, a portal and a broker, in processes of their own, on one plane. An outcome that is neither success
// nor a clear refusal is an error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// version is a commit, and the files of node/testdata that take the place of those of node with the names before "=".
type version struct {
	commit, label, about string
	files                []string
}

// versions are those that run together, the oldest first. HEAD is the tree as it is.
func versions() []version {
	return []version{
		{"d84c9161", "22nov", "calls, messages in parts, multicast, events", []string{"api=first", "numbers=nonumbers"}},
		{"6d8ebaed", "26nov", "the last before streams", []string{"api=flat", "numbers=nonumbers"}},
		{"c4839d81", "27nov", "the first with streams", []string{"api=flat"}},
		{"6afe418b", "28nov", "the last whose messages in parts and streams were two things", []string{"api=flat"}},
		{"HEAD", "head", "the newest", nil},
	}
}

func main() {
	// the end by a signal leaves no tree behind
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	if stop(); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, arguments []string, stdout io.Writer) (err error) {
	flags := flag.NewFlagSet("upgrade", flag.ContinueOnError)
	page := flags.String("page", "", "write the page to this file, too")
	folder := flags.String("programs", "", "keep the programs of old versions in this folder, for the next time")
	only := flags.String("only", "", "labels of the versions, separated by commas; all by default")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *folder == "" {
		if *folder, err = os.MkdirTemp("", "busline-upgrade-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(*folder)) }()
	}
	var all []built
	for _, each := range versions() {
		if *only != "" && !strings.Contains(","+*only+",", ","+each.label+",") {
			continue
		}
		program, err := build(ctx, *folder, each)
		if err != nil {
			return fmt.Errorf("build %s: %w", each.commit, err)
		}
		all = append(all, program)
	}
	if len(all) == 0 {
		return fmt.Errorf("-only %s: there is no such version", *only)
	}
	var rounds []*round
	for _, broker := range []built{all[len(all)-1], all[0]} {
		measured, err := together(broker, all)
		if err != nil {
			return fmt.Errorf("with the broker of %s: %w", broker.label, err)
		}
		rounds = append(rounds, measured)
	}
	text := report(time.Now(), all, rounds)
	if _, err := io.WriteString(stdout, text); err != nil {
		return err
	}
	if *page != "" {
		if err := os.WriteFile(*page, []byte(text), 0o644); err != nil { //nolint:gosec // a page of the repository
			return err
		}
	}
	return errors.Join(rounds[0].wrong(), rounds[1].wrong())
}
