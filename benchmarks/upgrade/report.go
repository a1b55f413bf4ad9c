package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/busline/busline/benchmarks/upgrade/check"
)

// notes are the outcomes that are no success, numbered in the order in which they are seen.
type notes struct{ all []string }

// cell returns what stands in the table for an outcome.
func (n *notes) cell(row pair, outcome string) string {
	if outcome == check.OK {
		return outcome
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(outcome, check.Refused), "; see ") // an option had several names
	text = strings.ReplaceAll(text, serviceOf(row.to), "the service")
	for at, known := range n.all {
		if known == text {
			return fmt.Sprintf("[%d]", at+1)
		}
	}
	n.all = append(n.all, text)
	return fmt.Sprintf("[%d]", len(n.all))
}

// line is what stands in a table for a version: the rest of a row, or several rows.
type line struct{ labels, rest string }

// merged returns lines of which neighbours differ, with the labels of those that are alike.
func merged(lines []line) (all []line) {
	for _, each := range lines {
		if last := len(all) - 1; last >= 0 && all[last].rest == each.rest {
			all[last].labels += ", " + each.labels
		} else {
			all = append(all, each)
		}
	}
	return all
}

// table writes rows, and those that are alike as one.
func (n *notes) table(to *strings.Builder, first, second string, columns []string, rows []pair) {
	fmt.Fprintf(to, "| %s | %s | %s |\n|---|---|%s\n", first, second, strings.Join(columns, " | "),
		strings.Repeat("---|", len(columns)))
	var froms []line
	var tos []line // of the latest
	for at, row := range rows {
		tos = append(tos, line{row.to, n.cells(row, columns)})
		if at < len(rows)-1 && rows[at+1].from == row.from {
			continue
		}
		var block strings.Builder
		for _, each := range merged(tos) {
			fmt.Fprintf(&block, "%s | %s |\n", each.labels, each.rest)
		}
		froms, tos = append(froms, line{row.from, block.String()}), nil
	}
	for _, from := range merged(froms) {
		for rest := range strings.Lines(from.rest) {
			fmt.Fprintf(to, "| %s | %s", from.labels, rest)
		}
	}
	to.WriteString("\n")
}

func (n *notes) cells(row pair, columns []string) string {
	all := make([]string, len(columns))
	for at, name := range columns {
		all[at] = n.cell(row, row.outcomes[name])
	}
	return strings.Join(all, " | ")
}

// report writes the page.
func report(now time.Time, all []built, rounds []*round) string {
	var to strings.Builder
	fmt.Fprintf(&to, introduction, now.Format("2 January 2006"))
	for _, each := range all {
		fmt.Fprintf(&to, "| %s | %s | %s | %s |\n", each.label, each.commit, each.date, each.about)
	}
	to.WriteString(explanation)
	var notes notes
	notes.table(&to, "caller", "service", check.Calls(), rounds[0].calls)
	notes.table(&to, "portal", "service", views(), rounds[0].portals)
	for at, note := range notes.all {
		fmt.Fprintf(&to, "%d. %s\n", at+1, note)
	}
	fmt.Fprintf(&to, "\nThat was with the broker of %s. With that of %s", rounds[0].broker, rounds[1].broker)
	if differences := differences(rounds[0], rounds[1]); len(differences) > 0 {
		to.WriteString(" these differ:\n\n- " + strings.Join(differences, "\n- ") + "\n")
	} else {
		to.WriteString(" all is the same.\n")
	}
	return to.String()
}

// differences lists the outcomes of other that are not those of one.
func differences(one, other *round) (all []string) {
	first, second := slices.Concat(one.calls, one.portals), slices.Concat(other.calls, other.portals)
	for at, row := range first {
		for _, name := range slices.Concat(check.Calls(), views()) {
			if got := second[at].outcomes[name]; got != row.outcomes[name] {
				all = append(all, fmt.Sprintf("%s to %s, %s: %s", row.from, row.to, name, got))
			}
		}
	}
	return all
}

const introduction = `# Old beside new

Versions of Busline in processes of their own, on one plane, in all pairs; made on %s by

` + "```sh\nmake upgrade\n```" + `

| label | commit | of | what it is |
|---|---|---|---|
`

const explanation = `
A cell is *ok*, or the number of the error below: what is not possible is refused, and nothing is cut off. Bodies have
3 MiB, more than one message of the broker, or 40 MiB, more than messages may have: these need streams on both sides. Of
*parts* the caller knows the length, of a *stream* it does not. *method streams* is a method that returns an iterator;
*multicast* counts the answers of all versions.

Two defects stay in old versions. Callers and ingresses of 27 and 28 November stream to services from before streams,
too, which answer 400; newer ones send parts. A service of 28 November says 503 where a body is too large for a caller
without streams; newer ones say 500.

`
