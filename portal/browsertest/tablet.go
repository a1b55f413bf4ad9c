package main

import "github.com/chromedp/chromedp/kb"

// tablet picks services from a list that is longer than the screen.
func tablet(v *visit) error {
	const services = 60
	inSight := func(selector string) step {
		return v.awaits(selector+" is in sight", `(() => {
			const {top, bottom} = document.querySelector(%s).getBoundingClientRect();
			return top >= 0 && bottom <= innerHeight;
		})()`, selector)
	}
	const (
		last    = `.services > li:last-child .host`
		current = `.services [aria-current="page"]`
	)
	return do(func() error { return v.startMany(services) }, func() error { return v.resize(tabletWidth, tabletHeight) },
		v.opens(""), v.sees(".count", "60 services"),
		func() error { return v.run(`document.querySelector(%s).click()`, last) }, v.sees("#operation-title",
			"node-059.search.example"), inSight("#operation-title"), inSight(last),
		v.opens("#/node-058.identity.example:443/POST/store"), v.sees(".operation", "Store keeps a value."),
		inSight("#operation-title"),
		inSight(current),
		// a link into a list that comes later, and the list after a search
		v.reload, v.sees(".operation", "Store keeps a value."), inSight("#operation-title"), inSight(current),
		v.fills("#search", "node-030 store"), v.sees(".count", "2 operations of 1 service found"),
		v.clicks(`.services a[href$="/store"]`),
		v.at("#/node-030.billing.example:443/POST/store"), v.presses("/"), v.presses(kb.Escape),
		v.sees(".count", "60 services"), inSight(current),
		// the search stays above a long list, and what it finds is shown from the first on
		func() error {
			return v.run(`document.querySelector(%s).scrollIntoView()`,
				last)
		}, inSight("#search"), v.presses("e"),
		v.sees(".count", "240 operations of 60 services found"), inSight(`.services > li:first-child .host`),
	)
}
