package main

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// The picture, in pixels: the chart within it, and the names of the lines beside that.
const (
	width, height = 900, 520
	left, right   = 70, 660
	top, bottom   = 60, 450
	lineHeight    = 20 // of names
)

// style has colours for light and for dark, so that the picture is legible on any page.
const style = `
text { font: 14px system-ui, sans-serif; fill: #1f2328; }
.small { font-size: 12px; fill: #59636e; }
.paper { fill: #ffffff; }
.grid { stroke: #d1d9e0; stroke-width: 1; }
.line { fill: none; stroke-width: 2.5; stroke-linejoin: round; }
.c0 { --c: #57606a; } .c1 { --c: #0969da; } .c2 { --c: #bf8700; } .c3 { --c: #cf222e; } .c4 { --c: #8250df; }
.c5 { --c: #1a7f37; }
.line, .dot { stroke: var(--c); } .dot { fill: var(--c); } text.name { fill: var(--c); font-weight: 600; }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc; }
.small { fill: #9198a1; }
.paper { fill: #0d1117; }
.grid { stroke: #3d444d; }
.c0 { --c: #9198a1; } .c1 { --c: #4493f8; } .c2 { --c: #d29922; } .c3 { --c: #f85149; } .c4 { --c: #ab7df8; }
.c5 { --c: #3fb950; }
}
`

// colours is the number of classes of lines; more lines begin again.
const colours = 6

// draw returns an SVG: p99 of each target over the rate, on a logarithmic scale.
func draw(all []measurements) string {
	targets := charted(all)
	lines, lowest, highest := make([][]float64, len(targets)), math.Inf(1), math.Inf(-1)
	for i := range targets {
		for rate := range rates() {
			ms := targets[i].atRate(rate).p99
			lines[i] = append(lines[i], ms)
			if isDrawn(ms) {
				lowest, highest = min(lowest, ms), max(highest, ms)
			}
		}
	}
	from, to := math.Floor(math.Log10(lowest)), math.Ceil(math.Log10(highest))
	if math.IsInf(lowest, 1) {
		from, to = 0, 1
	}
	to = max(to, from+1)
	y := func(ms float64) float64 { return bottom - (math.Log10(ms)-from)/(to-from)*(bottom-top) }
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" `+
		`role="img" aria-label="p99 over the offered rate"><style>%s</style>`+"\n", width, height, style)
	fmt.Fprintf(&svg, `<rect class="paper" width="%d" height="%d"/>`+"\n", width, height)
	fmt.Fprintf(&svg, `<text x="%d" y="32">p99 in ms from when a call was due, over the offered rate</text>`+"\n", left)
	for exponent := from; exponent <= to; exponent++ {
		grid(&svg, left, y(math.Pow(10, exponent)), right, y(math.Pow(10, exponent)))
		fmt.Fprintf(&svg, `<text class="small" x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n", left-8,
			y(math.Pow(10, exponent))+4, math.Pow(10, exponent))
	}
	for _, percent := range rates() {
		grid(&svg, x(percent), top, x(percent), bottom)
		fmt.Fprintf(&svg, `<text class="small" x="%.1f" y="%d" text-anchor="middle">%d %%</text>`+"\n", x(percent), bottom+20,
			percent)
	}
	fmt.Fprintf(&svg, `<text class="small" x="%d" y="%d" text-anchor="middle">of the capacity that each has</text>`+"\n",
		(left+right)/2, bottom+44)
	names := nameHeights(lines, y)
	for i := range targets {
		fmt.Fprintf(&svg, `<g class="c%d">%s<text class="name" x="%d" y="%.1f">%s</text></g>`+"\n", i%colours,
			curve(lines[i], y), right+12, names[i]+5, html.EscapeString(targets[i].name))
	}
	svg.WriteString("</svg>\n")
	return svg.String()
}

// isDrawn reports whether a figure has a place on a logarithmic scale.
func isDrawn(ms float64) bool { return ms > 0 && !math.IsInf(ms, 1) }

// x returns where a rate is.
func x(percent int) float64 {
	all := rates()
	return left + float64(percent)/float64(all[len(all)-1])*(right-left)
}

func grid(svg *strings.Builder, x1, y1, x2, y2 float64) {
	fmt.Fprintf(svg, `<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", x1, y1, x2, y2)
}

// curve returns a line with a dot for each rate.
func curve(line []float64, y func(float64) float64) string {
	var points []string
	var dots strings.Builder
	for i, percent := range rates() {
		if isDrawn(line[i]) {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(percent), y(line[i])))
			fmt.Fprintf(&dots, `<circle class="dot" cx="%.1f" cy="%.1f" r="3"/>`, x(percent), y(line[i]))
		}
	}
	return `<polyline class="line" points="` + strings.Join(points, " ") + `"/>` + dots.String()
}

// nameHeights returns where the name of each line stands: at its end, or so far below that names do not overlap.
func nameHeights(lines [][]float64, y func(float64) float64) []float64 {
	heights, order := make([]float64, len(lines)), make([]int, len(lines))
	for i, line := range lines {
		order[i], heights[i] = i, top
		if end := line[len(line)-1]; isDrawn(end) {
			heights[i] = y(end)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(heights[a], heights[b]) })
	for i := 1; i < len(order); i++ {
		heights[order[i]] = max(heights[order[i]], heights[order[i-1]]+lineHeight)
	}
	if len(order) > 0 { // all move up if the last one is too low
		excess := max(heights[order[len(order)-1]]-bottom, 0)
		for i := range heights {
			heights[i] -= excess
		}
	}
	return heights
}
