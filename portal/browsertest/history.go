package main

import (
	"github.com/busline/busline/bus"
)

// safe is a service with secrets.
type safe struct{}

// key is what opens a safe.
type key struct {
	Owner string `json:"owner"`
	Pin   string `json:"pin" jsonschema:"format=password"`
}

// Open returns what is in the safe.
func (safe) Open(with key) (content, token string) { return "gold of " + with.Owner, "t0ken" }

func (s *stage) startSafe() error {
	conn, err := s.join("safe.example")
	if err != nil {
		return err
	}
	return bus.Serve(conn, safe{})
}

// remembering looks at the calls that were made, opens and repeats them, and shares values.
func remembering(v *visit) error {
	const stored = `localStorage.getItem("calls")`
	return do(v.startExamples, v.startSafe, v.opens("#/history"), v.sees(".history", "No calls yet"),
		v.opens(arithmeticHash), v.fills(`[name="x"]`, "5"), v.fills(`[name="op"]`, "*"), v.fills(`[name="y"]`, "6"),
		v.clicks(sends), v.sees(".response pre", `"result": 30`),
		// a link has what was typed, and opening it sends nothing
		func() error {
			return v.run(`navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }`)
		},
		v.clicks(".crumbs .small"), v.sees(".crumbs .small", "Copied"),
		v.awaits("the link", `copied.endsWith(%s)`, arithmeticHash+"?x=5&op=*&y=6"),
		v.opens(arithmeticHash+"?x=7&op=%2B&y=1"), v.awaits("it is filled in",
			`["x", "op", "y"].map((name) => document.querySelector('[name="' + name + '"]').value).join() === "7,+,1"`),
		v.awaits("nothing was sent", `JSON.parse(`+stored+`).length === 1 && !document.querySelector(".response")`),
		v.opens("#/products.example:443/GET/products/{id}?id=77"),
		v.awaits("of a path", `document.querySelector('[name="id"]').value === "77"`), v.clicks(sends),
		v.sees(".response .status", "404"),
		// secrets are in neither
		v.opens("#/safe.example:443/POST/open"), v.fills(`[name="owner"]`, "Ada"), v.fills(`[name="pin"]`, "s3cr3t"),
		func() error {
			return v.run(`navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }`)
		},
		v.clicks(".crumbs .small"), v.sees(".crumbs .small", "Copied without pin"),
		v.awaits("the link has no secret", `copied.includes("Ada") && !copied.includes("s3cr3t")`),
		v.useToken("x.y.z"), v.useToken(""), v.sees(".operation h2", "/open"),
		v.clicks(sends), v.sees(".response pre", "gold of Ada"),
		v.awaits("nor is the history", `!/s3cr3t|t0ken|Bearer/.test(`+stored+`) && `+stored+`.includes("gold of")`),
		func() error { return v.run(unparsed) },
		v.awaits("what is no JSON, and short names", `globalThis.safe === "the body, which is no JSON|pwd,jwt,userPin,sessionId|cost=1&mapping=2"`),
		// open again, send again, filter, clear
		v.clicks(`.views a[href="#/history"]`), v.sees(".history", "3 calls"), v.sees(".history", "Not kept: pin"),
		v.named, v.legible,
		v.fills("#history-filter", "arith 200"), v.sees(".history", "1 of 3 calls"), v.clicks(".history summary"),
		v.sees(".history pre", `"result": 30`),
		v.clicks(".history-call a"), v.at(arithmeticHash+"?x=5&op=*&y=6"),
		v.awaits("filled in again", `document.querySelector('[name="x"]').value === "5"`), v.back,
		v.clicks(".history-call .small"), v.sees(".response pre", `"result": 30`),
		v.reload, v.sees(".operation", "Arithmetic"),
		v.awaits("a reload sends nothing", `JSON.parse(`+stored+`).length === 4 && !document.querySelector(".response")`),
		v.opens("#/history"), v.sees(".history", "4 calls"), v.clicks(".history .plain"), v.sees(".history", "No calls yet"),
		v.awaits("nothing is kept", stored+` === "[]"`),
		func() error { return v.run(`localStorage.setItem("calls", %s)`, foreignCalls) }, v.opens("#/"), v.opens("#/history"),
		v.sees(".history", "No calls yet"),
		func() error { return v.run(overfill) }, v.awaits("at most a hundred calls, and so many characters",
			`globalThis.kept === "100 true"`),
	)
}

// overfill makes many calls, and some with long answers.
const overfill = `import("./callstore.js").then(({callStore}) => {
	const operation = {id: "get /a", host: "a.example", port: "443", method: "get", path: "/a", responses: []};
	const add = (text) => callStore.add(operation, {text: "", leftOut: []}, Date.now(), 1, {status: 200, text});
	for (let at = 0; at < 120; at++) { add("short"); }
	const count = callStore.calls.length;
	for (let at = 0; at < 120; at++) { add("\u0000".repeat(3000)); }
	globalThis.kept = count + " " + (localStorage.getItem("calls").length <= 200000 && callStore.calls.length > 10);
})`

// unparsed writes values of bodies that have secrets.
const unparsed = `import("./values.js").then(({writeValues}) => {
	const operation = {parameters: [], body: {schema: {name: "", schema: {}, follow: (schema) => ({schema})}}};
	const write = (body) => writeValues(operation, {parameters: [], query: "", body, type: "application/json", to: ""});
	const broken = write('{"password":"hunter2",}');
	const names = write('{"pwd":"a","jwt":"b","userPin":1,"sessionId":"c","cost":1,"mapping":2}');
	globalThis.safe = [broken.leftOut, names.leftOut, broken.text + names.text].join("|");
})`

// foreignCalls are entries of a storage that are no calls.
const foreignCalls = `[1,null,{},{"at":"x","id":5,"values":{},"answer":7}]`
