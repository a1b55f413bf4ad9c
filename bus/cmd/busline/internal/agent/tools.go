package agent

import (
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/busline/busline/bus/cmd/busline/internal/cli"
)

// tool is a subcommand that an agent may run.
type tool struct {
	definition *sdk.Tool
	path       []string // "events", "tail"
	flags      map[string]*pflag.Flag
	operands   operands
	endless    bool // it ends when it is interrupted
}

// toolsOf returns the subcommands that are tools in an environment, in the order of the tree.
func toolsOf(environment cli.Environment) (tools []*tool) {
	withoutChanges := environment
	withoutChanges.ReadOnly = true
	readOnly := commandsBelow(cli.Tree(withoutChanges))
	for _, each := range commandsBelow(cli.Tree(environment)) {
		t := newTool(each)
		t.define(each, slices.ContainsFunc(readOnly, func(other *cobra.Command) bool {
			return other.CommandPath() == each.CommandPath() && len(newTool(other).flags) == len(t.flags) &&
				(environment.ReadOnly || other.Annotations[cli.MayChange] == "")
		}))
		tools = append(tools, t)
	}
	return tools
}

// commandsBelow returns the commands that do something for an agent: not those that only have subcommands, nor those
// for a shell, nor key and token, which write private keys.
func commandsBelow(c *cobra.Command) (commands []*cobra.Command) {
	for _, each := range c.Commands() {
		switch {
		case !each.IsAvailableCommand() || slices.Contains([]string{"completion", "help", "key", "token"}, each.Name()):
		case each.HasSubCommands():
			commands = append(commands, commandsBelow(each)...)
		default:
			commands = append(commands, each)
		}
	}
	return commands
}

func newTool(c *cobra.Command) *tool {
	t := &tool{path: strings.Fields(c.CommandPath())[1:], flags: make(map[string]*pflag.Flag), operands: operandsOf(c.Use),
		endless: c.Annotations[cli.Endless] != ""}
	c.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden && flag.Name != "help" {
			t.flags[flag.Name] = flag
		}
	})
	t.flags[jsonFlag] = c.InheritedFlags().Lookup(jsonFlag)
	if c.Annotations[cli.Prints] != "" {
		t.flags[jqFlag] = c.InheritedFlags().Lookup(jqFlag)
	}
	return t
}

// Flags of all subcommands that a tool has, too.
const (
	jsonFlag = "json"
	jqFlag   = "jq"
)

// operands are what a subcommand takes besides flags.
type operands struct {
	usage       string // "<publisher> [service]"
	least, most int    // most is 0 if there is no limit
}

// operandsOf reads the usage of a subcommand: "dead-letters <publisher> [service]".
func operandsOf(usage string) (o operands) {
	_, o.usage, _ = strings.Cut(usage, " ")
	o.least = strings.Count(o.usage, "<")
	if !strings.Contains(o.usage, "…") && !strings.Contains(o.usage, "...") {
		o.most = o.least + strings.Count(o.usage, " [") + strings.Count(o.usage[:min(len(o.usage), 1)], "[")
	}
	return o
}

// takesNone reports whether there are no operands at all.
func (o operands) takesNone() bool { return o.usage == "" }

// property describes the operands as a member of the arguments.
func (o operands) property() map[string]any {
	property := map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "minItems": o.least,
		"description": "what follows the command, one word each and without quotes of a shell: " + o.usage}
	if o.most > 0 {
		property["maxItems"] = o.most
	}
	return property
}

// Arguments of tools that are no flags.
const (
	operandsName = "operands"
	secondsName  = "seconds"
)

// How long a tool runs, in seconds.
const (
	defaultSeconds = 10
	mostSeconds    = 60
)

// define describes the tool to agents, as the help of the subcommand describes it to people.
func (t *tool) define(c *cobra.Command, readOnly bool) {
	properties := map[string]any{secondsName: map[string]any{
		"type": "integer", "minimum": 1, "maximum": mostSeconds, "default": defaultSeconds,
		"description": "ends it after so many seconds, as Ctrl-C does",
	}}
	required := []string{}
	for name, flag := range t.flags {
		properties[name] = propertyOf(flag)
	}
	if !t.operands.takesNone() {
		properties[operandsName] = t.operands.property()
	}
	if t.operands.least > 0 {
		required = append(required, operandsName)
	}
	description := c.Long + "\n\nAs command lines:\n" + c.Example
	if readOnly && c.Annotations[cli.MayChange] != "" {
		description += "\n\nOnly what is GET in the document of its host, or declared //busline:tool readOnly, can be " +
			"called, and files cannot be read, unless the developer starts busline mcp with --write."
	}
	destructive := !readOnly
	t.definition = &sdk.Tool{
		Name: strings.ReplaceAll(strings.Join(t.path, "_"), "-", "_"), Title: c.Short, Description: description,
		InputSchema: map[string]any{"type": "object", "properties": properties, "required": required,
			"additionalProperties": false},
		Annotations: &sdk.ToolAnnotations{Title: c.Short, ReadOnlyHint: readOnly, DestructiveHint: &destructive},
	}
}

// propertyOf describes a flag as a member of the arguments.
func propertyOf(flag *pflag.Flag) map[string]any {
	_, usage := pflag.UnquoteUsage(flag)
	property := map[string]any{"description": usage}
	switch flag.Value.Type() {
	case "bool":
		property["type"] = "boolean"
	case "int":
		property["type"] = "integer"
		if flag.DefValue != "0" {
			property["default"] = json.Number(flag.DefValue)
		}
	case "func":
		property["type"], property["items"] = "array", map[string]any{"type": "string"}
	default:
		property["type"] = "string"
		if flag.DefValue != "" && flag.DefValue != "0s" {
			property["default"] = flag.DefValue
		}
	}
	if choices := flag.Annotations[cli.Choices]; choices != nil {
		property["enum"] = choices
	}
	return property
}
