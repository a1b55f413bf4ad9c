package main

import (
	"fmt"
	"path/filepath"
	"strings"
)

// forms uses every kind of field.
func forms(v *visit) error {
	sent := func(what, text string) step {
		return inTurn(v.clicks(".body .mode:nth-child(2)"),
			v.awaits(what, `JSON.stringify(JSON.parse(document.querySelector(".body > textarea").value)) === %s`, text),
			v.clicks(".body .mode:nth-child(1)"), v.awaits("the form", `!document.querySelector(".body .inputs").hidden`))
	}
	return do(v.startShop, v.opens("#/shop.example:443/POST/place"),
		v.sees(".operation", "Place takes an order, and gives it back."),
		// nested members expand, and recursive ones expand again
		v.clicks(`section[aria-label="Arguments"] summary.member`), v.sees(".schema .schema", "customer"),
		v.clicks(`.schema .schema summary.member`), v.sees(".schema .schema .schema", "at most 1000"),
		v.clicks(".example summary"), v.sees(".example pre", `"street"`),
		v.awaits("a place within a place ends the example",
			`JSON.stringify(JSON.parse(document.querySelector(".example pre").innerText).wanted.to.next) === "{}"`),
		v.fills(`[name="customer"]`, "Ada"), v.chooses(`[name="size"]`, `"large"`), v.chooses(`[name="gift"]`, "true"),
		sent("what is empty is left out", `{"wanted":{"customer":"Ada","gift":true,"size":"large"}}`),
		v.clicks(`.body .inputs fieldset fieldset:nth-of-type(1) > button`), v.fills(`[name="product"]`, "Tea"),
		v.fills(`[name="count"]`, "2"),
		v.fills(`[name="price"]`, "4.50"), v.chooses(`[name="urgent"]`, "false"),
		sent("an array of objects",
			`{"wanted":{"customer":"Ada","gift":true,"lines":[{"count":2,"price":4.5,"product":"Tea"}],"size":"large"},"urgent":false}`),
		v.fills(`[name="extra"]`, "[1, null]"), v.fills(`[name="street"]`, "High Street"),
		sent("anything, and an object",
			`{"wanted":{"customer":"Ada","extra":[1,null],"gift":true,"lines":[{"count":2,"price":4.5,"product":"Tea"}],"size":"large","to":{"street":"High Street"}},"urgent":false}`),
		v.clicks(`.body .inputs fieldset fieldset:nth-of-type(2) > button`), v.fills(`.entry [aria-label="name"]`, "days"),
		func() error { return v.fill(`.entry .field input`, "3") },
		v.clicks(sends), v.sees(".response pre", `"days": 3`), v.sees(".response pre", `"street": "High Street"`),
		v.sees(".response .status", "200"),
		v.fills(`[name="count"]`, "many"), v.clicks(sends), v.sees(".response .status", "400"),
		v.awaits("the field in the row is marked",
			`document.querySelector('[name="count"]').getAttribute("aria-invalid") === "true"`),
		v.clicks(".request-form .plain"), v.awaits("all is empty",
			`document.querySelector('[name="customer"]').value === ""`),
		// an array and a map of themselves
		v.opens("#/shop.example:443/POST/plan"), v.sees(".schema .type", "aisle"), v.sees(".schema .type", "section"),
		v.awaits("code is indented", `document.querySelector(".description").innerText.includes("aisle {\n\t\twalk")`),
		v.clicks(`.body .inputs > fieldset:nth-of-type(1) > button`), v.fills(".row textarea", "[[]]"), v.clicks(sends),
		v.awaits("the aisles are back",
			`JSON.stringify(JSON.parse(document.querySelector(".response pre").innerText).walk) === "[[[]]]"`),
		v.clicks(`.snippets .mode:nth-child(3)`), v.sees(".snippets code", "Walk []any; Stock map[string]any"),
		// large numbers of the description
		v.opens("#/shop.example:443/POST/pay"), v.sees(".request-form", "9007199254740995 | 9007199254740997"),
		v.chooses(`[name="limit"]`, "9007199254740997"), v.clicks(sends),
		v.sees(".response pre", `"card": 9007199254740993`), v.sees(".response pre", `"limit": 9007199254740997`),
		v.clicks(".example summary"), v.sees(".example pre", `"card": 9007199254740993`),
		// a handler takes any text
		v.opens("#/shop.example:443/PUT/files/{name}"), v.fills(`[name="name"]`, "a/b"), v.clicks(sends),
		v.sees(".response pre", `a/b: "" of`),
		v.fills(".body textarea", "<p>"), v.fills(".body input", "text/html"), v.clicks(sends),
		v.sees(".response pre", `a/b: "<p>" of text/html`),
		// a form with files
		v.opens("#/shop.example:443/POST/upload"), v.sees(".operation .schema", "what the page shows"),
		v.sees(".request-form", "file, image/png, image/jpeg, required"),
		v.fills(`[name="title"]`, "Tea; 'hot'"), v.fills(`[name="tags"]`, "a\nb"), v.attaches("photo", "photo.png"),
		v.attaches("more", "a.bin", "b;c.bin"),
		v.sees(".snippets code",
			`-F 'more=@a.bin' -F 'more=@"b;c.bin"' -F 'photo=@photo.png' -F 'tags=a' -F 'tags=b' --form-string 'title=Tea; '\''hot'\'''`),
		v.clicks(sends),
		v.sees(".response pre",
			`map["tags":["a" "b"] "title":["Tea; 'hot'"]] photo=photo.png:image/png:3 more=a.bin:application/octet-stream:3 more=b;c.bin:`),
		v.clicks(`.snippets .mode:nth-child(3)`),
		func() error {
			golang, err := v.text(`document.querySelector(".snippets code").textContent`)
			if err != nil {
				return err
			}
			return compiles(v.stage.ctx, golang)
		},
		v.chooses(`[id^="to-"]`, "*"), v.clicks(sends),
		v.sees(".output", "Not sent: a multicast from this page has no form with files."),
		// and one without
		v.opens("#/shop.example:443/POST/text"), v.fills(`[name="title"]`, "a & b"), v.clicks(sends),
		v.sees(".response pre", `: "title=a+%26+b" of application/x-www-form-urlencoded`),
	)
}

// attaches has a file picker choose files of three bytes.
func (v *visit) attaches(name string, files ...string) step {
	return func() error {
		var adds strings.Builder
		for _, file := range files {
			mediaType := map[string]string{".png": "image/png"}[filepath.Ext(file)]
			fmt.Fprintf(&adds, `chosen.items.add(new File(["abc"], %q, {type: %q}));`, file, mediaType)
		}
		return v.run(fmt.Sprintf(`{
			const input = document.querySelector('input[type="file"][name="%s"]');
			const chosen = new DataTransfer();
			%s
			input.files = chosen.files;
			input.dispatchEvent(new Event("input", {bubbles: true}));
		}`, name, &adds))
	}
}
