package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A desk and a phone, in CSS pixels.
const (
	deskWidth, deskHeight   = 1280, 800
	phoneWidth, phoneHeight = 390, 844
)

// waitTimeout is how long a page may take to do what is expected of it.
const waitTimeout = 30 * time.Second

// tab is one page in the browser.
type tab struct {
	ctx        context.Context // it is how chromedp names a tab
	close      func()
	baseURL    string
	complaints *complaints
}

// newTab opens an empty page that has nothing in common with others.
func (b *browser) newTab(ctx context.Context, baseURL string) (*tab, error) {
	base, err := url.Parse(baseURL)
	if err != nil {
		return nil, err
	}
	opened, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	stop := context.AfterFunc(ctx, cancel)
	t := &tab{ctx: opened, baseURL: baseURL, complaints: &complaints{host: base.Host}}
	t.close = func() { stop(); cancel() }
	err = errors.Join(chromedp.Listen(opened, t.complaints.listen), chromedp.Do(opened, chromedp.EmulateViewport(deskWidth, deskHeight)))
	if err == nil {
		_, err = chromedp.Call(opened, audits.Enable, cdp.Empty{})
	}
	if err != nil {
		t.close()
		return nil, err
	}
	return t, t.prefer("light")
}

// prefer sets the colour scheme that the page is asked for, and no motion.
func (t *tab) prefer(scheme string) error {
	_, err := chromedp.Call(t.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	return err
}

// resize sets the size of the page.
func (t *tab) resize(width, height int64) error {
	return chromedp.Do(t.ctx, chromedp.EmulateViewport(width, height))
}

// open goes to a place of the portal's page, "#/compare".
func (t *tab) open(hash string) error {
	return chromedp.Do(t.ctx, chromedp.Navigate(t.baseURL+"/portal/"+hash))
}

// reload loads the page again.
func (t *tab) reload() error { return chromedp.Do(t.ctx, chromedp.Reload()) }

// back goes to where the page was before.
func (t *tab) back() error { return chromedp.Do(t.ctx, chromedp.NavigateBack()) }

// press types keys, where the focus is. A key that prints is one event with its text, as it is from a keyboard: a page
// that takes the key for its own keeps the text from being typed, too.
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

// click clicks what a selector finds first, once it is there.
func (t *tab) click(selector string) error {
	if err := t.until("something to click: "+selector, `document.querySelector(%s)`, selector); err != nil {
		return err
	}
	return chromedp.Do(t.ctx, chromedp.Click(chromedp.CSS(selector)))
}

// fill puts a text into a field, as somebody who pastes it in place of what is there.
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

// choose picks an option of a select by its value.
func (t *tab) choose(selector, value string) error {
	return t.run(`{const field = document.querySelector(%s); field.value = %s; field.dispatchEvent(new Event("input", {bubbles: true}));}`, selector, value)
}

// run evaluates a script; each %s becomes an argument as a JavaScript string.
func (t *tab) run(script string, arguments ...string) error {
	return chromedp.Do(t.ctx, chromedp.Evaluate[chromedp.Void](fillIn(script, arguments)))
}

// text evaluates an expression whose value is text.
func (t *tab) text(expression string) (value string, err error) {
	return chromedp.Run(t.ctx, chromedp.Evaluate[string](`String(`+expression+`)`))
}

// until waits for an expression to become true. The page itself looks, each time it may have changed.
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
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if !met {
		return fmt.Errorf("%s: not within %s: %s", what, waitTimeout, condition)
	}
	return nil
}

// says waits until what a selector finds has a text in it.
func (t *tab) says(selector, text string) error {
	return t.until(fmt.Sprintf("%s says %q", selector, text),
		`[...document.querySelectorAll(%s)].some((found) => found.checkVisibility() && found.innerText.includes(%s))`, selector, text)
}

// screenshot returns what is seen, as PNG.
func (t *tab) screenshot() (picture []byte, err error) {
	result, err := chromedp.Call(t.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng})
	return result.Data, err
}

// describe says what the page looks like, for who reads of a failure.
func (t *tab) describe() string {
	seen, err := t.text(`location.hash + "\n" + document.body.innerText.slice(0, 1500)`)
	if err != nil {
		return err.Error()
	}
	return errors.Join(fmt.Errorf("the page at %s", seen), t.complaints.all()).Error()
}

// fillIn puts arguments into a script as strings.
func fillIn(script string, arguments []string) string {
	if len(arguments) == 0 {
		return script
	}
	quoted := make([]any, len(arguments))
	for i, argument := range arguments {
		quoted[i] = strconv.Quote(argument) // an escape of Go's is one of JavaScript's, in what is used here
	}
	return fmt.Sprintf(script, quoted...)
}
