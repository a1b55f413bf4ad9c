package main

import (
	"context"
	"net/http"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/examples/orders/ordersapi"
)

const (
	eventHash   = "#/events/orders.example/on-ordered"
	mailerHash  = eventHash + "/mailer.example"
	publishes   = `.request-form [type="submit"]`
	deadLetters = `.dead-letters tbody tr`
)

// reversing is a text that would reverse the rest of its line, and is too long for a few lines.
const reversing = "\u202egnp.\u2066" + tenWords + tenWords + tenWords + tenWords + tenWords

const tenWords = "one two three four five six seven eight nine ten "

// mailer handles orders, but none of wine or HTML.
type mailer struct{}

func (mailer) OnOrdered(_ context.Context, number int, item string, _ int) error {
	if item == "Wine" || item == hostile || item == reversing || item == longWord+longWord {
		return bus.Errorf(http.StatusUnprocessableEntity, "order %d: %s must not be mailed", number, item)
	}
	return nil
}

// cache gets events that are not stored.
type cache struct{}

func (cache) OnOrdered(context.Context, int, string, int) error { return nil }

// startOrders starts a publisher, a service that subscribes to what is stored, and one that does not. None of them
// serves calls. It stores an event for each item.
func (s *stage) startOrders(items ...string) step {
	return func() error {
		conn, err := s.join(ordersapi.Host, bus.WithDescription(hostile))
		if err != nil {
			return err
		}
		publisher, err := ordersapi.NewPublisher(conn, events.Durable())
		if err != nil {
			return err
		}
		mails, err := s.join("mailer.example")
		if err != nil {
			return err
		}
		if err := events.Subscribe[ordersapi.Events](mails, ordersapi.Host, mailer{}, events.Durable()); err != nil {
			return err
		}
		caches, err := s.join("cache.example")
		if err != nil {
			return err
		}
		if err := events.Subscribe[ordersapi.Events](caches, ordersapi.Host, cache{}, bus.NoQueue()); err != nil {
			return err
		}
		for number, item := range items {
			if err := publisher.OnOrdered(s.ctx, number+1, item, 1); err != nil {
				return err
			}
		}
		return nil
	}
}

// operates makes the page call as an operator.
func (v *visit) operates() error {
	token, err := v.token(time.Hour, nil)
	if err != nil {
		return err
	}
	return v.useToken(token)()
}

// publishing finds an event, reads about it, and publishes it.
func publishing(v *visit) error {
	const disabled = `document.querySelector(".request-form fieldset").disabled`
	return do(v.startExamples, v.startOrders("Tea"), v.opens(""), v.sees(".count", "8 services, "),
		v.sees(".count", ", 1 event"),
		v.sees(".tiles", "subscribes to events"), v.presses("/"), v.presses("event on-ord"),
		v.sees(".count", "1 event of 1 service found"),
		v.presses(kb.ArrowDown), v.presses(kb.Enter), v.at(eventHash),
		v.awaits("where one is",
			`document.querySelector('.services [aria-current="page"]').innerText.includes("on-ordered")`),
		v.awaits("the title", `document.title === "on-ordered of orders.example · Busline"`),
		v.sees(".operation .description", "OnOrdered tells that an order was taken."),
		v.sees(".event-facts", "number: events with equal keys are in order"),
		v.sees(".event-facts", ".e.example.orders.on-ordered.{partition}"), v.sees(".schema .name", "quantity"),
		v.sees(`[aria-label="Log"]`, "of 1 GiB"), v.sees(`[aria-label="Log"]`, "for 7 days at most"),
		v.sees(`[aria-label="Subscribers"]`, "mailer.example"), v.sees(`[aria-label="Subscribers"]`, "cache.example"),
		v.clicks(".example summary"), v.sees(".example pre", `"quantity"`),
		// for operators only
		v.sees(".try .notice", "portal.WithOperators"), v.awaits("nothing can be published", disabled),
		v.operates, v.awaits("the form", "!("+disabled+")"),
		v.awaits("no reason is left", `document.querySelector(".try .notice").hidden`),
		v.fills(`[name="number"]`, "9007199254740993"), v.fills(`[name="item"]`, "Milk"),
		v.fills(`[name="quantity"]`, "many"), v.clicks(publishes),
		v.awaits("the field is marked",
			`document.querySelector('[name="quantity"]').getAttribute("aria-invalid") === "true"`),
		v.sees(".response .notice", "quantity"),
		v.fills(`[name="quantity"]`, "2"), v.presses(kb.Enter), v.sees(".response .status", "202"),
		v.awaits("which message", `document.querySelector(".response .published .message").innerText.length >= 22`),
		v.clicks(`.body .mode:nth-child(2)`), v.fills(`.body > textarea`, `{"number": `), v.clicks(publishes),
		v.sees(".output", "Not published: the arguments are not JSON."),
		// another page, and back: what was typed is there
		v.clicks(`[aria-label="Subscribers"] a[href$="/cache.example"]`), v.sees(".operation", "Not durable"),
		v.sees(".operation", "Each of its instances gets it."),
		v.back, v.awaits("what was typed is kept", `document.querySelector(".body > textarea").value === '{"number": '`),
		v.opens("#/orders.example/"), v.sees(".operation", "1 event"), v.clicks(`.middle .cards a[href="`+eventHash+`"]`),
		v.at(eventHash),
		v.opens("#/mailer.example/"), v.sees(".operation", "Subscribes to 1 event"), v.clicks(`.middle .cards a`),
		v.at(mailerHash),
		v.reload, v.sees("#operation-title", "mailer.example"),
		v.opens(eventHash+"/nobody.example"), v.sees(".operation .notice", "nobody.example does not subscribe"),
		v.opens("#/events/orders.example/on-vanished"), v.sees(".state", "Not on the bus"),
		v.sees(".state", "on-vanished of orders.example"),
	)
}

// burying looks at dead letters, and gets rid of them.
func burying(v *visit) error {
	rows := func(count string) step {
		return v.awaits(count+" dead letters", `String(document.querySelectorAll(".dead-letters tbody tr").length) === %s`,
			count)
	}
	figure := func(name, value string) step {
		return v.awaits(name+" is "+value,
			`[...document.querySelectorAll(".event-figures > div")].some((one) => one.innerText.split("\n")[0] === %s && one.innerText.split("\n")[1] === %s)`, name, value)
	}
	confirms := inTurn(v.sees("dialog[open]", "will never handle"), v.named, v.clicks(`dialog[open] [value="act"]`))
	return do(v.startExamples, v.startOrders("Wine", "Tea", "Wine", "Wine", "Wine"), v.opens(mailerHash),
		figure("Dead letters", "4"), figure("Backlog", "0"),
		v.sees(`[aria-label="Dead letters"]`, "4 dead letters. Only operators"), rows("0"),
		v.operates, rows("4"), v.sees(deadLetters+" .reason", "order 1: Wine must not be mailed"),
		v.clicks(deadLetters+" summary"), v.sees(deadLetters+" pre", `"item": "Wine"`),
		v.takes("events-light"), func() error { return v.prefer("dark") }, v.takes("events-dark"),
		func() error { return v.prefer("light") },
		// one, with the keyboard: a question comes first
		func() error {
			return v.run(`document.querySelector(%s).focus()`, deadLetters+` [aria-label^="Delete"]`)
		}, v.presses(kb.Enter),
		v.sees("dialog[open]", "Delete 1 dead letter?"),
		v.awaits("the harmless answer has the focus", `document.activeElement.textContent === "Cancel"`),
		v.presses(kb.Escape), v.awaits("nothing was done", `!document.querySelector("dialog[open]")`), rows("4"),
		v.presses(kb.Enter), confirms, v.sees(`[aria-label="Dead letters"] [role="status"]`, "1 deleted."), rows("3"),
		v.awaits("the focus is not lost",
			`document.querySelector('[aria-label="Dead letters"]').contains(document.activeElement)`),
		// the newest first, until something else is wanted
		func() error { return v.run(`globalThis.newest = document.querySelector(%s)`, deadLetters) },
		v.clicks(".dead-letters .sort"), v.sees(`.dead-letters [aria-sort="ascending"]`, "When"),
		v.awaits("the newest last", `newest === document.querySelector(".dead-letters tbody").lastElementChild`),
		v.clicks(`.dead-letters th:nth-child(4) .sort`), v.sees(`.dead-letters [aria-sort="ascending"]`, "Reason"),
		v.fills(`[aria-label="Dead letters"] [type="search"]`, "absent"), rows("0"),
		v.fills(`[aria-label="Dead letters"] [type="search"]`, ""), rows("3"),
		// those that are selected; they come back, as they are refused again
		v.clicks(deadLetters+` [type="checkbox"]`), v.clicks(deadLetters+`:nth-child(2) [type="checkbox"]`),
		v.awaits("some are selected", `document.querySelector(".dead-letters thead input").indeterminate`),
		func() error { return v.run(`globalThis.before = [...document.querySelectorAll(%s)]`, deadLetters) },
		v.clicks(`[aria-label="Dead letters"] .buttons button:nth-child(1)`),
		v.sees("dialog[open]", "Redeliver 2 dead letters?"), v.named, v.clicks(`dialog[open] [value="act"]`),
		v.sees(`[aria-label="Dead letters"] [role="status"]`, "2 redelivered."), rows("3"),
		v.awaits("two of them are new",
			`before.filter((row) => row.isConnected).length === 1 && document.querySelectorAll(%s).length === 3`, deadLetters),
		v.clicks(`.dead-letters thead input`), v.clicks(deadLetters+` [type="checkbox"]`),
		v.clicks(`[aria-label="Dead letters"] .buttons button:nth-child(2)`),
		v.sees("dialog[open]", "Delete 2 dead letters?"), confirms, rows("1"),
		v.clicks(`[aria-label="Dead letters"] .buttons button:nth-child(4)`),
		v.sees("dialog[open]", "Delete 1 dead letter?"), confirms, rows("0"),
		v.sees(`[aria-label="Dead letters"]`, "None."), figure("Dead letters", "0"),
		v.useToken(""), v.sees(`[aria-label="Dead letters"]`, "Only operators"),
	)
}

// refuser handles nothing.
type refuser struct{}

func (refuser) OnOrdered(_ context.Context, _ int, item string, _ int) error {
	return bus.Errorf(http.StatusUnprocessableEntity, "no %s", item)
}

// startRefuser starts a second service that cannot handle what is stored.
func (s *stage) startRefuser() error {
	conn, err := s.join("picker.example")
	if err != nil {
		return err
	}
	return events.Subscribe[ordersapi.Events](conn, ordersapi.Host, refuser{}, events.Durable())
}

// manyDead has the page read that there are more dead letters than are listed.
const manyDead = `{
	const real = fetch;
	globalThis.fetch = async (to, options) => {
		delete options?.headers?.["If-None-Match"]; // so that the whole document comes
		const response = await real(to, options);
		if (to !== "events.json" && !String(to).startsWith("deadletters.json")) { return response; }
		const answer = await response.json();
		for (const {subscriptions} of answer.publishers ?? []) { subscriptions.forEach((one) => { one.deadLetters += 1000; }); }
		return new Response(JSON.stringify({...answer, more: true}));
	};
}`

// buryingAll lists the dead letters of two services, filters them, and operates some of both.
func buryingAll(v *visit) error {
	const all, service, event = "#/deadletters", ".dead-letter-view .field:nth-child(1) select", ".dead-letter-view .field:nth-child(2) select"
	state := func(text string) step { return v.sees(`.dead-letter-view [role="status"]`, text) }
	rows := func(count string) step {
		return v.awaits(count+" rows", `String(document.querySelectorAll(%s).length) === %s`, deadLetters, count)
	}
	fits := v.awaits("nothing is wider than the screen", `document.documentElement.scrollWidth <= innerWidth`)
	shown := func(picture string) step { return inTurn(v.named, v.legible, fits, v.takes(picture)) }
	return do(v.startExamples, v.startOrders(), v.startRefuser, v.opens(all), state("Only operators may do this"),
		v.operates, state("None."), rows("0"), v.startOrders("Wine", "Tea", "Wine"), rows("5"),
		v.awaits("the newest first", `((times) => times.length === 5 && times.every((one, at) => at === 0 || one <= times[at - 1]))
			([...document.querySelectorAll(".dead-letters time")].map((one) => Date.parse(one.dateTime)))`),
		shown("dead-letters"), func() error { return v.prefer("dark") }, shown("dead-letters-dark"),
		func() error { return v.resize(phoneWidth, phoneHeight) }, v.sees(".dead-letters thead label", "Select all shown"),
		shown("dead-letters-phone-dark"),
		func() error { return v.prefer("light") }, shown("dead-letters-phone"),
		func() error { return v.resize(wideWidth, wideHeight) }, shown("dead-letters-wide"),
		func() error { return v.resize(deskWidth, deskHeight) },
		// by columns, by text, by service and event
		v.clicks(".dead-letters th:nth-child(3) .sort"), v.sees(`.dead-letters [aria-sort="ascending"]`, "Subscriber"),
		v.sees(deadLetters+":nth-child(1)", "mailer.example"), v.sees(deadLetters+":nth-child(5)", "picker.example"),
		v.fills(`.dead-letter-view [type="search"]`, "tea"), rows("1"), v.fills(`.dead-letter-view [type="search"]`, ""), rows("5"),
		v.chooses(service, "mailer.example"), rows("2"), v.at(all+"?service=mailer.example"),
		v.chooses(service, "picker.example"), rows("3"), v.chooses(event, "on-ordered"), rows("3"),
		v.at(all+"?service=picker.example&event=on-ordered"), v.reload, v.operates, rows("3"),
		v.awaits("the filter is in the address", `document.querySelector(%s).value === "picker.example"`, service),
		v.opens(all+"?service=absent.example"), state("None."), rows("0"),
		v.awaits("what is not there can be chosen", `document.querySelector(%s).value === "absent.example"`, service),
		v.opens(all+"/%3Cscript%3E/nope"), v.sees(".state", "deadletters/<script>/nope is not there"),
		v.opens(all), rows("5"),
		// some of both services
		v.clicks(".dead-letters thead input"), v.clicks(`.dead-letter-view .buttons button:nth-child(2)`),
		v.sees("dialog[open]", "Delete 5 dead letters?"),
		v.sees("dialog[open]", "mailer.example and picker.example will never handle these events."), v.named,
		v.clicks(`dialog[open] [value="act"]`), state("5 deleted."), rows("0"), state("None."),
		v.startOrders("Wine"), rows("2"),
		// to where one is
		v.clicks(deadLetters+` a[href="`+mailerHash+`"]`), v.at(mailerHash), rows("1"), v.opens(all), rows("2"),
		func() error { return v.run(manyDead) }, state("The newest 2 of 2,002."), v.useToken(""), rows("0"),
	)
}

// readingEvents reads what is stored, and delivers it again.
func readingEvents(v *visit) error {
	const messages, row = `[aria-label="Stored messages"]`, ".message-row"
	rows := func(count string) step {
		return v.awaits(count+" messages", `String(document.querySelectorAll(".message-row").length) === %s`, count)
	}
	fits := v.awaits("nothing is wider than the screen", `document.documentElement.scrollWidth <= innerWidth`)
	return do(v.startExamples, v.startOrders("Tea", "Coffee", "Wine", "Milk"), v.storeForeign, v.opens(eventHash),
		v.sees(messages, "Only operators may read them"), rows("0"), v.operates, rows("7"),
		v.sees(messages, "7 messages, the newest first"), v.sees(row, `{"number":"five"`),
		v.clicks(row+" .open"), v.sees(".message-details .notice", "number: it is no whole number"),
		v.sees(".message-details .notice", "more: the schema does not"),
		v.sees(".message-details .schema", "quantity"),
		v.clicks(row+":nth-of-type(2) .open"), v.sees(row+":nth-of-type(2) .notice", "The body is no JSON"),
		v.sees(row+":nth-of-type(2) pre", "<html>"),
		v.clicks(row+":nth-of-type(3) .open"), v.sees(row+":nth-of-type(3) pre", "ff 00"),
		v.clicks(row+":nth-of-type(4) .open"), v.sees(row+":nth-of-type(4) pre", `"Milk"`),
		v.awaits("it fits", `!document.querySelector(".message-row:nth-of-type(4) .notice")`),
		v.named, v.legible, fits,
		func() error { return v.run(`document.querySelector(%s).scrollIntoView()`, messages) }, v.takes("messages"),
		func() error { return v.prefer("dark") }, v.legible, v.takes("messages-dark"), func() error { return v.prefer("light") },
		func() error { return v.resize(phoneWidth, phoneHeight) }, fits,
		func() error { return v.run(`document.querySelector(%s).scrollIntoView()`, messages) }, v.takes("messages-phone"),
		func() error { return v.resize(deskWidth, deskHeight) },
		// some of them
		v.fills(messages+` [type="text"]`, "3"), v.presses(kb.Enter), rows("1"), v.sees(row, "Wine"),
		v.fills(messages+` [type="text"]`, ""), v.fills(messages+` .field:nth-child(4) input`, "TEA"), v.presses(kb.Enter),
		rows("1"), v.sees(row, "Tea"), v.fills(messages+` .field:nth-child(4) input`, "absent"), v.presses(kb.Enter),
		v.sees(messages, "None found."), v.fills(messages+` .field:nth-child(4) input`, ""), v.presses(kb.Enter), rows("7"),
		// again, after a question
		v.clicks(row+`:nth-of-type(5) .open`), v.clicks(row+`:nth-of-type(5) [aria-label^="Deliver all"]`), v.sees("dialog[open] h2", "Deliver 5 messages again?"),
		v.sees("dialog[open]", "mailer.example gets what was stored since"), v.named, v.legible,
		v.presses(kb.Escape), v.awaits("nothing was done", `!document.querySelector("dialog[open]")`),
		v.clicks(row+`:nth-of-type(5) [aria-label^="Deliver this"]`), v.sees("dialog[open] h2", "Deliver 1 message again?"),
		v.clicks(`dialog[open] [value="act"]`), v.sees(messages, "1 message delivered again to mailer.example"),
		v.awaits("wine is refused again",
			`[...document.querySelectorAll('[aria-label="Subscribers"] td.failed')].some((one) => Number(one.innerText) >= 5)`),
		// what comes meanwhile
		v.clicks(messages+` [type="checkbox"]`), v.startOrders("Bread"), v.sees(row+":nth-of-type(1)", "Bread"),
		v.sees(messages, "1 new message at"),
		v.useToken(""), rows("0"), v.sees(messages, "Only operators"),
	)
}

// storeForeign stores what is no event of Busline, or one that does not fit.
func (s *stage) storeForeign() error {
	conn, err := s.join("foreign.example")
	if err != nil {
		return err
	}
	for _, body := range []string{"\xff\x00", "<html>", `{"number":"five","quantity":1,"more":[]}`} {
		if _, err := conn.NATS().Request(s.plane+".e.example.orders.on-ordered.1", []byte(body), closeTimeout); err != nil {
			return err
		}
	}
	return nil
}

// eventsOnMap shows where events go.
func eventsOnMap(v *visit) error {
	return do(v.startExamples, v.startOrders("Wine", "Tea"), v.opens("#/map"),
		v.sees(".map-tables", "orders.example ⇢ mailer.example"), v.sees(".map-tables", "orders.example ⇢ cache.example"),
		v.awaits("dead letters in the table",
			`[...document.querySelectorAll(".map-tables tr")].some((row) => row.innerText.includes("mailer.example") && row.querySelector(".failed")?.innerText === "1")`),
		v.awaits("and at the service",
			`[...document.querySelectorAll(".map-node .map-mark")].some((mark) => mark.textContent === "1 dead letter")`),
		v.awaits("and for screen readers",
			`document.querySelector('.map-node[aria-label^="mailer.example"]').getAttribute("aria-label") === "mailer.example: subscribes, 1 dead letter"`),
		v.awaits("lines unlike those of calls",
			`getComputedStyle(document.querySelector(".map-edge.event .line")).strokeDasharray !== "none"`),
		v.awaits("a publisher without calls", `document.querySelector('.map-node[aria-label^="orders.example: publishes"]')`),
		func() error { return v.run(again(callsOn)) }, v.sees(".map-tables", "ingress → calculator.example"), v.takes("map"),
		v.awaits("a row of the table",
			`(() => { const row = [...document.querySelectorAll(".map-tables th button")].find((one) => one.textContent.startsWith("orders.example ⇢ mailer")); row?.focus(); return row; })()`),
		v.presses(kb.Enter), v.sees(".map-figures", "handled, 1 dead letter"),
		v.fills(`.map-filter input`, "mailer"), v.sees(".map-tables", "orders.example ⇢ mailer.example"),
		v.awaits("others are gone", `!document.querySelector(".map-tables").innerText.includes("cache.example")`),
		v.clicks(`.map-figures a[href="`+mailerHash+`"]`), v.at(mailerHash), v.sees("#operation-title", "mailer.example"),
	)
}

// hostileEvents has HTML in the names of events, and figures that are not there.
func hostileEvents(v *visit) error {
	const forged = `{
		const real = fetch, hostile = %s;
		globalThis.fetch = async (to, options) => {
			delete options?.headers?.["If-None-Match"]; // so that the whole document comes
			const response = await real(to, options);
			if (to === "asyncapi.json") {
				return new Response((await response.text()).replaceAll("on-ordered", JSON.stringify(hostile).slice(1, -1)).replaceAll("OnOrdered tells", JSON.stringify(hostile).slice(1, -1)));
			}
			return to === "events.json" ? new Response(JSON.stringify({...await response.json(), publishers: [], unavailable: hostile})) : response;
		};
	}`
	const name = "<img src=x onerror=document.title='taken'>"
	return do(v.startOrders(hostile), v.opens(mailerHash), v.operates,
		v.sees(deadLetters+" .reason", "order 1: <img src=x onerror"),
		v.clicks(deadLetters+` [data-label="Arguments"] summary`), v.sees(deadLetters+" pre", "<img src=x onerror"),
		v.startOrders(reversing), v.sees(deadLetters+" .reason bdi", `order 1: \u202egnp.\u2066one two`),
		v.awaits("a folded reason", `document.querySelector(".reason details").offsetHeight < 80`),
		v.clicks(deadLetters+" .reason summary"),
		v.awaits("the whole reason", `document.querySelector(".reason details").offsetHeight > 80`),
		v.clicks(deadLetters+` [data-label="Arguments"] summary`), v.sees(deadLetters+" pre", `"item": "\u202egnp.`),
		v.opens(""),
		v.sees(".count", "1 event"), func() error { return v.run(forged, name) },
		v.sees(".services .path", name), v.clicks(`.services ul a`), v.sees(".operation h2", name),
		v.sees(".operation .description", name),
		v.sees(`[aria-label="Log"] .notice`, name),
		v.awaits("an address to share", `location.hash.endsWith("/" + encodeURIComponent(%s))`, name),
		v.opens("#/orders.example/"), v.sees(".middle .description", "Events are what happens to orders."),
		v.opens("#/map"), v.sees(".map-tables", "orders.example ⇢ mailer.example"), v.sees(".map-view .notice", name),
		v.awaits("nothing of it is an element",
			`document.querySelectorAll("img").length === 1 && document.querySelectorAll("script").length === 1`),
		v.awaits("nothing of it has run", `document.title !== "taken"`),
	)
}

// figures shows figures of all kinds, of a service that does not run.
func figures(v *visit) error {
	const forged = `{
		const real = fetch, ago = (seconds) => new Date(Date.now() - 1000 * seconds).toISOString();
		globalThis.fetch = async (to, options) => to !== "events.json" ? real(to, options) : new Response(JSON.stringify({
			taken: ago(0), window: 10, operator: false, unavailable: "", leftOut: ["The log of bills.example is left out: it is broken."], publishers: [{host: "orders.example",
				log: {events: 123456, bytes: null, maxBytes: -1, maxAge: 0, first: null, last: null, replicas: 3}, events: [{event: "on-ordered", stored: 123456, rate: 0.05}],
				subscriptions: [{service: "stock.example", event: "on-ordered", ordered: false, backlog: 12345, oldest: ago(7300), inFlight: 5, redelivered: 4, waiting: 0, deadLetters: 3,
					cutOff: [{at: ago(60), events: 77, until: ago(120)}], lastHandled: null, rate: 12.34}]}],
		}));
	}`
	return do(v.startOrders(), v.opens(eventHash), func() error { return v.run(forged) },
		v.sees(`[aria-label="Log"]`, "123.5K of this event, less than 0.1 per second recently"),
		v.sees(`[aria-label="Log"]`, "123.5K events, any size at most"),
		v.sees(`[aria-label="Log"]`, "without an age limit"),
		v.sees(`[aria-label="Subscribers"] tr`, "stock.example does not run"),
		v.clicks(`[aria-label="Subscribers"] a[href$="/stock.example"]`), v.sees(".event-figures", "12.3K"),
		v.sees(".event-figures", "2 hours ago"),
		v.sees(".event-figures", "12 per second"), v.sees(".event-figures", "not known"),
		v.sees(".event-figures", "0: probably, no instance runs"),
		v.sees(`[aria-label="Subscription"] .notice`, "about 77, stored before"),
		v.sees(`[aria-label="Dead letters"]`, "3 dead letters. Only operators"),
		v.opens("#/map"), v.sees(".map-view .notice", "The log of bills.example is left out"),
		v.awaits("what waits, as text",
			`document.querySelector('.map-node.absent[aria-label^="stock.example"]').getAttribute("aria-label") === "stock.example: subscribes, does not run, 12.3K events waiting, 3 dead letters"`),
		v.sees(".map-tables", "12.3K"), v.named, v.legible,
	)
}

// eventGone has an event that vanishes while it is shown, and comes back.
func eventGone(v *visit) error {
	var present guest
	arrives := func() (err error) {
		present, err = v.startGuest(func(conn *bus.Conn) error {
			return events.Subscribe[ordersapi.Events](conn, ordersapi.Host, cache{})
		})
		return err
	}
	return do(arrives, v.opens(eventHash), v.sees(".operation", "Not stored"), v.sees(".event-facts", "does not run"),
		v.sees(`[aria-label="Subscribers"]`, "guest.example"),
		func() error { return present.leave() }, v.sees(".middle .notice", "This event is no longer on the bus"),
		arrives, v.awaits("nothing is missing any more", `!document.querySelector(".middle > .notice")`),
		v.sees(".operation", "Not stored"),
		func() error { return present.leave() },
	)
}

// eventsForAll looks at the pages of events on a phone, and asserts that every control has a name, and all text enough
// contrast.
func eventsForAll(v *visit) error {
	fits := v.awaits("nothing is wider than the screen", `document.documentElement.scrollWidth <= innerWidth`)
	pages := inTurn(
		v.opens(eventHash), v.sees(`[aria-label="Subscribers"]`, "mailer.example"), v.sees(`[aria-label="Log"]`, "of 1 GiB"),
		v.named, v.legible, fits,
		v.opens(mailerHash), v.sees(deadLetters+" .reason", longWord), v.named, v.legible, fits,
		v.opens("#/map"), v.sees(".map-tables", "orders.example ⇢ mailer.example"), v.named, v.legible, fits,
		v.awaits("no figure lies over another",
			`[...document.querySelectorAll(".map-table td")].every((one) => one.scrollWidth <= one.clientWidth)`),
	)
	return do(v.startOrders(longWord+longWord), v.opens(eventHash), v.operates, pages,
		func() error { return v.prefer("dark") }, pages,
		func() error { return v.resize(tabletWidth, tabletHeight) }, pages,
		func() error { return v.resize(phoneWidth, phoneHeight) }, pages,
		v.opens(""), v.clicks(`.services a[href="`+eventHash+`"]`),
		v.awaits("the heading has the focus", `document.activeElement.id === "operation-title"`),
		v.clicks(".back"), v.awaits("the list is back", `document.querySelector(".list").checkVisibility()`),
		v.opens(mailerHash), v.clicks(deadLetters+` [data-label="Arguments"] summary`),
		v.sees(deadLetters+" pre", longWord), fits,
		v.clicks(deadLetters+` [aria-label^="Delete"]`), v.sees("dialog[open]", "Delete 1 dead letter?"), v.legible, fits,
	)
}
