package portal

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/portal/internal/plane"
	"github.com/busline/busline/restmap/openapi"
	"github.com/busline/busline/restmap/openapi/compare"
)

// Instances of one host can serve different documents, while two versions run. The portal then shows the one that most
// instances have, and asks one of these for it, so that what is shown does not depend on chance.

// maxDigest is the largest length in bytes of the digest that an instance reports.
const maxDigest = 64

// maxVariants bounds the documents of one place that are compared.
const maxVariants = 4

// variant is what the instances of a place have in common that report one digest.
type variant struct {
	digest    string
	instances []instance // sorted by ID
}

// variants returns the variants of a place, the one to show first; nil unless there are several. Instances that report
// no digest do not count.
func (p *presence) variants(at hostPort) []variant {
	byDigest := make(map[string][]instance)
	for _, each := range p.instances[at.host] {
		if each.Digest != "" && slices.Contains(each.Ports, at.port) {
			byDigest[each.Digest] = append(byDigest[each.Digest], each)
		}
	}
	if len(byDigest) < 2 { //nolint:mnd // one is not a choice
		return nil
	}
	var all []variant
	for _, digest := range slices.Sorted(maps.Keys(byDigest)) {
		all = append(all, variant{digest, byDigest[digest]})
	}
	slices.SortStableFunc(all, func(a, b variant) int {
		return cmp.Or(cmp.Compare(len(b.instances), len(a.instances)), compareVersions(b.newest(), a.newest()))
	})
	return all
}

// newest returns the newest version of the instances.
func (v variant) newest() string {
	return slices.MaxFunc(v.instances, func(a, b instance) int { return compareVersions(a.Version, b.Version) }).Version
}

// String lists the instances: "a1, b2 (version 1)".
func (v variant) String() string {
	const many = 5
	var names []string
	for _, each := range v.instances[:min(len(v.instances), many)] {
		names = append(names, each.ID)
	}
	text := strings.Join(names, ", ")
	if more := len(v.instances) - many; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if version := v.newest(); version != "" {
		text += " (version " + version + ")"
	}
	return text
}

// versionPart matches a number, or what is between numbers, in a version.
var versionPart = regexp.MustCompile(`\d+|\D+`)

// compareVersions orders versions such as v1.9.0 and v1.10.0, in which numbers are compared as numbers.
func compareVersions(a, b string) int {
	parts, others := versionPart.FindAllString(a, -1), versionPart.FindAllString(b, -1)
	return cmp.Or(slices.CompareFunc(parts, others, func(x, y string) int {
		m, err := strconv.Atoi(x)
		n, otherErr := strconv.Atoi(y)
		if err != nil || otherErr != nil {
			return strings.Compare(x, y)
		}
		return cmp.Compare(m, n)
	}), strings.Compare(a, b))
}

// fetchShown returns the document to show of a place. Its note is a sentence about instances with another one; "" for
// none that matter to the caller.
func (c *catalog) fetchShown(ctx context.Context, found *presence, at hostPort,
	before *keptDocument[openapi.Document]) (*keptDocument[openapi.Document], error) {
	all := found.variants(at)
	if all == nil {
		return c.fetch(ctx, at, at.host, before)
	}
	shown, err := c.fetchOf(ctx, at, all[0], before)
	if shown.document == nil || err != nil { // it has left meanwhile, or hides all
		return shown, err
	}
	var notes []string
	for _, other := range all[1:min(len(all), maxVariants)] {
		serves, err := c.fetchOf(ctx, at, other, nil)
		if serves.document == nil || err != nil {
			continue // it has left meanwhile, or shows nothing
		}
		if text := describeChanges(compare.Documents(shown.document, serves.document)); text != "" {
			notes = append(notes, "at "+other.String()+" "+text)
		}
	}
	if len(notes) > 0 {
		shown.note = fmt.Sprintf("Instances of %s differ. Shown is what %s serve; %s.", at, all[0], strings.Join(notes, "; "))
	}
	return shown, nil
}

// fetchOf returns the document of the first instance of a variant, or of the second one if the first has left
// meanwhile.
func (c *catalog) fetchOf(ctx context.Context, at hostPort, of variant,
	before *keptDocument[openapi.Document]) (found *keptDocument[openapi.Document], err error) {
	const tries = 2
	for _, each := range of.instances[:min(len(of.instances), tries)] {
		if found, err = c.fetch(ctx, at, plane.Peer{Host: at.host, ID: each.ID}.String(), before); found.document != nil ||
			err != nil {
			break
		}
	}
	return found, err
}

// describeChanges says what is different, and whether that breaks callers; "" if nothing is.
func describeChanges(changes []compare.Change) string {
	if len(changes) == 0 {
		return ""
	}
	change, effect := changes[0], "which breaks no callers of the shown one"
	if at := slices.IndexFunc(changes, func(each compare.Change) bool { return each.Breaks }); at >= 0 {
		change, effect = changes[at], "which breaks callers of the shown one"
	}
	text := change.Text
	switch more := len(changes) - 1; {
	case more == 1:
		text += ", and one more difference"
	case more > 1:
		text += fmt.Sprintf(", and %d more differences", more)
	}
	return text + ", " + effect
}
