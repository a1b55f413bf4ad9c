package main

import (
	"fmt"
	"mime"
	"net/http"
	"strings"
)

// photo is not a text: it ends in half a character.
const photo = "\x89PNG\xc3"

// bodies looks at responses that are not short JSON.
func bodies(v *visit) error {
	gets := func(name string) step {
		return inTurn(v.opens("#/bodies.example:443/GET/"+name), v.sees("#operation-title", name), v.clicks(sends),
			v.sees(".response .status", "200"))
	}
	return do(v.startBodies,
		gets("photo"), v.sees(".response", "5 bytes that are no text."), v.saves("me.png", len(photo)),
		v.clicks(".response summary"), v.sees(".response dl", "x-taken-by"),
		gets("latin"), v.sees(".response pre", "café"), v.saves("café; 2.txt", len("cafe")),
		gets("list"), v.saves("list.csv", len("a,b")),
		gets("deep"), v.sees(".response pre", "(cut, of 40000 characters)"), v.saves("deep", 2*depth),
		v.startCalculator, v.opens(addHash), v.clicks(".body .mode:nth-child(2)"),
		v.fills(".body > textarea", strings.Repeat("[", depth)+strings.Repeat("]", depth)), v.clicks(".body .mode:nth-child(1)"),
		v.sees(".body > .quiet", "This is nested too deep: the limit is 1000 levels, so the form cannot show it."),
		v.fills(".body > textarea", "[1"), v.clicks(".body .mode:nth-child(1)"),
		v.sees(".body > .quiet", "This is no JSON, so the form cannot show it."),
		gets("moved"), v.sees(".response", "After a redirect to /bodies.example/latin"),
	)
}

// depth is of nested JSON.
const depth = 20_000

func (s *stage) startBodies() error {
	conn, err := s.join("bodies.example")
	if err != nil {
		return err
	}
	for path, handle := range map[string]http.HandlerFunc{
		"/photo": func(w http.ResponseWriter, _ *http.Request) {
			header := w.Header()
			header.Set("Content-Type", "image/png")
			header.Set("Content-Disposition", `attachment; filename="me.png"`)
			header.Set("X-Taken-By", "Ada")
			fmt.Fprint(w, photo)
		},
		"/latin": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=iso-8859-1")
			w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment",
				map[string]string{"filename": "café; 2.txt"}))
			fmt.Fprint(w, "caf\xe9")
		},
		"/list": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": "list.csv"}))
			fmt.Fprint(w, "a,b")
		},
		"/deep": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, strings.Repeat("[", depth)+strings.Repeat("]", depth))
		},
		"/moved": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/bodies.example/latin", http.StatusFound)
		},
	} {
		if err := conn.Handle(http.MethodGet, path, handle); err != nil {
			return err
		}
	}
	return nil
}

// saves has the page make a file of the body, instead of a download. The page writes its title whenever it looks at the
// bus, so the file is noted elsewhere.
func (v *visit) saves(name string, size int) step {
	return inTurn(
		func() error {
			return v.run(`{
				let saved;
				URL.createObjectURL = (blob) => { saved = blob.size; return "#"; };
				HTMLAnchorElement.prototype.click = function () { window.saved = this.download + " " + saved; };
			}`)
		},
		v.clicks(".response .outcome button"), v.awaits("the file", `window.saved === %s`, fmt.Sprint(name, " ", size)),
	)
}
