package main

import (
	"time"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
)

func badToken(v *visit) error {
	stranger, err := claimstest.NewKey()
	if err != nil {
		return err
	}
	foreign, err := stranger.Sign(claims.Claims{"sub": "eve", "exp": time.Now().Add(time.Hour).Unix(),
		"roles": []string{"hr"}})
	if err != nil {
		return err
	}
	return do(v.startExamples, v.opens(addHash), v.sees(".operation", "Add"),
		v.useToken("Bearer not.a.token"), v.sees(".state", "This token is refused"),
		v.sees(".state", "cannot be read as a JWT"),
		v.sees("#caller", "no JWT"),
		v.useToken("tökén → x"), v.sees(".state", "This token is refused"),
		v.useToken(foreign), v.sees(".state", "It belongs to eve, and expires in"), v.sees("#caller", "eve, expires in"),
		v.takes("bad-token"),
		v.clicks(".state .plain"), v.sees(".operation", "Add"), v.sees("#caller", "nobody"),
		// a call with a token that is refused meanwhile
		v.clicks("#caller"), v.fills("#token", foreign), v.sees("dialog", `["hr"]`),
		v.sees("dialog", "nobody has verified it yet"),
		v.presses("\x1b"), v.awaits("the panel is closed", `!document.querySelector("dialog").open`),
		v.sees("#caller", "nobody"),
	)
}

// expiring uses a token that is valid for some more seconds, and is not sent after that.
func expiring(v *visit) error {
	const left = 8 * time.Second
	return do(v.startExamples, v.opens(""), v.sees(".count", "5 services"),
		func() error {
			token, err := v.token(left, claims.Claims{"sub": "grace", "roles": []string{"hr"}, "level": 3})
			if err != nil {
				return err
			}
			return v.useToken(token)()
		},
		v.opens("#/payroll.example:443/POST/salary"), v.sees(".operation .claims", "Requires a token"),
		v.fills(`[name="employee"]`, "ada"), func() error { return v.run(countTokens) },
		v.sees("#caller", "grace, expired"),
		v.sees(".banner", "Your token expired"), v.sees(".banner", "so it is not sent"),
		v.sees(".banner", "What you see is as of"),
		v.awaits("what was typed", `document.querySelector('[name="employee"]').value === "ada"`),
		func() error { return v.run(`globalThis.tokens = 0`) },
		v.clicks(sends), v.sees(".output .notice", "Not sent: the token expired"),
		v.opens("#/map"), v.sees(".map-state", "the token expired"), v.opens("#/payroll.example:443/POST/salary"),
		v.awaits("no request had the token", `tokens === 0`),
		v.clicks(".banner button:nth-of-type(2)"), v.sees(".state", "Not on the bus"),
		v.sees(".state", "a token may show it"),
		v.awaits("no banner", `!document.querySelector(".banner .notice")`),
	)
}

// countTokens counts the requests of the page that have a token.
//
//nolint:gosec // a script, no credential
const countTokens = `{
	const real = fetch;
	globalThis.tokens = 0;
	globalThis.fetch = (to, options) => {
		tokens += new Request(to, options).headers.has("Authorization") ? 1 : 0;
		return real(to, options);
	};
}`

func comparing(v *visit) error {
	clerk, err := v.token(time.Hour, claims.Claims{"sub": "clerk", "roles": []string{"hr"}, "level": 1})
	if err != nil {
		return err
	}
	boss, err := v.token(time.Hour, claims.Claims{"sub": "boss", "roles": []string{"hr"}, "level": 3})
	if err != nil {
		return err
	}
	cells := func(path, a, b string) step {
		return v.awaits(path+" is seen: "+a+", "+b, `(() => {
			const row = [...document.querySelectorAll(".compare .table tbody tr")].find((one) => one.innerText.includes(%s));
			return row.cells[1].innerText === %s && row.cells[2].innerText === %s;
		})()`, path, a, b)
	}
	return do(v.startExamples, v.opens("#/compare"), v.sees(".compare", "A sees"),
		v.sees(".compare", "0 only A, 0 only B"),
		v.fills("#token-A", clerk), v.clicks(`[aria-label="Caller A"] [type="submit"]`), v.sees("#caller", "clerk"),
		v.fills("#token-B", boss), v.clicks(`[aria-label="Caller B"] [type="submit"]`),
		v.sees(".compare", "0 only A, 1 only B"), cells("/salary", "sees", "sees"), cells("/raise", "not", "sees"),
		v.clicks(`[aria-label="Caller A"] summary`), v.clicks(`[aria-label="Caller B"] summary`),
		v.clicks("#only"), v.awaits("one row that differs", `document.querySelectorAll(".compare .differs").length === 1`),
		v.awaits("and no other", `document.querySelectorAll(".compare .table tbody tr").length === 2`),
		v.takes("compare"),
		v.clicks(`[aria-label="Remove token A"]`), v.sees(".compare", "0 only A, 2 only B"), v.sees("#caller", "nobody"),
		v.fills("#token-B", "x.y.z"), v.clicks(`[aria-label="Caller B"] [type="submit"]`),
		v.sees(`[aria-label="Caller B"]`, "Refused: "),
		v.clicks(`.views a[href="#/"]`), v.sees(".state", "What is on the bus"),
	)
}
