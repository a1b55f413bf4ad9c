package main

// paper prints what is longer than a screen.
func paper(v *visit) error {
	const services = 100
	whole := func(selector string) step {
		return v.awaits(selector+" has no scroll bar",
			`document.querySelector(%s).scrollHeight <= document.querySelector(%s).clientHeight`, selector, selector)
	}
	hidden := func(selector string) step {
		return v.awaits(selector+" is not there", `!document.querySelector(%s).checkVisibility()`, selector)
	}
	return do(func() error { return v.startMany(services) }, v.opens(""), v.sees(".tiles", "node-099"), v.prints,
		whole(".middle"), hidden(".list"), hidden("header"), v.legible,
		v.opens("#/node-000.billing.example:443/POST/store"), v.sees(".operation", "Store keeps a value."), whole(".middle"),
		hidden(".right"), v.legible,
		v.opens("#/map"), v.sees(".map-tables", "node-099"), whole(".map-view"),
		whole(".map-tables > :last-child"), v.legible,
	)
}
