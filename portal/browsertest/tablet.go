package main

// tablet picks services from a list that is longer than the screen.
func tablet(v *visit) error {
	const services = 60
	inSight := func(selector string) step {
		return v.awaits(selector+" is in sight", `(() => {
			const {top, bottom} = document.querySelector(%s).getBoundingClientRect();
			return top >= 0 && bottom <= innerHeight;
		})()`, selector)
	}
	last := `.services > li:last-child .host`
	return do(func() error { return v.startMany(services) }, func() error { return v.resize(tabletWidth, tabletHeight) },
		v.opens(""), v.sees(".count", "60 services"),
		func() error { return v.run(`document.querySelector(%s).click()`, last) }, v.sees("#operation-title", "node-059.search.example"), inSight("#operation-title"), inSight(last),
		v.opens("#/node-058.identity.example:443/POST/store"), v.sees(".operation", "Store keeps a value."), inSight("#operation-title"),
		inSight(`.services [aria-current="page"]`),
	)
}
