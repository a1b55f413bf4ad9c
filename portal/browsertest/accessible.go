package main

import (
	"encoding/json"
	"fmt"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// accessible asserts that every control has a name, and that all text has enough contrast.
func accessible(v *visit) error {
	for _, scheme := range []string{"light", "dark"} {
		places := []step{
			inTurn(v.opens(""), v.sees(".count", "5 services")),
			inTurn(v.opens(arithmeticHash), v.fills(`[name="op"]`, "?"), v.clicks(sends), v.sees(".response .status", "400"),
				v.awaits("the outcome is told",
					`document.querySelector('.try > [role="status"]').textContent.startsWith("400 Bad Request. ")`),
				v.awaits("the body is not",
					`!document.querySelector(".response pre").closest("[aria-live], [role=status], [role=alert]")`)),
			inTurn(v.opens(noQueueHash), v.chooses(".request-form select", "*"), v.clicks(sends),
				v.sees(".response", "3 answers")),
			inTurn(v.opens("#/compare"), v.sees(".compare", "A sees")),
			inTurn(v.opens("#/map"), v.sees(".map-tables", "calculator.example")),
			inTurn(v.clicks("#caller"), v.sees("dialog", "Who calls")),
		}
		if scheme == "light" {
			places = append([]step{v.startExamples}, places...)
		}
		for _, place := range places {
			if err := do(func() error { return v.prefer(scheme) }, place, v.named, v.legible); err != nil {
				return fmt.Errorf("%s: %w", scheme, err)
			}
		}
	}
	return v.contrasted()
}

// contrasted asserts that what is selected differs from what is not where the user has chosen all colours.
func (v *visit) contrasted() error {
	differ := func(property, one, other string) step {
		const script = `getComputedStyle(document.querySelector(%s))[%s] !== getComputedStyle(document.querySelector(%s))[%s]`
		return v.awaits(one+" is not like "+other, script, one, property, other, property)
	}
	_, err := chromedp.Call(v.tab.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}},
	})
	if err != nil {
		return err
	}
	return do(v.opens(addHash), v.sees(".operation", "Add"), v.reload, v.sees(".operation", "Add"),
		differ("borderLeftColor", `.services a[aria-current]`, `.services ul a:not([aria-current])`),
		differ("backgroundColor", `.body .mode[aria-pressed="true"]`, `.body .mode[aria-pressed="false"]`),
		differ("textDecorationLine", `.views a[aria-current]`, `.views a:not([aria-current])`),
	)
}

// named looks for controls without a name, or with one that is not what they show.
func (v *visit) named() error {
	used := map[string]bool{
		"button": true, "link": true, "textbox": true, "searchbox": true, "combobox": true, "checkbox": true, "tab": true,
		"dialog": true, "navigation": true, "region": true,
	}
	tree, err := chromedp.Call(v.tab.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		return err
	}
	for _, node := range tree.Nodes {
		if node.Ignored || node.Role == nil || !used[unquote(node.Role.Value)] {
			continue
		}
		if node.Name == nil || unquote(node.Name.Value) == "" {
			return fmt.Errorf("a %s has no name (node %d)", unquote(node.Role.Value), node.BackendDOMNodeID)
		}
	}
	return v.spoken()
}

// spoken looks for controls whose name lacks the text that they show, by which they are called (WCAG 2.2, 2.5.3; what
// axe calls label-content-name-mismatch).
func (v *visit) spoken() error {
	differing, err := v.text(spokenScript)
	if err == nil && differing != "" {
		err = fmt.Errorf("names without the text that is shown: %s", differing)
	}
	return err
}

// spokenScript returns the controls whose names lack their text, as one string.
const spokenScript = `(() => {
	const words = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();
	const shown = (node) => node.nodeType === Node.TEXT_NODE ? node.data
		: node.nodeType !== Node.ELEMENT_NODE || node.getAttribute("aria-hidden") === "true" || node.matches(".visually-hidden") ? ""
		: [...node.childNodes].map(shown).join("");
	return [...document.querySelectorAll("button, a, summary, [role=button], [role=tab]")]
		.filter((one) => one.checkVisibility() && one.hasAttribute("aria-label"))
		.map((one) => [words(one.getAttribute("aria-label")), words(shown(one))])
		.filter(([name, text]) => !name.includes(text)).map((pair) => pair.join(" / ")).join("; ");
})()`

// legible looks for text with a contrast below 4.5 (WCAG 2.2, 1.4.3).
func (v *visit) legible() error {
	faint, err := v.text(contrastScript)
	if err == nil && faint != "" {
		err = fmt.Errorf("too little contrast: %s", faint)
	}
	return err
}

// contrastScript returns the texts with too little contrast, as one string.
const contrastScript = `(() => {
	const channels = (colour) => {
		const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
		canvas.fillStyle = colour;
		canvas.fillRect(0, 0, 1, 1);
		return [...canvas.getImageData(0, 0, 1, 1).data];
	};
	const luminance = ([r, g, b]) => {
		const linear = [r, g, b].map((value) => value / 255).map((value) => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
		return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
	};
	const behind = (element) => {
		for (let at = element; at; at = at.parentElement) {
			const colour = channels(getComputedStyle(at).backgroundColor);
			if (colour[3] === 255) { return colour; }
		}
		return [255, 255, 255];
	};
	const known = new Map();
	const faint = [];
	for (const element of document.querySelectorAll("body *")) {
		const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
		if (!own || !element.checkVisibility()) { continue; }
		const colour = getComputedStyle(element).color;
		const ground = behind(element);
		const key = colour + ground;
		if (!known.has(key)) {
			const [light, dark] = [luminance(channels(colour)), luminance(ground)].sort((a, b) => b - a);
			known.set(key, (light + 0.05) / (dark + 0.05));
		}
		if (known.get(key) < 4.5) { faint.push(element.innerText.slice(0, 40) + " " + known.get(key).toFixed(2)); }
	}
	return faint.join("; ");
})()`

// unquote decodes a JSON string, "" if it is not one.
func unquote(text []byte) (value string) {
	_ = json.Unmarshal(text, &value) // anything but a string has no name
	return value
}
