package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The sizes of a desktop, a tablet and a phone, in CSS pixels. A desktop at 200 % has that of a tablet.
const (
	deskWidth, deskHeight     = 1280, 800
	tabletWidth, tabletHeight = 768, 1024
	phoneWidth, phoneHeight   = 390, 844
)

// waitTimeout is how long a page may take to do what is expected.
const waitTimeout = 30 * time.Second

// mostRedirects is how often the page may be another one while a condition is awaited.
const mostRedirects = 5

// tab is one page in the browser.
type tab struct {
	ctx        context.Context // in chromedp a context stands for a tab
	close      func()
	baseURL    string
	complaints *complaints
}

// newTab opens an empty page that shares nothing with others.
func (b *browser) newTab(ctx context.Context, baseURL string) (*tab, error) {
	base, err := url.Parse(baseURL)
	if err != nil {
		return nil, err
	}
	opened, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	stop := context.AfterFunc(ctx, cancel)
	t := &tab{ctx: opened, baseURL: baseURL, complaints: &complaints{host: base.Host}}
	t.close = func() { stop(); cancel() }
	err = errors.Join(chromedp.Listen(opened, t.complaints.listen),
		chromedp.Do(opened, chromedp.EmulateViewport(deskWidth, deskHeight)))
	if err == nil {
		_, err = chromedp.Call(opened, audits.Enable, cdp.Empty{})
	}
	if err != nil {
		t.close()
		return nil, err
	}
	return t, t.prefer("light")
}

// prefer sets the preferred colour scheme, and reduced motion.
func (t *tab) prefer(scheme string) error {
	_, err := chromedp.Call(t.ctx, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
	return err
}

// prints shows the page as on paper, to somebody who prefers dark screens.
func (t *tab) prints() error {
	_, err := chromedp.Call(t.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: "print", Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	})
	return err
}

// resize sets the size of the page.
func (t *tab) resize(width, height int64) error {
	return chromedp.Do(t.ctx, chromedp.EmulateViewport(width, height))
}

// open goes to a route of the portal's page, such as "#/compare", and waits until the page has handled the change:
// before, it shows what it did, which may have the same fields and buttons. A page that was loaded has handled nothing
// else.
func (t *tab) open(hash string) error {
	const hears = `globalThis.heard = location.href; addEventListener("hashchange", () => { heard = location.href; });`
	if err := t.run(hears); err != nil {
		return err
	}
	if err := chromedp.Do(t.ctx, chromedp.Navigate(t.baseURL+"/portal/"+hash)); err != nil {
		return err
	}
	return t.until("the page has heard of "+hash, `!globalThis.heard || heard === location.href`)
}

// onLoad has each document of the tab run a script before its own.
func (t *tab) onLoad(script string) error {
	_, err := chromedp.Call(t.ctx, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	return err
}

// reload loads the page again.
func (t *tab) reload() error { return chromedp.Do(t.ctx, chromedp.Reload()) }

// back goes back in the history.
func (t *tab) back() error { return chromedp.Do(t.ctx, chromedp.NavigateBack()) }

// silence leaves requests without an answer, whose addresses match a pattern, until hears is called.
func (t *tab) silence(pattern string) error {
	_, err := chromedp.Call(t.ctx, fetch.Enable,
		fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: pattern}}})
	return err
}

// hears answers all requests again.
func (t *tab) hears() error {
	_, err := chromedp.Call(t.ctx, fetch.Disable, cdp.Empty{})
	return err
}

// press types keys into the focused element. A printing key is one event with its text, as from a keyboard: if the page
// handles the key itself, that also keeps the text from being typed.
func (t *tab) press(keys string) error {
	for _, key := range keys {
		events := kb.Encode(key)
		if len(events) == 3 { // down, text, up
			events[0].Type, events[0].Text = input.DispatchKeyEventTypeKeyDown, events[1].Text
			events = []*input.DispatchKeyEventParams{events[0], events[2]}
		}
		for _, event := range events {
			if _, err := chromedp.Call(t.ctx, input.DispatchKeyEvent, *event); err != nil {
				return err
			}
		}
	}
	return nil
}

// click clicks the first element that a selector finds, once it is there.
func (t *tab) click(selector string) error {
	if err := t.until("something to click: "+selector, `document.querySelector(%s)`, selector); err != nil {
		return err
	}
	return chromedp.Do(t.ctx, chromedp.Click(chromedp.CSS(selector)))
}

// fill replaces the text of a field, like a user who pastes it.
func (t *tab) fill(selector, text string) error {
	if err := t.until("a field "+selector, `document.querySelector(%s)`, selector); err != nil {
		return err
	}
	if err := t.run(`{const field = document.querySelector(%s); field.focus(); field.select();}`, selector); err != nil {
		return err
	}
	if text == "" {
		return t.press("\b")
	}
	_, err := chromedp.Call(t.ctx, input.InsertText, input.InsertTextParams{Text: text})
	return err
}

// choose selects an option of a select by its value, once it is there.
func (t *tab) choose(selector, value string) error {
	const offers = `[...document.querySelector(%s).options].some((option) => option.value === %s)`
	if err := t.until("an option "+value+" of "+selector, offers, selector, value); err != nil {
		return err
	}
	return t.run(`{const field = document.querySelector(%s); field.value = %s; field.dispatchEvent(new Event("input", {bubbles: true}));}`, selector, value)
}

// run evaluates a script; each %s is replaced by an argument as a JavaScript string.
func (t *tab) run(script string, arguments ...string) error {
	return chromedp.Do(t.ctx, chromedp.Evaluate[chromedp.Void](fillIn(script, arguments)))
}

// text evaluates an expression whose value is a string.
func (t *tab) text(expression string) (value string, err error) {
	return chromedp.Run(t.ctx, chromedp.Evaluate[string](`String(`+expression+`)`))
}

// until waits for an expression to become true. The page itself evaluates it, whenever something may have changed.
func (t *tab) until(what, expression string, arguments ...string) error {
	condition := fillIn(expression, arguments)
	script := fmt.Sprintf(`new Promise((resolve) => {
		const check = () => {
			let met = false;
			try { met = Boolean(%s); } catch {}
			if (met) { clearInterval(again); clearTimeout(end); resolve(true); }
			return met;
		};
		const again = setInterval(check, 20);
		const end = setTimeout(() => { clearInterval(again); resolve(false); }, %d);
		check();
	})`, condition, waitTimeout.Milliseconds())
	met, err := chromedp.Run(t.ctx, chromedp.Evaluate[bool](script, chromedp.EvalAwaitPromise))
	for tries := 0; err != nil && strings.Contains(err.Error(), "navigated or closed") && tries < mostRedirects; tries++ {
		met, err = chromedp.Run(t.ctx, chromedp.Evaluate[bool](script, chromedp.EvalAwaitPromise)) // of the next document
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if !met {
		return fmt.Errorf("%s: not within %s: %s", what, waitTimeout, condition)
	}
	return nil
}

// says waits until the element that a selector finds contains a text.
func (t *tab) says(selector, text string) error {
	return t.until(fmt.Sprintf("%s says %q", selector, text),
		`[...document.querySelectorAll(%s)].some((found) => found.checkVisibility() && found.innerText.includes(%s))`,
		selector, text)
}

// screenshot returns the visible part of the page, as PNG.
func (t *tab) screenshot() (picture []byte, err error) {
	result, err := chromedp.Call(t.ctx, page.CaptureScreenshot,
		page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng})
	return result.Data, err
}

// describe returns what the page looks like, for error messages.
func (t *tab) describe() string {
	seen, err := t.text(`location.hash + "\n" + document.body.innerText.slice(0, 1500)`)
	if err != nil {
		return err.Error()
	}
	return errors.Join(fmt.Errorf("the page at %s", seen), t.complaints.all()).Error()
}

// fillIn inserts arguments into a script as strings.
func fillIn(script string, arguments []string) string {
	if len(arguments) == 0 {
		return script
	}
	quoted := make([]any, len(arguments))
	for i, argument := range arguments {
		quoted[i] = strconv.Quote(argument) // the escapes of Go that occur here are also valid in JavaScript
	}
	return fmt.Sprintf(script, quoted...)
}
