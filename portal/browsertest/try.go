package main

import (
	"fmt"
	"net/http"

	"github.com/busline/busline/bus"
	"github.com/chromedp/chromedp/kb"
)

const sends = `.request-form [type="submit"]`

func trying(v *visit) error {
	return do(v.startExamples, v.opens(addHash),
		v.fills(`[name="x"]`, "5"), v.fills(`[name="y"]`, "6"), v.presses(kb.Enter), // in a form
		v.sees(".response .status", "200 OK"), v.sees(".response pre", `"sum": 11`), v.sees(".response", "ms"),
		v.sees(".response .answered", "calculator.example"),
		v.awaits("who answered", `/^[a-z][a-z0-9]{9}$/.test(document.querySelector(".response .instance").innerText)`),
		v.awaits("which message", `document.querySelector(".response .message").innerText.length >= 22`),
		// the error is shown beside the argument
		v.fills(`[name="x"]`, "five"), v.clicks(sends), v.sees(".response .status", "400"),
		v.awaits("the field is marked", `document.querySelector('[name="x"]').getAttribute("aria-invalid") === "true"`),
		v.awaits("and only that", `document.querySelector('[name="y"]').getAttribute("aria-invalid") === null`),
		// more digits than JavaScript numbers have
		v.fills(`[name="x"]`, "9007199254740993"), v.fills(`[name="y"]`, "0"), v.clicks(sends),
		v.sees(".response pre", "9007199254740993"),
		// as JSON, and back
		v.clicks(`.body .mode:nth-child(2)`),
		v.awaits("the form as JSON", `document.querySelector(".body > textarea").value.includes('"x": 9007199254740993')`),
		v.fills(`.body > textarea`, `{"x": 1,  "y": 2, "z": 3}`), v.clicks(sends), v.sees(".response pre", `"sum": 3`),
		v.clicks(`.body .mode:nth-child(1)`), v.sees(".body", "cannot show all"),
		v.awaits("the JSON stays as typed",
			`document.querySelector(".body > textarea").value === '{"x": 1,  "y": 2, "z": 3}'`),
		v.fills(`.body > textarea`, `{"x":  40, "y": 2}`), v.clicks(`.body .mode:nth-child(1)`),
		v.awaits("the form has it",
			`document.querySelector('[name="x"]').value === "40" && document.querySelector('[name="x"]').checkVisibility()`),
		v.clicks(`.body .mode:nth-child(2)`),
		v.awaits("as it was typed", `document.querySelector(".body > textarea").value === '{"x":  40, "y": 2}'`),
		v.fills(`.body > textarea`, `{"x": `), v.clicks(sends), v.sees(".response .status", "400"),
		// another operation, and back
		v.opens("#/products.example:443/GET/products/{id}"), v.fills(`[name="id"]`, "7"), v.clicks(sends),
		v.sees(".response .status", "404"), v.sees(".response .notice", "7"),
		v.back, v.awaits("what was typed is there", `document.querySelector(".body > textarea").value === '{"x": '`),
		v.opens("#/trouble.example:443/POST/panic"), v.sees(".request-form", "nothing to fill in"), v.clicks(sends),
		v.sees(".response .status", "500"), v.sees(".response .notice", "in the log"),
		v.opens("#/messaging.example:443/GET/cache-store"), v.fills(`[name="query"]`, "key=a b&value=<b>"), v.clicks(sends),
		v.sees(".response pre", "value: <b>"),
	)
}

// following shows streams as they come: whole, stopped, and broken off.
func following(v *visit) error {
	breaks := make(chan struct{})
	half := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "half of it")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-breaks:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	})
	startHalf := func() error {
		_, err := v.startGuest(func(conn *bus.Conn) error { return conn.Handle("GET", "/half", half) })
		return err
	}
	return do(v.startExamples, startHalf, v.opens("#/trouble.example:443/POST/count"), v.fills(`[name="n"]`, "3"),
		v.clicks(sends),
		v.sees(".response pre", "1\n2\n3"), v.sees(sends, "Send"),
		v.fills(`[name="pauseMs"]`, "20"), v.clicks(sends), v.sees(".stream", "Ended: 3 messages, 6 B in "), v.sees(sends, "Send"),
		v.fills(`[name="n"]`, "1000000"), v.fills(`[name="pauseMs"]`, "50"), v.clicks(sends),
		v.sees(".response pre", "1\n2\n3\n4\n5"), v.sees(".stream", "Running: "), v.sees(".stream", " messages, "),
		v.awaits("the time runs", `(globalThis.before ??= document.querySelector(".stream").innerText) !== document.querySelector(".stream").innerText`),
		v.sees(sends, "Stop"), v.clicks(sends),
		v.sees(".output", "Stopped."), v.sees(".stream", "Stopped: "), v.sees(".response pre", "1\n2\n3\n4\n5"), v.sees(sends, "Send"),
		v.opens("#/guest.example:443/GET/half"), v.sees("#operation-title", "half"), v.clicks(sends),
		v.sees(".response pre", "half of it"),
		func() error { close(breaks); return nil },
		v.sees(".output", "The stream broke off"), v.sees(".stream", "Broken off: 10 B in "), v.sees(".response pre", "half of it"),
	)
}

func stopping(v *visit) error {
	return do(v.startExamples, v.opens(sleepHash), v.fills(`[name="ms"]`, "19000"), v.clicks(sends),
		v.sees(".output", "Waiting"), v.sees(sends, "Stop"), v.clicks(sends),
		v.sees(".output", "Stopped. The call may have run."),
		v.sees(sends, "Send"),
		v.fills(`[name="ms"]`, "1"), v.presses(kb.Enter), v.sees(".response pre", `"slept": 1`),
		// the call was cancelled on the bus, too
		v.opens("#/trouble.example:443/POST/cancelled"), v.awaits("its handler has ended", `(() => {
			if (document.querySelector(".response")?.innerText.includes('"count": 1')) { return true; }
			const send = document.querySelector('.request-form [type="submit"]');
			if (send.textContent === "Send") { send.click(); }
			return false;
		})()`),
	)
}
