package main

import (
	"github.com/chromedp/chromedp/kb"
)

// scenarios returns all scenarios, in order.
func scenarios() []scenario {
	return []scenario{
		{name: "scale", run: scale}, // takes longest
		{name: "rendering", run: rendering},
		{name: "slow line", run: slowLine},
		{name: "types", run: typing},
		{name: "finding", run: searching},
		{name: "traces", run: tracing, traced: true},
		{name: "live", run: followingCalls, traced: true},
		{name: "history and links", run: remembering},
		{name: "search and keyboard", run: keyboard},
		{name: "deep links", run: deepLinks},
		{name: "deprecated", run: deprecation},
		{name: "schemas and forms", run: forms},
		{name: "unions", run: unions},
		{name: "trying", run: trying},
		{name: "headers", run: headers},
		{name: "bodies", run: bodies},
		{name: "slow call stopped", run: stopping},
		{name: "streams", run: following},
		{name: "bad token", run: badToken},
		{name: "token expires", run: expiring},
		{name: "login", run: loggingIn, login: true},
		{name: "multicast and instances", run: multicast},
		{name: "the same call elsewhere", run: elsewhere},
		{name: "comparing callers", run: comparing},
		{name: "map", run: watching},
		{name: "map of failures", run: failing},
		{name: "charts", run: charting},
		{name: "empty map", run: emptyMap},
		{name: "crowded map", run: crowdedMap},
		{name: "map of circles", run: circles},
		{name: "map of a selection", run: selecting},
		{name: "events: publishing", run: publishing, jetStream: true},
		{name: "events: dead letters", run: burying, jetStream: true},
		{name: "events: all dead letters", run: buryingAll, jetStream: true},
		{name: "events: reading", run: readingEvents, jetStream: true},
		{name: "events: map", run: eventsOnMap, jetStream: true},
		{name: "events: hostile", run: hostileEvents, jetStream: true},
		{name: "events: phone, accessibility", run: eventsForAll, jetStream: true},
		{name: "events: figures", run: figures, jetStream: true},
		{name: "events: gone", run: eventGone},
		{name: "TypeScript client", run: calling, jetStream: true},
		{name: "HTML in names", run: htmlInNames},
		{name: "refused by the browser", run: refusing},
		{name: "paths that climb", run: climbing},
		{name: "workers for all", run: working},
		{name: "broken documents", run: brokenDocuments},
		{name: "changes on the bus", run: changes},
		{name: "broker lost", run: brokerLost},
		{name: "portal lost", run: portalLost},
		{name: "portal silent", run: portalSilent},
		{name: "empty bus", run: emptyBus},
		{name: "hundred services", run: hundred},
		{name: "sources", run: sources},
		{name: "paper", run: paper},
		{name: "tablet", run: tablet},
		{name: "phone", run: phone},
		{name: "accessibility", run: accessible},
	}
}

const (
	addHash        = "#/calculator.example:443/POST/add"
	arithmeticHash = "#/calculator.example:443/POST/arithmetic"
	sleepHash      = "#/trouble.example:443/POST/sleep"
	noQueueHash    = "#/messaging.example:443/GET/no-queue"
)

func rendering(v *visit) error {
	return do(v.startExamples, v.opens(""),
		v.sees(".count", "5 services, "), v.sees(".state", "What is on the bus"), v.sees(".state", "run by 7 instances"),
		v.takes("start"),
		v.sees(".services", "calculator.example"),
		v.opens("#/products.example/"), v.sees(".operation", "1 instance"), v.sees(".cards", "ListAll(sortBy string"),
		v.sees(".places", "Public at /shop"),
		v.opens("#/products.example:443/POST/products"), v.sees(".places", "Public at /shop/products"),
		v.sees(".operation .signature", "Create(httpRequestBody Product) (id int, httpStatusCode int)"),
		v.sees(".operation", "Create adds a product and returns its id."), v.sees(".operation", "Requires no token."),
		v.sees(".operation .status", "201"), v.sees(".operation .status", "other"),
		v.awaits("the title", `document.title === "POST products.example/products · Busline"`),
		v.reload, v.awaits("the same title", `document.title === "POST products.example/products · Busline"`),
		v.opens(arithmeticHash), v.sees(".operation", "Arithmetic(x int, op string, y int) (result int)"),
		v.fills(`[name="x"]`, "5"), v.fills(`[name="op"]`, "*"), v.fills(`[name="y"]`, "6"),
		v.clicks(`.request-form [type="submit"]`),
		v.sees(".response", "200"), v.takes("light"),
		func() error { return v.prefer("dark") },
		v.awaits("a dark page", `getComputedStyle(document.body).backgroundColor === "rgb(17, 20, 26)"`), v.takes("dark"),
	)
}

func keyboard(v *visit) error {
	found := func(count string) step {
		return v.awaits(count+" operations in the list", `String(document.querySelectorAll(".services ul a").length) === %s`,
			count)
	}
	return do(v.startExamples, v.opens(""), v.sees(".count", "5 services"),
		v.presses("/"), v.awaits("the search has the focus, and nothing in it",
			`document.activeElement.id === "search" && document.activeElement.value === ""`),
		v.presses("salary"), v.sees(".count", "Nothing found"), // for nobody
		v.presses(kb.Escape), v.awaits("the search is empty", `document.getElementById("search").value === ""`),
		v.presses("cache-st"), found("1"), v.sees(".count", "1 operation of 1 service found"),
		v.presses(kb.Enter), v.at("#/messaging.example:443/GET/cache-store"), v.sees(".operation", "/cache-store"),
		v.awaits("the heading has the focus", `document.activeElement.id === "operation-title"`),
		v.presses("/"), v.presses(kb.Escape), v.presses(kb.Escape),
		v.awaits("Escape leaves the search", `document.activeElement.id !== "search"`),
		v.presses("/"), v.presses("distance"), found("1"), v.presses(kb.ArrowDown), v.presses(kb.Enter),
		v.at("#/calculator.example:443/POST/distance"), v.sees(".operation", "Distance"),
		v.presses(kb.Escape), v.awaits("the search again", `document.activeElement.id === "search"`),
		v.presses(kb.ArrowDown), v.presses(kb.Home),
		v.awaits("the first service", `document.activeElement.textContent.startsWith("calculator.example")`),
		v.presses(kb.ArrowLeft), v.awaits("it is closed", `!document.activeElement.closest("li").querySelector("ul")`),
		v.presses(kb.ArrowRight), v.presses(kb.ArrowDown), v.presses(kb.Enter), v.at(addHash),
		v.awaits("where one is", `document.querySelector('.services [aria-current="page"]').innerText.includes("/add")`),
		v.awaits("the focus stays in the list", `document.activeElement.getAttribute("aria-current") === "page"`),
		v.awaits("and is visible", `getComputedStyle(document.activeElement).outlineStyle === "solid"`),
		v.presses(kb.Tab), v.awaits("the list is one stop", `document.activeElement.closest(".operation")`),
		v.presses("/"), v.presses(kb.Escape), v.presses("x"), // leaves the search, and then goes nowhere
		v.awaits("nothing typed", `document.getElementById("search").value === ""`),
		v.opens("#/map"), v.sees(".map-view", "Map"), v.presses("/"), v.at("#/"), v.presses("add"),
		v.awaits("searched from the map", `document.getElementById("search").value === "add"`),
	)
}

func deepLinks(v *visit) error {
	return do(v.startExamples,
		v.opens("#/products.example:443/GET/products/{id}"), v.sees(".operation", "Read returns a product."),
		v.clicks(`.services a[href="`+addHash+`"]`), v.sees(".operation .signature", "Add(x int, y int)"),
		v.back, v.sees(".operation", "Read returns a product."),
		v.reload, v.sees(".operation", "Read returns a product."),
		v.opens("#/nobody.example:443/GET/nothing"), v.sees(".state", "Not on the bus"),
		v.sees(".state", "nobody.example:443/nothing"),
		v.opens("#/nobody.example/"), v.sees(".state", "Not on the bus"),
		v.opens("#/messaging.example"), v.sees(".operation", "3 instances"),
		v.opens("#/a-view-that-is-not-there"), v.sees(".state code", "a-view-that-is-not-there"),
		v.awaits("the title", `document.title === "Not on the bus · Busline"`),
		v.opens("#/map/nix.example"), v.sees(".map-figures", "nix.example is not on the bus"),
		v.opens("#/trace/"), v.sees(".trace", "A trace id has 32"),
		v.opens("#/%E0%A4%A"), v.sees(".state", "Not on the bus"),
	)
}

func hundred(v *visit) error {
	const services = 100
	return do(func() error { return v.startMany(services) }, v.opens(""), v.sees(".count", "100 services, 400 operations"),
		v.awaits("closed services have no operations", `document.querySelectorAll(".services ul").length === 0`),
		v.fills("#search", "lookup identity"), v.sees(".count", "20 operations of 20 services found"),
		v.fills("#search", "example"), v.sees(".count", "400 operations of 100 services found"), v.sees(".more", "200 more"),
		v.fills("#search", "node-03"), v.sees(".count", "40 operations of 10 services"),
		v.opens("#/node-030.billing.example:443/POST/store"), v.sees(".operation", "Store keeps a value."),
		v.takes("hundred"),
		// the number of results drawn after a key is bounded, however much is found
		v.fills("#search", "e"), v.sees(".count", "400 operations of 100 services found"),
		v.awaits("no more rows than anybody reads", `document.querySelectorAll(".services a").length <= 250`),
	)
}
