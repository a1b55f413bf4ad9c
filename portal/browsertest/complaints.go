package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
)

// complaints collects errors of a page, and its requests to other hosts.
type complaints struct {
	host string
	also string // another host that may be asked, "" for none

	mu    sync.Mutex // protects found
	found []error
}

// listen handles an event of the browser.
func (c *complaints) listen(event any) {
	switch event := event.(type) {
	case *runtime.EventExceptionThrown:
		c.addf("exception: %s", said(event.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		switch event.Type {
		case runtime.ConsoleAPICalledTypeError, runtime.ConsoleAPICalledTypeWarning, runtime.ConsoleAPICalledTypeAssert:
			c.addf("console: %s", printed(event))
		default:
		}
	case *log.EventEntryAdded:
		// an error response is not an error of the page
		if event.Entry.Level == log.EntryLevelError && event.Entry.Source != log.EntrySourceNetwork {
			c.addf("log: %s", event.Entry.Text)
		}
	case *audits.EventIssueAdded:
		if event.Issue.Code == audits.InspectorIssueCodeContentSecurityPolicyIssue {
			c.addf("content security policy: %+v", event.Issue.Details.ContentSecurityPolicyIssueDetails)
		}
	case *network.EventRequestWillBeSent:
		to, err := url.Parse(event.Request.URL)
		if err != nil || to.Host != c.host && to.Host != c.also && to.Scheme != "data" && to.Scheme != "blob" {
			c.addf("request to another host: %.200s", event.Request.URL)
		}
	}
}

// said returns the text of an exception.
func said(details *runtime.ExceptionDetails) string {
	if details.Exception != nil {
		return details.Text + " " + details.Exception.Description
	}
	return details.Text
}

// printed returns what a page has written to its console.
func printed(event *runtime.EventConsoleAPICalled) string {
	var texts []string
	for _, argument := range event.Args {
		texts = append(texts, string(argument.Value)+argument.Description)
	}
	return strings.Join(texts, " ")
}

func (c *complaints) addf(format string, values ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found = append(c.found, fmt.Errorf(format, values...))
}

func (c *complaints) all() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.found...)
}
