package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/chromedp/chromedp"
)

// browser is a headless Chromium.
type browser struct {
	ctx   context.Context // in chromedp a context stands for a browser
	close func()
}

// openBrowser starts Chromium. The error says what to do.
func openBrowser(ctx context.Context) (*browser, error) {
	path, err := exec.LookPath(cmp.Or(os.Getenv("CHROMIUM"), "chromium"))
	if err != nil {
		return nil, fmt.Errorf("%w; install Chromium (Debian: apt-get install chromium), or name its program: "+
			"CHROMIUM=/path/to/chrome", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.Flag("headless", "new"),
		chromedp.NoSandbox, // the pages are ours, and there is no sandbox for root
	)
	allocated, stop := chromedp.NewExecAllocator(ctx, options...)
	opened, cancel := chromedp.NewContext(allocated)
	if err := chromedp.Do(opened); err != nil {
		cancel()
		stop()
		return nil, fmt.Errorf("%s does not start: %w", path, err)
	}
	return &browser{ctx: opened, close: func() { cancel(); stop() }}, nil
}
