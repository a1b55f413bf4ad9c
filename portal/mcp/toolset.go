package mcp

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"maps"
	"slices"
	"strings"

	"github.com/busline/busline/portal/internal/outside"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

// toolset is the tools of one caller. It is not changed once it is made.
type toolset struct {
	tools   []*tool            // sorted by name
	byName  map[string]*tool   // by the name that each has
	aliases map[string][]*tool // by the names that each could have
}

// publicPort is the port whose functions are tools.
const publicPort = ":443"

// newToolset returns the tools that a document describes.
func newToolset(document *openapi.Document, config *config) *toolset {
	s := &toolset{byName: make(map[string]*tool), aliases: make(map[string][]*tool)}
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		place, rest, _ := outside.CutFirst(path)
		host, isPublic := strings.CutSuffix(place, publicPort)
		if !isPublic || !config.functions.Has(host, rest) {
			continue
		}
		for method, operation := range document.Paths[path].Operations() {
			isHidden := operation.Tool != nil && operation.Tool.Hidden
			if operation.Description != "" && !operation.IsWeb() && !isHidden {
				s.tools = append(s.tools, &tool{host: host, method: method, path: "/" + rest, operation: operation,
					components: document.Components.Schemas})
			}
		}
	}
	s.name()
	return s
}

// name names the tools: payments_pay. Those that would share a name get more of their host, payments_example_pay, and
// those that still do a part that depends on their address alone. No order decides, and no number.
func (s *toolset) name() {
	candidates := make([][]string, len(s.tools))
	for i, each := range s.tools {
		candidates[i] = each.candidates()
		for _, name := range candidates[i] {
			s.aliases[name] = append(s.aliases[name], each)
		}
	}
	for i, name := range distinct(candidates) {
		s.tools[i].name = name
		s.byName[name] = s.tools[i]
	}
	slices.SortFunc(s.tools, func(a, b *tool) int { return cmp.Compare(a.name, b.name) })
}

// names returns the names of all tools.
func (s *toolset) names() []string {
	names := make([]string, len(s.tools))
	for i, each := range s.tools {
		names[i] = each.name
	}
	return names
}

// distinct chooses one of the candidates of each. All that would share a name get their next one. The last candidate of
// each is its own.
func distinct(candidates [][]string) []string {
	at := make([]int, len(candidates))
	for grown := true; grown; {
		count := make(map[string]int)
		for i, each := range candidates {
			count[each[at[i]]]++
		}
		grown = false
		for i, each := range candidates {
			if count[each[at[i]]] > 1 && at[i]+1 < len(each) {
				at[i]++
				grown = true
			}
		}
	}
	chosen := make([]string, len(candidates))
	for i, each := range candidates {
		chosen[i] = each[at[i]]
	}
	return chosen
}

// candidates returns the names that a tool may have, the best first: with more and more of the host, and with a part
// that is made of the address.
func (t *tool) candidates() (all []string) {
	labels := strings.Split(t.host, ".")
	if own := t.operation.Tool; own != nil && own.Name != "" {
		all = append(all, t.fitting(own.Name))
	}
	for i := range labels {
		all = append(all, t.fitting(strings.Join(labels[:i+1], "_")+"_"+t.id()))
	}
	return append(all, t.hashed(strings.Join(labels, "_")+"_"+t.id()))
}

// id returns the name of the operation: list_all.
func (t *tool) id() string {
	name := t.operation.OperationID
	_, own, found := strings.Cut(name, strings.ReplaceAll(publicPort, ":", "_")+"_")
	if found {
		name = own
	}
	if name == "" {
		name = strings.ToLower(t.method) + t.path
	}
	return strings.ReplaceAll(restmap.Kebab(name), "-", "_")
}

// Limits of a name.
const (
	longestName = 64
	hashLength  = 6 // letters
)

// fitting returns a name in the characters and the length that a tool may have.
func (t *tool) fitting(name string) string {
	if len(name) > longestName || strings.ContainsFunc(name, isForeign) {
		return t.hashed(name)
	}
	return name
}

// isForeign reports whether no name has a character.
func isForeign(c rune) bool {
	return c != '_' && c != '-' && (c < '0' || '9' < c) && (c < 'A' || 'Z' < c) && (c < 'a' || 'z' < c)
}

// hashed returns a name with a part that is made of the address.
func (t *tool) hashed(name string) string {
	cleaned := strings.Map(func(c rune) rune {
		if isForeign(c) {
			return '_'
		}
		return c
	}, name)
	sum := sha256.Sum256([]byte(t.method + " " + t.host + t.path))
	hash := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:hashLength]
	return cleaned[:min(len(cleaned), longestName-hashLength-1)] + "_" + hash
}
