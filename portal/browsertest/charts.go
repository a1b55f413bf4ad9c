package main

import "github.com/busline/busline/bus"

// wideWidth is that of a large screen, in CSS pixels.
const wideWidth, wideHeight = 1920, 1080

// forgedChart answers for the charts of a service: an hour in which nobody looked for a quarter, and nobody called for
// a while.
const forgedChart = `{
	const real = fetch, taken = Math.floor(Date.now() / 10000) * 10000, at = (i) => new Date(taken - (360 - i) * 10000).toISOString();
	const points = [...Array(360).keys()].filter((i) => i >= 20 && (i < 120 || i >= 210)).map((i) => {
		const rate = i >= 280 && i < 300 ? 0 : 20 + 10 * Math.sin(i / 20) + i % 3, failedRate = i > 310 ? rate / 4 : 0;
		const times = rate === 0 ? {} : {p50: 0.002 + i % 5 / 5000, p99: i > 310 ? 0.9 : 0.02 + i % 7 / 500};
		return {from: at(i), to: at(i + 1), rate, calls: 10 * rate, refused: 0, refusedRate: 0, failedRate, failed: 10 * failedRate, ...times};
	});
	globalThis.fetch = async (to, options) => String(to).startsWith("chart.json") ? new Response(JSON.stringify({taken: new Date(taken).toISOString(), points})) : real(to, options);
}`

// charting looks at the last hour of a service: of one that nobody has looked at, as it is measured, and with gaps.
func charting(v *visit) error {
	const calculator, charts = "#/calculator.example/", `[aria-label="Last hour"]`
	fits := v.awaits("nothing is wider than the screen", `document.documentElement.scrollWidth <= innerWidth`)
	shown := func(picture string) step {
		return inTurn(v.named, v.legible, fits,
			func() error { return v.run(`document.querySelector(%s).scrollIntoView()`, charts) }, v.takes(picture))
	}
	var leaving guest
	arrives := func() (err error) {
		leaving, err = v.startGuest(func(conn *bus.Conn) error { return bus.Serve(conn, oldGuest{}) })
		return err
	}
	return do(v.startExamples, v.opens(calculator), v.sees(charts, "No data yet"), v.named, v.legible,
		func() error { return v.run(again(callsOn)) },
		v.sees(charts, "1 of 60 minutes is measured"), v.sees(charts, "all: now "), v.sees(charts, "p50: now "),
		v.awaits("pictures with names, and words",
			`[...document.querySelectorAll(".chart svg")].map((one) => [one.getAttribute("role"), ...["labelledby", "describedby"].map((by) => document.getElementById(one.getAttribute("aria-" + by)).innerText.split(":")[0])].join()).join("; ") === "img,Calls,all; img,Durations,p99"`),
		v.awaits("an hour without data but for the end", `Number(document.querySelector(".chart-gap").getAttribute("width")) > 700`),
		// another service, and one that is gone
		v.opens("#/payroll.example/"), v.sees(charts, "all: now "), v.opens("#/guest.example/"),
		v.sees(".state", "Not on the bus"), v.awaits("no charts", `document.querySelector(".charts").hidden`),
		arrives, v.sees(charts, "all: now "), func() error { return leaving.leave() }, v.sees(".state", "Not on the bus"),
		v.awaits("what was seen stays", `document.querySelector(".state .charts.stale .chart")`),
		// with gaps
		func() error { return v.run(forgedChart) }, v.opens(calculator), v.sees(charts, "42 of 60 minutes are measured"),
		v.sees(charts, "all: now 14/s"), v.sees(charts, "lowest 0/s, highest 32/s."),
		v.sees(charts, "failed: now "), v.sees(charts, "p99: now 900 ms, lowest 20 ms, highest 900 ms."),
		v.awaits("two gaps", `document.querySelector(".chart").querySelectorAll(".chart-gap").length === 2`),
		v.awaits("two runs of calls, and three of durations",
			`[".all", ".p50"].map((of) => document.querySelector(".chart-line" + of).getAttribute("d").split("M").length - 1).join() === "2,3"`),
		shown("charts"), func() error { return v.prefer("dark") }, shown("charts-dark"),
		func() error { return v.resize(phoneWidth, phoneHeight) }, shown("charts-phone-dark"),
		func() error { return v.prefer("light") }, shown("charts-phone"),
		func() error { return v.resize(wideWidth, wideHeight) }, shown("charts-wide"),
		// what was seen stays while the portal is silent
		func() error {
			return v.run(`globalThis.fetch = async () => new Response(JSON.stringify({detail: "the broker is lost"}), {status: 503})`)
		},
		v.awaits("it is stale", `document.querySelector(".charts.stale .chart")`),
	)
}
