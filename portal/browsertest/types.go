package main

import (
	"github.com/chromedp/chromedp/kb"
)

// typing looks at the pages of types, and at what leads there.
func typing(v *visit) error {
	const productHash = "#/types/products.example/Product"
	return do(v.startExamples, v.opens("#/products.example:443/POST/products"), v.sees(".operation", "Create adds"),
		v.clicks(`.operation a[href="`+productHash+`"]`), v.at(productHash), v.sees(".type-page h2", "Product"),
		v.sees(`[aria-label="Schema"]`, "at least 1 character"),
		v.sees(`[aria-label="Used by operations"]`, "POST products.example/products as argument"),
		v.clicks(".example summary"), v.sees(".example pre", `"name"`), v.named, v.legible,
		v.awaits("the title", `document.title === "Product of products.example · Busline"`),
		v.reload, v.sees(".type-page h2", "Product"),
		v.opens("#/types/calculator.example/Point"), v.sees(`[aria-label="Used by types"]`, "Distance_in"),
		v.clicks(`[aria-label="Used by types"] a`), v.sees(`[aria-label="Used by operations"]`, "/distance as argument"),
		v.opens("#/types/nobody.example/None"), v.sees(".type-page", "Not on the bus"),
		v.opens("#/types/nobody.example/"), v.sees(".type-page", "nobody.example has no types"),
		v.opens("#/types"), v.sees(".type-page", "Product of products.example"), v.named, v.legible,
		v.opens("#/types/products.example/"), v.sees(".type-page h2", "Types of products.example"),
	)
}

// searching finds arguments, types and texts, and what is nearly what was typed.
func searching(v *visit) error {
	first := func(text, matched string) step {
		return v.awaits("first "+text+" by "+matched, `((link) => link.innerText.includes(%s) && (link.querySelector(".matched")?.innerText ?? "") === %s)(document.querySelector(".services ul a"))`,
			text, matched)
	}
	return do(v.startExamples, v.opens(""), v.sees(".count", "5 services"),
		v.fills("#search", "sortby"), v.sees(".count", "1 operation of 1 service found"), first("/products", "argument sortBy"),
		v.fills("#search", "offset"), first("/products", "argument offset"),
		v.fills("#search", "point"), first("Point", ""), v.sees(".services .matched", "type Point"),
		v.fills("#search", "does sums"), v.sees(".count", "Nothing found"),
		v.fills("#search", "the sum of"), first("/add", "text, result sum"),
		v.fills("#search", "distnace"), v.sees(".count", "1 operation of 1 service found, by similar words"), first("/distance", ""),
		// an operation of this name comes before those that have it in their texts
		v.fills("#search", "sleep"), first("/sleep", ""), v.presses(kb.Enter), v.at(sleepHash),
		v.awaits("the heading has the focus", `document.activeElement.id === "operation-title"`), v.named, v.legible,
	)
}
