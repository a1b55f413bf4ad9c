package main

// deprecation looks at an operation that is deprecated, and at one that is not.
func deprecation(v *visit) error {
	const report, find = `a[href$="/GET/report"]`, `a[href$="/GET/find"]`
	marked := func(list, text string) step {
		return inTurn(v.awaits("the word", `document.querySelector(%s).textContent.startsWith(%s)`, list+" "+report, text),
			v.awaits("a line", `document.querySelector(%s).textContent === "/report"`, list+" "+report+" s"),
			v.awaits("only there", `document.querySelector(%s) && !document.querySelector(%s)`, list+" "+find,
				list+" "+find+" s"))
	}
	return do(v.startForeign, v.opens("#/foreign.example/"), v.sees(".cards .deprecated", "deprecated"),
		marked(".services", "GET/report deprecated"), marked(".cards", "GET/report deprecated"), v.legible,
		v.opens("#/foreign.example:443/GET/report"), v.sees(".operation h2 .deprecated", "deprecated"), v.legible,
		v.opens("#/foreign.example:443/GET/find"), v.sees(".operation h2", "/find"),
		v.sees(".operation .claims.asked", "Only for callers that prove to be web.example, *.shop.example."), v.legible,
		v.awaits("no word", `!document.querySelector(".operation .deprecated")`),
		v.opens("#/compare"), v.sees(".compare", "A sees"), marked(".compare .table", "GET /report deprecated"),
	)
}
