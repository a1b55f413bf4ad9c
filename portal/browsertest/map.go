package main

import (
	"github.com/chromedp/chromedp/kb"

	"github.com/busline/busline/bus"
)

// callsOn makes the page call some services, so that the map has something to show.
const callsOn = `["messaging.example/home", "calculator.example/add?x=1&y=2", "calculator.example/arithmetic?x=1&op=/&y=0",
	"products.example/products", "payroll.example/headcount", "trouble.example/sleep?ms=30"].map((path) => fetch("../" + path))`

// again is a script that makes several requests, and all of them again a little after the last was answered: on a slow
// machine they would pile up, and the page's own would wait behind them.
func again(requests string) string {
	return `{
		const round = () => Promise.allSettled(` + requests + `).then(() => setTimeout(round, 200));
		round();
	}`
}

// watching looks at the map while services are called, and then loses the broker.
func watching(v *visit) error {
	return do(v.startExamples, v.opens("#/map"), v.sees(".map-view", "5 services, 7 instances"),
		func() error { return v.run(again(callsOn)) },
		v.sees(".map-state", "Live"), v.sees(".map-tables", "ingress"), v.sees(".map-tables", "calculator.example"),
		v.awaits("calls within a service",
			`[...document.querySelectorAll(".map-tables tr")].some((row) => row.innerText.split("messaging.example").length === 3)`),
		v.awaits("some that are refused", `document.querySelector(".map-tables .refused")`),
		v.awaits("lines between them", `document.querySelectorAll(".map-body svg path").length >= 5`),
		v.takes("map"),
		v.picks("calculator.example", kb.Enter), v.sees(".map-figures strong", "calculator.example"),
		v.pressed("calculator.example"),
		v.at("#/map/calculator.example"), v.clicks(`.map-figures a`), v.at("#/calculator.example/"),
		v.clicks(`.crumbs a[href="#/map/calculator.example"]`), v.pressed("calculator.example"), v.reload,
		v.sees(".map-figures strong", "calculator.example"),
		v.picks("calculator.example", " "), v.at("#/map"), v.sees(".map-figures strong", "5 services"), v.pressed(""),
		v.fills(`.map-filter input`, "payroll"), v.awaits("one row",
			`document.querySelectorAll(".map-tables table:first-of-type tbody tr").length >= 1`),
		v.awaits("others are gone", `!document.querySelector(".map-tables").innerText.includes("calculator.example")`),
		v.fills(`.map-filter input`, ""), v.sees(".map-tables", "calculator.example"),
		v.useToken("x.y.z"), v.sees(".map-state", "The token is refused"),
		v.awaits("nothing is left to see", `document.querySelector(".map-body").hidden`),
		v.useToken(""), v.sees(".map-tables", "calculator.example"),
		func() error { v.broker.Close(); return nil },
		v.sees(".map-state", "Lost since"), v.awaits("the last picture stays", `document.querySelector(".map-body.stale")`),
	)
}

// failing has services that fail and that leave, both of which look like that without colours.
func failing(v *visit) error {
	var present guest
	state := func(host, text string) step {
		return v.awaits(host+" is "+text, `[...document.querySelectorAll(".map-node")].some((node) => {
			const label = node.getAttribute("aria-label");
			return label.startsWith(%s + ":") && label.includes(%s) && node.querySelector(".map-shape").getAttribute("d");
		})`, host, text)
	}
	return do(v.startExamples, func() (err error) {
		present, err = v.startGuest(func(conn *bus.Conn) error { return bus.Serve(conn, oldGuest{}) })
		return err
	}, v.opens("#/map"), v.sees(".map-tables", "guest.example"),
		func() error { return v.run(again(failsAndRefuses)) }, state("trouble.example", "failing: "),
		v.sees(".map-tables", "trouble.example, failing: "),
		v.awaits("all of the picture is in its pane",
			`document.querySelector(".map-picture").scrollWidth <= document.querySelector(".map-picture").clientWidth`),
		v.awaits("the panel lies over nothing",
			`document.querySelector(".map-scrolled").getBoundingClientRect().bottom <= document.querySelector(".map-figures").getBoundingClientRect().top`),
		v.opens("#/map/ingress/trouble.example"), v.sees(".map-figures", "Trouble.Panic"),
		v.clicks(`.map-figures li a[href$="/panic"]`), v.at("#/trouble.example:443/POST/panic"),
		v.opens("#/map/guest.example"), v.sees(".map-figures", "guest.example"),
		func() error { return present.leave() }, state("guest.example", "gone since"), v.named, v.legible,
	)
}

// picks presses a key at a service in the picture, and leaves it.
func (v *visit) picks(host, key string) step {
	return inTurn(
		func() error {
			return v.run(`document.querySelector('.map-node[aria-label^="' + %s + '"]').focus()`, host)
		},
		v.presses(key), func() error { return v.run(`document.activeElement.blur()`) },
	)
}

// pressed waits until the picture reports to screen readers that one node is pinned, "" for none.
func (v *visit) pressed(host string) step {
	return v.awaits("pinned: "+host,
		`(document.querySelector('.map-node[aria-pressed="true"]')?.getAttribute("aria-label") ?? "").split(":")[0] === %s`,
		host)
}

// emptyMap has no services at first, and then one.
func emptyMap(v *visit) error {
	return do(v.opens("#/map"), v.sees(".map-state", "No service has an endpoint that you may see yet"),
		v.startCalculator, v.sees(".map-state", "No calls yet"))
}

// crowdedMap has a hundred services without calls, which are not drawn.
func crowdedMap(v *visit) error {
	const services = 100
	return do(func() error { return v.startMany(services) }, v.opens("#/map"),
		v.sees(".map-view", "100 services, 100 instances"),
		v.sees(".map-left-out", "100 without calls are counted only"),
		v.awaits("no picture", `!document.querySelector(".map-picture").checkVisibility()`),
		v.fills(".map-filter input", "node-03"), v.awaits("those that are searched for",
			`document.querySelectorAll(".map-node").length === 10`))
}

// places lays out services in columns, some of which call each other in circles.
const places = `import("./maplayout.js").then(({Layout}) => {
	const columns = (calls) => {
		const edges = calls.map(([from, to]) => ({from, to}));
		const names = [...new Set(calls.flat())];
		const places = new Layout().place(names, edges);
		return Object.fromEntries(names.map((name) => [name, places.get(name).column]));
	};
	const chain = columns([["web", "mail"], ["web", "shop"], ["shop", "stock"], ["stock", "mail"], ["mail", "mail"]]);
	const circle = columns([["web", "shop"], ["shop", "stock"], ["stock", "shop"], ["stock", "mail"]]);
	const many = columns([...Array(120).keys()].flatMap((i) => [i + 1, 2 * i + 1, i + 40].map((to) => ["s" + i, "s" + to % 120])));
	window.placed = {chain: JSON.stringify(chain), circle: JSON.stringify(circle), columns: 1 + Math.max(...Object.values(many))};
})`

// circles are not chains: a hundred services that call each other do not stand in a row.
func circles(v *visit) error {
	return do(v.opens("#/map"), func() error { return v.run(places) },
		v.awaits("callers to the left", `window.placed?.chain === '{"web":0,"mail":3,"shop":1,"stock":2}'`),
		v.awaits("a circle between its caller and its callee",
			`window.placed?.circle === '{"web":0,"shop":1,"stock":2,"mail":3}'`),
		v.awaits("a picture that can be seen", `window.placed?.columns < 30`))
}

// selects makes selections of a hundred chains of two calls, of which one gets busier and another fails.
const selects = `import("./mapselection.js").then(({Selection}) => {
	const shown = (busy, failing) => {
		const pairs = [...Array(100).keys()].map((i) => [i, "from" + i, "to" + i]);
		return {
			nodes: [...pairs.flatMap(([, from, to]) => [from, to]), "alone"].map((name) => ({name})), flows: [],
			edges: pairs.map(([i, from, to]) => ({key: from + " " + to, from, to, kind: i === failing ? "failed" : "busy", figures: {recent: {rate: busy(i)}}})),
		};
	};
	const selection = new Selection();
	const names = (...of) => selection.of(shown(...of), () => false).nodes.map(({name}) => name);
	const first = names((i) => 100 + i / 10);
	const same = names((i) => 200 - i / 10);
	const busier = names((i) => i === 1 ? 500 : 100);
	const failing = names(() => 100, 2);
	const searched = new Selection().of(shown(() => 1), (name) => name === "alone" || name === "to7").nodes.map(({name}) => name);
	window.selected = {
		first: first.length === 36 && first.includes("to99") && first.includes("from99") && !first.includes("to1") && !first.includes("alone"),
		same: same.join() === first.join(), busier: busier.includes("to1") && busier.includes("from1"),
		failing: failing.includes("to2"), searched: ["alone", "to7", "from7"].every((name) => searched.includes(name)),
	};
})`

// selecting shows what fails and what is busiest, and keeps it in the picture.
func selecting(v *visit) error {
	selected := func(what string) step { return v.awaits(what, `window.selected[%s] === true`, what) }
	return do(v.opens("#/map"), func() error { return v.run(selects) },
		selected("first"), selected("same"), selected("busier"), selected("failing"), selected("searched"))
}
