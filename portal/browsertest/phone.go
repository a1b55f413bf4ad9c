package main

import (
	"net/http"

	"github.com/busline/busline/bus"
)

func phone(v *visit) error {
	fits := v.awaits("nothing is wider than the screen", `document.documentElement.scrollWidth <= innerWidth`)
	return do(v.startExamples,
		func() error { return v.resize(narrowWidth, phoneHeight) }, v.opens(""), v.sees(".count", "5 services"), fits,
		func() error { return v.resize(phoneWidth, phoneHeight) },
		v.opens(""), v.sees(".count", "5 services"), fits,
		v.clicks(`.services a[href="`+addHash+`"]`), v.sees(".operation", "Add"), fits,
		v.awaits("the list has made room", `!document.querySelector(".list").checkVisibility()`),
		v.awaits("the heading has the focus", `document.activeElement.id === "operation-title"`),
		v.fills(`[name="x"]`, "5"), v.fills(`[name="y"]`, "6"), v.clicks(sends), v.sees(".response pre", `"sum": 11`), fits,
		func() error { return v.run(`document.querySelector(".try").scrollIntoView()`) }, v.takes("phone"),
		v.presses("/"), v.at("#/"), v.awaits("the search has the focus", `document.activeElement.id === "search"`), v.back,
		v.sees(".operation", "Add"),
		v.clicks(".back"), v.awaits("the list is back", `document.querySelector(".list").checkVisibility()`),
		v.opens("#/messaging.example/"), v.sees(".operation", "3 instances"), fits,
		v.opens(noQueueHash), v.chooses(".request-form select", "*"), v.clicks(sends), v.sees(".response", "3 answers"), fits,
		v.opens("#/compare"), v.sees(".compare", "A sees"), fits,
		v.opens("#/map"), v.sees(".map-tables", "calculator.example"), fits,
		func() error { return v.run(again(failsAndRefuses)) },
		v.awaits("both kinds of errors",
			`[...document.querySelectorAll(".map-table .failed")].some((one) => one.innerText.includes("refused"))`),
		v.awaits("no figure lies over another",
			`[...document.querySelectorAll(".map-table td")].every((one) => one.scrollWidth <= one.clientWidth)`),
		v.clicks("#caller"), v.sees("dialog", "Who calls"), fits,
		v.opens("#/products.example:443/POST/products"), v.sees(".operation", "at least 1 character,"), fits,
		v.startLong, v.opens("#/"+longHost+":443/POST/"+longWord), v.sees(".operation h2", longWord), fits,
		v.opens("#/"+longHost+"/"), v.sees(".operation", "1 instance"), fits,
		v.opens("#/compare"), v.sees(".compare .table", longWord), fits,
		v.awaits("no word is divided", `[...document.querySelectorAll(".sees")].every((one) => {
			const words = document.createRange();
			words.selectNodeContents(one);
			return words.getClientRects().length === 1;
		})`),
	)
}

// narrowWidth is that of the smallest phones, less a scroll bar.
const narrowWidth = 305

// failsAndRefuses makes the page call a service that fails, and with what it refuses.
const failsAndRefuses = `[fetch("../trouble.example/panic", {method: "POST"}), fetch("../trouble.example/sleep?ms=long")]`

// Names that are too long for a line on a phone, and contain no space.
const (
	longWord = "averylongnameofanoperationthatnoblankandnohyphendivides"
	longHost = "averylongnameofaservice.averylongnameofaregion.averylongnameofadomain.example"
)

// startLong starts a service with a long name, and an operation with a long path.
func (s *stage) startLong() error {
	conn, err := s.join(longHost)
	if err != nil {
		return err
	}
	return conn.Handle(http.MethodPost, "/"+longWord, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		bus.Description(longWord))
}
