package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/reflectapi/strictjson"
)

// The tools in place of a list that would be too long.
const (
	findName     = "find"
	describeName = "describe"
	callName     = "call"
)

// Limits of what find says.
const (
	mostFound = 20
	mostHosts = 100
)

// finders returns the tools that find, describe and call others.
func (s *toolset) finders() []*sdk.Tool {
	closed, open := false, true
	reads := func(title string) *sdk.ToolAnnotations {
		return &sdk.ToolAnnotations{Title: title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &closed,
			OpenWorldHint: &closed}
	}
	return []*sdk.Tool{
		{
			Name: findName, Title: "Find tools", Annotations: reads("Find tools"),
			Description: fmt.Sprintf("Finds some of the %d tools by words of their names and descriptions. "+
				"Without a query it lists the hosts, and how many tools each has.", len(s.tools)),
			InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string",` +
				`"description":"words, such as: pay receipt"},"host":{"type":"string","description":"only tools of this host"},` +
				`"skip":{"type":"integer","minimum":0,"description":"how many that were found before to leave out"}}}`),
		},
		{
			Name: describeName, Title: "Describe a tool", Annotations: reads("Describe a tool"),
			Description: "Returns the description of a tool, and the schemas of its arguments and its result.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
		},
		{
			Name: callName, Title: "Call a tool", Annotations: &sdk.ToolAnnotations{Title: "Call a tool",
				DestructiveHint: &open, OpenWorldHint: &open},
			Description: "Calls a tool with arguments as its description says.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},` +
				`"arguments":{"type":"object"}},"required":["name"]}`),
		},
	}
}

// query is what find is asked.
type query struct {
	Query string `json:"query"`
	Host  string `json:"host"`
	Skip  int    `json:"skip"`
}

// find returns the tools that have the words of a query, the best first; without one the hosts.
func (s *toolset) find(raw json.RawMessage) *sdk.CallToolResult {
	var asked query
	if len(raw) > 0 {
		if err := strictjson.Unmarshal(raw, &asked); err != nil {
			return refusal("", bus.Errorf(http.StatusBadRequest, "%s takes query, host and skip: %w", findName, err))
		}
	}
	if asked.Query == "" && asked.Host == "" {
		return textResult(s.hosts())
	}
	found := s.ranked(asked)
	rest := found[min(max(0, asked.Skip), len(found)):]
	lines := make([]string, 0, mostFound)
	for _, each := range rest[:min(len(rest), mostFound)] {
		lines = append(lines, each.name+": "+each.summary())
	}
	switch left := len(rest) - len(lines); {
	case len(found) == 0:
		lines = append(lines, "No tool has these words. Try fewer, or none for a list of hosts.")
	case left > 0:
		lines = append(lines, fmt.Sprintf("%d more: ask with skip %d.", left, len(found)-left))
	}
	return textResult(lines)
}

// hosts lists the hosts, and how many tools each has.
func (s *toolset) hosts() (lines []string) {
	counts := make(map[string]int)
	var hosts []string
	for _, each := range s.tools {
		if counts[each.host] == 0 {
			hosts = append(hosts, each.host)
		}
		counts[each.host]++
	}
	slices.Sort(hosts)
	for _, host := range hosts[:min(len(hosts), mostHosts)] {
		lines = append(lines, fmt.Sprintf("%s: %d", host, counts[host]))
	}
	if left := len(hosts) - len(lines); left > 0 {
		lines = append(lines, fmt.Sprintf("%d more hosts: ask with a query.", left))
	}
	return lines
}

// ranked returns the tools that have a word of a query: first those with the most, a name before a description.
func (s *toolset) ranked(asked query) (found []*tool) {
	const inName, inText = 3, 1
	words := strings.FieldsFunc(strings.ToLower(asked.Query), func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c)
	})
	scores := make(map[*tool]int)
	for _, each := range s.tools {
		if asked.Host != "" && each.host != asked.Host {
			continue
		}
		name, text := strings.ToLower(each.name), strings.ToLower(each.host+" "+each.operation.Description)
		for _, word := range words {
			if strings.Contains(name, word) {
				scores[each] += inName
			}
			if strings.Contains(text, word) {
				scores[each] += inText
			}
		}
		if scores[each] > 0 || len(words) == 0 {
			found = append(found, each)
		}
	}
	slices.SortStableFunc(found, func(a, b *tool) int { return scores[b] - scores[a] })
	return found
}

// describe returns the definition of a tool.
func (s *toolset) describe(raw json.RawMessage) *sdk.CallToolResult {
	name, _, err := calledBy(raw)
	if err != nil {
		return refusal("", bus.Errorf(http.StatusBadRequest, "%s takes the name of a tool", describeName))
	}
	known, err := s.named(name)
	if err != nil {
		return refusal("", bus.Errorf(http.StatusNotFound, "%w", err))
	}
	definition, err := known.definition()
	if err != nil {
		return refusal("", err)
	}
	text, err := json.Marshal(definition)
	if err != nil {
		return refusal("", err)
	}
	return structured(text)
}

func textResult(lines []string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Join(lines, "\n")}}}
}
