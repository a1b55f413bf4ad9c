package main

import (
	"fmt"
	"strconv"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// A slow line: a phone far from the ingress.
const (
	slowLatency = 150                      // ms, of each request
	slowRate    = 1_600_000 / 8            // bytes per second
	mostFirst   = 8                        // requests before services are on the screen
	firstList   = `.services a.host`       // is there when services are on the screen
	paintMark   = "services-on-the-screen" // names the moment
)

// slowLine opens the page over a slow line with an empty cache, and counts what the page asks for before it shows
// services. The time to that is printed, not asserted: machines differ.
func slowLine(v *visit) error {
	return do(v.startExamples, v.opens(""), v.sees(".count", "5 services"), // the portal knows the services
		v.slows, v.measures("empty cache"), v.measures("reload"),
	)
}

// slows makes the tab's line slow, with an empty cache.
func (v *visit) slows() error {
	if _, err := chromedp.Call(v.tab.ctx, network.ClearBrowserCache, cdp.Empty{}); err != nil {
		return err
	}
	_, err := chromedp.Call(v.tab.ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{
			{Latency: slowLatency, DownloadThroughput: slowRate, UploadThroughput: slowRate},
		},
	})
	return err
}

// measures loads the page again, and reports after what time and how many requests it shows services.
func (v *visit) measures(what string) step {
	const marks = `new MutationObserver((_, observer) => {
		if (document.querySelector(%q)) {
			observer.disconnect();
			requestAnimationFrame(() => setTimeout(() => performance.mark(%q)));
		}
	}).observe(document, {childList: true, subtree: true});`
	const asked = `performance.getEntriesByType("resource").filter(({startTime}) => startTime < performance.getEntriesByName("` +
		paintMark + `")[0].startTime).length`
	return func() error {
		if err := v.onLoad(fmt.Sprintf(marks, firstList, paintMark)); err != nil {
			return err
		}
		err := do(v.reload, v.awaits("services on the screen", `performance.getEntriesByName("`+paintMark+`").length`))
		if err != nil {
			return err
		}
		after, err := v.text(`Math.round(performance.getEntriesByName("` + paintMark + `")[0].startTime)`)
		if err != nil {
			return err
		}
		count, err := v.text(asked)
		if err != nil {
			return err
		}
		fmt.Fprintf(v.figures, "     %s: services on the screen after %s ms and %s requests\n", what, after, count)
		if number, err := strconv.Atoi(count); err != nil || number > mostFirst {
			return fmt.Errorf("%s requests before services are on the screen, above %d: run go generate ./... in "+
				"portal/browsertest, which bundles the page", count, mostFirst)
		}
		return nil
	}
}
