package main

import (
	"context"

	"github.com/chromedp/chromedp/kb"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/examples/checkout/checkoutapi"
	"github.com/busline/busline/examples/checkout/checkoutsvc"
	"github.com/busline/busline/examples/products/productapi"
)

// desk takes orders by means of other services.
type desk struct{ conn *bus.Conn }

// Order asks for the price of what is ordered, waits for the stock, and asks a service that remembers no calls.
func (d desk) Order(ctx context.Context, product int) (cents int, err error) {
	items := []checkoutapi.Item{{Product: product, Quantity: 3}}
	if cents, err = checkoutapi.NewClient(d.conn).Total(ctx, items); err != nil {
		return 0, err
	}
	if err := d.conn.Call(ctx, "GET https://trouble.example/sleep", bus.Args{"ms": 150}, nil); err != nil {
		return 0, err
	}
	return cents, d.conn.Call(ctx, "https://old.example/lookup", bus.Args{"key": "a"}, nil)
}

// startDesk starts what a trace leads through.
func (s *stage) startDesk() error {
	checkout, err := s.join(checkoutapi.Host)
	if err != nil {
		return err
	}
	service := checkoutsvc.New(productapi.NewClient(checkout), calculatorapi.NewClient(checkout))
	if err := bus.Serve[checkoutapi.Checkout](checkout, service); err != nil {
		return err
	}
	old, err := bus.Connect(s.ctx, "old.example", s.connect...)
	if err != nil {
		return err
	}
	s.atEnd(old.Close)
	if err := bus.Serve(old, fleetService{}, bus.ParamNames("Store", "key, value", "stored")); err != nil {
		return err
	}
	conn, err := s.join("desk.example")
	if err != nil {
		return err
	}
	product := productapi.Product{Name: "Tea", Price: 4.5}
	if _, _, err := productapi.NewClient(conn).Create(s.ctx, product); err != nil {
		return err
	}
	return bus.Serve(conn, desk{conn})
}

const orderHash = "#/desk.example:443/POST/order"

// tracing finds out why a call was slow, and why another one has failed.
func tracing(v *visit) error {
	fits := v.awaits("nothing is wider than the screen", `document.documentElement.scrollWidth <= innerWidth`)
	return do(v.startExamples, v.startDesk, v.opens(orderHash), v.fills(`[name="product"]`, "1"), v.clicks(sends),
		v.sees(".response pre", `"cents": 1350`),
		v.awaits("other programs begin traces of their own",
			`!document.querySelector(".try").innerText.includes("traceparent")`),
		v.clicks(".response .trace-link"), v.awaits("its trace", `/^#\/trace\/[0-9a-f]{32}$/.test(location.hash)`),
		// for operators only, and the page says so
		v.sees(".trace .notice", "only operators may see traces"), v.clicks(".trace-shown .plain"), v.sees("dialog", "Who calls"),
		v.presses(kb.Escape), v.operates,
		v.sees(".waterfall", "checkout.example"), v.sees(".waterfall", "the callee has no record"),
		v.sees(`[aria-label="What is missing"]`, "1 of "), v.sees(`[aria-label="What is missing"]`, "not use trace.Record"),
		v.awaits("what takes longest", `document.querySelector(".most-time").closest("tr").innerText.includes("trouble.example")`),
		v.sees(".most-time", "in the handler"), v.sees(".trace", "most of it at trouble.example GET /sleep"),
		v.named, v.legible, v.takes("trace"), fits,
		v.clicks(".waterfall .call"), v.sees(".call-details", "Time budget"), v.sees(".call-details", "Span"), v.legible,
		v.clicks(".waterfall .toggle"), v.awaits("its calls are folded", `document.querySelectorAll(".waterfall .call").length === 1`),
		v.awaits("and can be unfolded", `document.activeElement.getAttribute("aria-expanded") === "false"`),
		v.presses(kb.Enter), v.sees(".waterfall", "products.example"),
		func() error { return v.resize(phoneWidth, phoneHeight) }, fits, v.takes("trace-phone"),
		func() error { return v.prefer("dark") }, v.legible, v.takes("trace-phone-dark"),
		func() error { return v.resize(deskWidth, deskHeight) }, v.legible, v.takes("trace-dark"),
		v.prints, v.legible, func() error { return v.prefer("light") },
		// a failure, from the history
		v.opens(orderHash), v.fills(`[name="product"]`, "7"), v.clicks(sends), v.sees(".response .status", "404"),
		v.opens("#/history"), v.takes("history"), v.clicks(".history-call .trace-link"), v.sees(".waterfall", "404"),
		v.sees(".waterfall .failed", "refused"), v.clicks(".waterfall tr:nth-last-child(2) .call"),
		v.sees(".call-details .notice", "not found"), v.sees(".waterfall .why", "not found"),
		v.awaits("a link to an operation",
			`[...document.querySelectorAll(".waterfall a")].some((one) => one.hash.endsWith("/products/{id}"))`),
		v.brokenTrace,
		// ids
		v.opens("#/trace"), v.sees(".trace", "A trace id has 32"), v.fills("#trace-id", "x"), v.presses(kb.Enter), v.sees(".trace", "That is no trace id"),
		v.fills("#trace-id", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), v.presses(kb.Enter),
		v.sees(".trace .notice", "no instance remembers trace 4bf92f3577b34da6a3ce929d0e0e4736: it is still running or older"),
		v.awaits("no other program is set", `!document.querySelector('.trace a[rel="noreferrer"]')`),
		v.largeTrace,
	)
}

// brokenTrace looks at a call that outlives its caller, a stream, a multicast, and an event that is delivered again much
// later.
func (v *visit) brokenTrace() error {
	const script = `{
		const call = (side, from, to, began, took, more) => ({side, traceId: "", spanId: "1", msgId: "1", from, fromId: "a", to, toId: "b",
			port: 443, method: "POST", path: "/a", began: "2026-01-01T00:" + began + "Z", took: took * 1e6, status: 200, ...more});
		const event = {port: 417, path: "/on-ordered"};
		const answer = {id: "", instances: 3, without: 0, roots: [call("server", "web", "root.example", "00:00", 100, {children: [
			call("client", "root.example", "slow.example", "00:00", 90, {status: 503, error: "no answer in time", children: [
				call("server", "root.example", "slow.example", "00:00", 300)]}),
			call("client", "root.example", "stream.example", "00:00", 1, {stream: true}),
			call("client", "root.example", "clock.example", "00:00", 1, {multicast: true, answers: 2, children: [
				call("server", "root.example", "clock.example", "00:00", 1), call("server", "root.example", "clock.example", "00:00", 1)]}),
			call("client", "root.example", "root.example", "00:00", 1, {...event, multicast: true, children: [
				call("server", "root.example", "mailer.example", "00:00", 10, {...event, status: 500, error: "no mail"}),
				call("server", "root.example", "mailer.example", "05:00", 10, event)]})]})]};
		globalThis.asks = fetch;
		globalThis.fetch = (address, ...rest) => String(address).startsWith("trace.json")
			? Promise.resolve(new Response(JSON.stringify(answer))) : asks(address, ...rest);
	}`
	return do(func() error { return v.run(script) }, v.clicks(".trace .small"),
		v.sees(".waterfall", "failed for its caller"), v.sees(".waterfall", "300 ms"),
		v.sees(".trace", "7 calls"), v.sees(".waterfall", "one of the instances that the call above has reached"),
		v.sees(".waterfall .why", "no answer in time"),
		v.sees(".waterfall", "a stream"), v.sees(".waterfall", "delivered again"),
		v.sees(".waterfall caption", "cut out of the axis"), v.legible, v.takes("trace-broken"),
		v.awaits("no claims",
			`!/0 B|(mailer|clock)[^;]*the caller has no record/.test(document.querySelector(".waterfall").innerText)`),
		func() error { return v.run(`globalThis.fetch = asks`) },
	)
}

// largeTrace looks at a trace of as many calls as there can be, one that is deep, and at names that are markup.
func (v *visit) largeTrace() error {
	const script = `{
		const call = (side, at, more) => ({side, traceId: "", spanId: String(at), msgId: String(at), from: %s, fromId: "a", to: %s,
			toId: "b", port: 443, method: "GET", path: %s, began: "2026-01-01T00:00:00.000000123Z", took: 1000 + at, status: 200, ...more});
		const wide = call("server", 0, {children: Array.from({length: 5000}, (_, at) => call("client", at, {children: [call("server", at)]}))});
		let deep = call("server", 0);
		for (let at = 0; at < 1000; at++) { deep = call("server", at, {children: [call("client", at, {children: [deep, call("server", at)]})]}); }
		const answer = {id: "", roots: [wide, deep, ...Array.from({length: 40}, (_, at) => call("server", at))], instances: 3, without: 0,
			failed: Array.from({length: 60}, (_, at) => ({host: "a" + at + ".example", id: "i", why: %s})), leftOut: 7};
		const asks = fetch;
		globalThis.fetch = (address, ...rest) => String(address).startsWith("trace.json")
			? Promise.resolve(new Response(JSON.stringify(answer))) : asks(address, ...rest);
	}`
	return do(func() error { return v.run(script, hostile, hostile, hostile, hostile) },
		v.clicks(".trace .small"), v.sees(".trace", "calls, 42 of them without a known cause"),
		v.awaits("few rows", `document.querySelectorAll(".waterfall tbody tr").length < 600`),
		v.sees(`[aria-label="What is missing"]`, "7 calls left out"), v.sees(`[aria-label="What is missing"]`, "40 more"),
		v.awaits("no markup", `!document.querySelector(".waterfall img, .waterfall script, .waterfall b")`),
		v.clicks(".more-calls button"), v.awaits("the first that was not shown has the focus",
			`document.activeElement.closest("tr") && document.querySelectorAll(".waterfall:first-child tbody tr").length > 200`),
		func() error { return v.resize(phoneWidth, phoneHeight) },
		v.awaits("nothing is wider than the screen", `document.documentElement.scrollWidth <= innerWidth`),
		func() error { return v.resize(deskWidth, deskHeight) },
	)
}
