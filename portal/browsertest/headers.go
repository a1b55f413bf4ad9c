package main

import (
	"fmt"
	"strings"
)

// headers sends arguments that are headers, also with the snippets.
func headers(v *visit) error {
	snippet := func(number string) (string, error) {
		if err := v.click(".snippets .mode:nth-child(" + number + ")"); err != nil {
			return "", err
		}
		return v.text(`document.querySelector(".snippets code").textContent`)
	}
	return do(v.startForeign, v.opens("#/foreign.example:443/GET/report"), v.fills(`[name="X-Tenant"]`, "100% \\Ada"),
		v.sees(".operation .schema li .description", "Whose report."), v.sees(".operation .schema li .quiet", "deprecated"),
		v.awaits("no others", `document.querySelectorAll(".request-form .inputs input").length === 1`),
		v.clicks(sends), v.sees(".response pre", `for "100% \\Ada"`), v.sees(".snippets code", `-H 'X-Tenant: 100% \Ada'`),
		func() error {
			golang, err := snippet("3")
			if err == nil && !strings.Contains(golang, `request.Header.Set("X-Tenant", "100% \\Ada")`) {
				err = fmt.Errorf("no header in %s", golang)
			}
			if err != nil {
				return err
			}
			return compiles(v.stage.ctx, golang)
		},
		func() error {
			message, err := snippet("6")
			if err != nil {
				return err
			}
			return v.overNATS(message, "200 OK", `for "100% \\Ada"`)
		},
		v.chooses(".request-form select", "*"), v.clicks(sends),
		v.sees(".output", "Not sent: a multicast from this page has no headers."),
	)
}
