package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/busline/busline/bus"
)

func htmlInNames(v *visit) error {
	return do(v.startHostile, v.opens("#/hostile.example:443/GET/x"),
		v.sees(".operation .description", "<img src=x onerror"), v.sees(".schema .name", "<script>"),
		v.clicks(sends), v.sees(".response pre", "<script>"),
		v.chooses(".request-form select", "*"), v.clicks(sends), v.sees(".answers pre", "<script>"),
		v.opens("#/hostile.example/"), v.sees(".description", "<script>"),
		v.opens("#/"+strings.ReplaceAll(hostile, " ", "%20")), v.sees(".state", "Not on the bus"),
		v.opens("#/hostile.example:443/GET/<img src=x onerror=alert(1)>"), v.sees(".state", "<img src=x onerror=alert(1)>"),
		v.awaits("nothing of it is an element",
			`document.querySelectorAll("img").length === 1 && document.querySelectorAll("script").length === 1`),
		v.awaits("nothing of it has run", `document.title !== "taken"`),
	)
}

// climbing sends what the form of a hostile document asks for, of which a browser would make a call to another service.
func climbing(v *visit) error {
	const climber = "#/climber.example:443"
	return do(v.startClimber, v.opens(climber+"/GET/{a}/{b}/victim.example:443/raise"), v.clicks(sends),
		v.sees(".output", "Not sent: a browser would call /victim.example:443/raise instead of "+
			"/climber.example:443/../../victim.example:443/raise."),
		v.opens(climber+"/GET/step/{a}"), v.fills(`[name="a"]`, "."), v.clicks(sends),
		v.sees(".output",
			"Not sent: a browser would call /climber.example:443/step/ instead of /climber.example:443/step/.."),
		v.fills(`[name="a"]`, `%2e\..\?#/é|[]^`), v.clicks(sends),
		v.sees(".response pre", `"GET /step/%252e%5C..%5C%3F%23%2F%C3%A9%7C%5B%5D%5E"`),
		v.opens("#/victim.example:443/POST/raised"), v.clicks(sends), v.sees(".response pre", `"count": 0`),
	)
}

// refusing sends what a browser does not send.
func refusing(v *visit) error {
	return do(v.startForeign, v.opens("#/foreign.example:443/GET/find"), v.clicks(sends),
		v.sees(".output", "Not sent, the browser refuses it: "), v.sees(".output", "GET/HEAD"))
}

func brokenDocuments(v *visit) error {
	const large = 10 << 20
	release := make(chan struct{})
	defer close(release)
	late := func(http.ResponseWriter, *http.Request) { <-release }
	garbage := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }
	enormous := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat(" ", large)+"{}") }
	publishes := func(host string, document http.HandlerFunc) step {
		return func() error { return v.publish(host, document) }
	}
	return do(v.startCalculator, publishes("late.example", late), publishes("garbage.example", garbage),
		publishes("large.example", enormous),
		v.opens(""), v.sees(".state .notice", "3 documents cannot be shown"),
		v.sees(".state .notice", "late.example:443 is left out"),
		v.sees(".state .notice", "garbage.example:443 is left out"),
		v.sees(".state .notice", "large.example:443 is left out"),
		v.sees(".count", "1 service"), v.sees(".tiles", "3 operations, 1 instance"),
		v.clicks(`.services a[href="`+addHash+`"]`), v.sees(".operation", "Add"),
		v.sees(".left-out", "3 documents cannot be shown"),
	)
}

// changes has an operation that changes, vanishes and comes back while the user types.
func changes(v *visit) error {
	var present guest
	arrives := func(serve func(*bus.Conn) error) step {
		return func() (err error) {
			present, err = v.startGuest(serve)
			return err
		}
	}
	leaves := func() error { return present.leave() }
	old := func(conn *bus.Conn) error { return bus.Serve(conn, oldGuest{}) }
	changed := func(conn *bus.Conn) error { return bus.Serve(conn, newGuest{}) }
	kept := v.awaits("what was typed is kept", `document.querySelector('[name="name"]').value === "Ada"`)
	focuses := func(link string) step {
		return func() error { return v.run(`(globalThis.before = document.querySelector(%s)).focus()`, link) }
	}
	focused := func(link string) step {
		return v.awaits("the focus is where it was",
			`!before.isConnected && document.activeElement === document.querySelector(%s)`, link)
	}
	const tile, card, row = `.middle a[href="#/calculator.example/"]`, `.middle a[href="` + addHash + `"]`,
		`.compare a[href="` + addHash + `"]`
	return do(v.startCalculator, v.opens(""), v.sees(".tiles", "calculator.example"), focuses(tile),
		arrives(old), v.sees(".tiles", "guest.example"), focused(tile),
		v.opens("#/calculator.example/"), v.sees(".operation", "1 instance"), focuses(card),
		v.startCalculator, v.sees(".operation", "2 instances"), focused(card),
		v.opens("#/compare"), v.sees(".compare", "B 4"), focuses(row), v.startCalculator, focused(row),
		v.opens("#/guest.example:443/POST/welcome"), v.fills(`[name="name"]`, "Ada"),
		v.clicks(sends), v.sees(".response pre", "Hello, Ada"),
		leaves, v.sees(".middle .notice", "no longer on the bus"), v.sees(".note", "1 operation gone"), kept,
		v.awaits("it is not in the list", `!document.querySelector(".services").innerText.includes("guest")`),
		v.clicks(sends), v.sees(".response .status", "503"),
		arrives(changed), v.sees(".operation", "Welcome(name string, language string)"), kept,
		v.awaits("nothing is missing any more", `!document.querySelector(".middle .notice")`),
		v.sees(".note", "1 operation new"),
		v.awaits("the new argument", `document.querySelector('[name="language"]')`),
		leaves,
	)
}

func brokerLost(v *visit) error {
	token, err := v.token(time.Hour, nil)
	if err != nil {
		return err
	}
	return do(v.startExamples, v.opens(addHash), v.fills(`[name="x"]`, "5"),
		func() error { v.broker.Close(); return nil },
		v.sees(".banner", "The bus cannot be read"), v.sees(".banner", "What you see is as of"),
		v.awaits("what was typed is kept", `document.querySelector('[name="x"]').value === "5"`),
		v.clicks(sends), v.sees(".response .status", "503"),
		v.useToken(token), v.sees(".state", "The bus is out of reach"), v.sees(".state", "The page keeps trying"),
		v.reload, v.sees("h1", "The bus is out of reach"),
	)
}

func portalLost(v *visit) error {
	return do(v.startExamples, v.opens(addHash), v.sees(".operation", "Add"),
		func() error { return v.stop() },
		v.sees(".banner", "The portal is out of reach"), v.clicks(sends),
		v.sees(".output", "No answer: the portal is out of reach"),
	)
}

// portalSilent makes requests that are never answered, as after a sleep of the computer.
func portalSilent(v *visit) error {
	falls := func() error { return v.silence("*/portal/openapi.json") }
	return do(v.startExamples, v.opens(addHash), v.sees(".operation", "Add"), falls,
		v.sees(".banner", "The portal is out of reach. What you see is as of"), v.hears, v.clicks(".banner button"),
		v.awaits("it is heard again", `document.querySelector(".banner").innerText === ""`), falls,
		v.reload, v.sees(".state", "the portal does not answer in time"),
	)
}

func emptyBus(v *visit) error {
	return do(v.opens(""), v.sees(".state", "Nothing here yet"), v.sees(".state", "go run ./examples/hello"),
		v.startCalculator, v.sees(".state", "What is on the bus"), v.sees(".services", "calculator.example"))
}
