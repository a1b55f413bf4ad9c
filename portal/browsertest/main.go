// Browsertest opens the portal's page in a headless Chromium and checks that it works: from what it shows and how it
// reacts to keys, to what it says when the broker is lost. Everything that it needs runs in its own process.
//
//	go run -C portal/browsertest .
//	go run -C portal/browsertest . -screenshots ../../docs/screenshots
//	go run -C portal/browsertest . -run multicast
//	go run -C portal/browsertest . -run "slow line" -measure
//
// It needs chromium in the PATH, or CHROMIUM to say where it is.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"
)

// scenario is a sequence of actions of a user.
type scenario struct {
	name string
	run  func(*visit) error

	jetStream bool // of the broker
	login     bool // of the portal
	traced    bool // what join connects remembers its calls
}

// scenarioTimeout is far more than any scenario takes.
const scenarioTimeout = 3 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "browsertest:", err)
		os.Exit(1)
	}
}

// browsers is how many scenarios run at once, each in a browser of its own: in a window, only one tab is visible. They
// mostly wait.
const browsers = 3

// run runs the scenarios that the arguments select, all of them even if one fails.
func run(ctx context.Context, arguments []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("browsertest", flag.ContinueOnError)
	screenshots := flags.String("screenshots", "", "directory to write screenshots to; none are made without it")
	measures := flags.Bool("measure", false, "print what scenarios measure")
	only := flags.String("run", "", "run the scenarios whose names have this in them")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	selected := slices.DeleteFunc(scenarios(), func(one scenario) bool { return !strings.Contains(one.name, *only) })
	if len(selected) == 0 {
		return fmt.Errorf("no scenario has %q in its name", *only)
	}
	figures := io.Discard
	if *measures {
		figures = stdout
	}
	next := make(chan scenario, len(selected))
	for _, one := range selected {
		next <- one
	}
	close(next)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // of the browsers, too
	opened := make([]*browser, min(browsers, len(selected)))
	for at := range opened {
		var err error
		if opened[at], err = openBrowser(ctx); err != nil {
			return err
		}
	}
	var (
		running sync.WaitGroup
		mu      sync.Mutex // protects stdout and failed
		failed  int
	)
	for _, each := range opened {
		running.Go(func() {
			defer each.close()
			for one := range next {
				err := attempt(ctx, each, one, *screenshots, figures)
				mu.Lock()
				if err != nil {
					failed++
					fmt.Fprintf(stdout, "FAIL %s: %v\n", one.name, err)
				} else {
					fmt.Fprintf(stdout, "ok   %s\n", one.name)
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	if failed > 0 {
		return fmt.Errorf("%d of %d scenarios failed", failed, len(selected))
	}
	return nil
}

// attempt runs one scenario in a tab and on a bus of its own.
func attempt(ctx context.Context, opened *browser, one scenario, screenshots string, figures io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, scenarioTimeout)
	defer cancel()
	with, err := newStage(ctx, one)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, with.close()) }()
	shown, err := opened.newTab(ctx, with.baseURL)
	if err != nil {
		return err
	}
	defer shown.close()
	if with.provider != nil {
		shown.complaints.also = with.provider.host
	}
	v := &visit{stage: with, tab: shown, screenshots: screenshots, figures: figures}
	if err := one.run(v); err != nil {
		return fmt.Errorf("%w\n%s", err, shown.describe())
	}
	return shown.complaints.all()
}
