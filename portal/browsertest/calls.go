package main

// followingCalls looks at calls as they end.
func followingCalls(v *visit) error {
	const count = `document.querySelectorAll(".live-table tbody tr").length`
	fits := v.awaits("nothing is wider than the screen", `document.documentElement.scrollWidth <= innerWidth`)
	return do(v.startExamples, v.startDesk, v.opens("#/live"), v.sees(".live", "only operators may follow calls"),
		v.sees(".live", "Change the caller"), v.operates, v.sees(".live", "Following 12 instances, those of the portal and the ingress included."), v.sees(".live", "No call yet."),
		func() error { return v.run(again(ordersOn)) },
		v.sees(".live-table", "desk.example"), v.sees(".live-table", "calculator.example"), v.sees(".live-table", "/sleep"),
		v.sees(".live-table", "404"),
		v.named, v.legible, fits, v.takes("live"),
		func() error { return v.prefer("dark") }, v.legible, v.takes("live-dark"),
		func() error { return v.resize(phoneWidth, phoneHeight) }, fits, v.legible, v.takes("live-phone"),
		func() error { return v.resize(deskWidth, deskHeight) }, func() error { return v.prefer("light") },
		// at most so many rows
		func() error { return v.run(again(manyCalls)) }, v.sees(".live", " more not shown."),
		v.awaits("few rows", count+" === 200"),
		// some of them
		v.chooses(".live select", "4xx"), v.awaits("in the address", `location.hash === "#/live?status=4xx"`),
		v.awaits("some rows", count+" < 100"), v.sees(".live-table", "404"),
		v.awaits("no others", `![...document.querySelectorAll(".live-table .status")].some((one) => !one.innerText.startsWith("4"))`),
		v.chooses(".live select", ""), v.fills(".live .field:nth-child(1) input", "trouble"), v.sees(".live-table", "trouble.example"),
		v.awaits("no others", `![...document.querySelectorAll(".live-table tbody tr")].some((one) => !one.innerText.includes("trouble"))`),
		// a pause, in which the filter still applies, and the trace of a call
		v.clicks(".live .buttons button"), v.sees(".live", "Paused."),
		v.fills(".live .field:nth-child(1) input", "nothing"), v.sees(".live", "No call yet that the filter shows"),
		v.fills(".live .field:nth-child(1) input", "trouble"), v.sees(".live-table", "trouble.example"),
		func() error { return v.run(`globalThis.first = document.querySelector(".live-table tbody tr")`) },
		v.clicks(".live-table a"), v.sees(".waterfall", "trouble.example"), v.back,
		v.awaits("it still pauses", `document.querySelector(".live-table tbody tr") === first`),
		v.clicks(".live .buttons button"), v.sees(".live", "Following "),
		v.awaits("it goes on", `document.querySelector(".live-table tbody tr") !== first`),
		v.opens("#/live?service=calc&status=2xx"), v.sees(".live-table", "calculator.example"),
		v.awaits("the filter of the address", `document.querySelector(".live select").value === "2xx"`),
		v.useToken(""), v.sees(".live", "only operators may follow calls"), v.awaits("nothing is left", count+" === 0"),
	)
}

// ordersOn makes calls through several services, and one that is refused.
const ordersOn = `[fetch("../desk.example/order", {method: "POST", headers: {"Content-Type": "application/json"}, body: '{"product":1}'}),
	fetch("../calculator.example/nothing")]`

// manyCalls makes more calls than are shown.
const manyCalls = `Array.from({length: 60}, () => fetch("../calculator.example/add?x=1&y=2"))`
