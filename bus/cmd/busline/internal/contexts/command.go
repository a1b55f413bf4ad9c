package contexts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Terminal is what the subcommand context needs of the terminal command.
type Terminal struct {
	// Given returns what the command line says.
	Given func() *Given
	// Show prints a result as the flags say.
	Show func(Result) error
	// Note prints a remark.
	Note func(format string, values ...any)
	// Prints annotates a command that shows results, with the formats that it has besides JSON and YAML.
	Prints func(c *cobra.Command, formats ...string) *cobra.Command
	// Annotations are for commands that change something.
	Annotations map[string]string
}

// Result is what a subcommand shows.
type Result struct {
	Value any        // for JSON
	Rows  [][]string // a table with its heading
	Names []string   // for -o name
}

// Command returns the subcommand context.
func Command(t *Terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "context",
		Short: "Buses by name: keep how to reach one, and choose it",
		Long: `A context keeps how to reach a bus: what --url, --plane and --token say, and the variables BUS_NATS_…,
BUS_PLANE and BUS_TOKEN. --context or BUSLINE_CONTEXT names the one of a command line, busline context use
the one of all that follow. Flags win, then the context that is named, then the variables of the
environment, then the context in use. The login and the token of a context are for its own broker: with
another --url they are not used. busline dev, which has a broker of its own, has no context.

The file is busline/contexts.json in the folder for configurations of the user, or BUSLINE_CONFIG, and
only its owner may read it: tokens and passwords are in it as they are.`,
		Example: "  busline --url tls://nats.example.com --plane staging context save staging\n" +
			"  busline context use staging\n  busline --context production ls\n  busline context show",
	}
	c.AddCommand(t.newSave(), t.newUse(), t.newList(), t.newShow(), t.newRemove())
	return c
}

// open reads the contexts.
func (t *Terminal) open() (*file, error) {
	path, err := pathOf(t.Given().Getenv)
	if err != nil {
		return nil, err
	}
	return read(path)
}

// Complete returns the names of the contexts, none after an error.
func (t *Terminal) Complete(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	contexts, err := t.open()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return contexts.names(), cobra.ShellCompDirectiveNoFileComp
}

// completeOne completes the name that is the only operand.
func (t *Terminal) completeOne(c *cobra.Command, before []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(before) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return t.Complete(c, before, word)
}

func (t *Terminal) newSave() *cobra.Command {
	return &cobra.Command{
		Use:   "save <name>",
		Short: "Keep what the command line and the environment say",
		Long: `Keeps --url, --plane and --token, and the variables BUS_NATS_…, BUS_PLANE and BUS_TOKEN, under a name,
in place of what the name had. Paths of files are kept, not their content. With --context it begins with
what that context has. The context in use does not matter.`,
		Example:           "  busline --url tls://nats.example.com --plane staging context save staging",
		Annotations:       t.Annotations,
		ValidArgsFunction: t.completeOne,
		RunE: func(_ *cobra.Command, names []string) error {
			if len(names) != 1 {
				return misuse("name the context, as in: busline --url tls://nats.example.com context save staging")
			}
			return t.save(names[0])
		},
	}
}

func (t *Terminal) save(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	kept, err := t.Given().kept()
	if err != nil {
		return err
	}
	contexts, err := t.open()
	if err != nil {
		return err
	}
	contexts.Contexts[name] = kept
	if err := contexts.write(); err != nil {
		return err
	}
	t.Note("context %s has %s", name, strings.Join(variablesIn(kept), ", "))
	return nil
}

// variablesIn returns the variables that a context has.
func variablesIn(kept values) (names []string) {
	for _, variable := range variables() {
		if kept[variable] != "" {
			names = append(names, variable)
		}
	}
	return names
}

func (t *Terminal) newUse() *cobra.Command {
	none := false
	c := &cobra.Command{
		Use:               "use <name>",
		Short:             "Choose a context for all that follows",
		Long:              "The commands that follow use this context, where flags and the environment say nothing else.",
		Example:           "  busline context use staging\n  busline context use --none",
		Annotations:       t.Annotations,
		ValidArgsFunction: t.completeOne,
		RunE: func(_ *cobra.Command, names []string) error {
			if none != (len(names) == 0) || len(names) > 1 {
				return misuse("name one context, as in: busline context use staging; or --none")
			}
			contexts, err := t.open()
			if err != nil {
				return err
			}
			contexts.InUse = ""
			if !none {
				if _, err := contexts.find(names[0]); err != nil {
					return err
				}
				contexts.InUse = names[0]
			}
			return contexts.write()
		},
	}
	c.Flags().BoolVar(&none, "none", false, "use no context")
	return c
}

// listedContext is a context in the list.
type listedContext struct {
	Name  string `json:"name"`
	InUse bool   `json:"inUse"`
	URL   string `json:"url,omitempty"`
	Plane string `json:"plane,omitempty"`
	Token bool   `json:"token"` // it has one
}

func (t *Terminal) newList() *cobra.Command {
	return t.Prints(&cobra.Command{
		Use:               "ls",
		Short:             "All contexts",
		Long:              "Lists the contexts, and marks the one in use.",
		Example:           "  busline context ls\n  busline context ls -o name",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, operands []string) error {
			if len(operands) > 0 {
				return misuse("ls takes no arguments; busline context show %s shows one", operands[0])
			}
			contexts, err := t.open()
			if err != nil {
				return err
			}
			all, rows := []listedContext{}, [][]string{{"", "NAME", "URL", "PLANE", "TOKEN"}}
			for _, name := range contexts.names() {
				kept, mark, token := contexts.Contexts[name], "", "-"
				if name == contexts.InUse {
					mark = "*"
				}
				if kept[tokenVariable] != "" {
					token = "yes"
				}
				one := listedContext{name, mark != "", mask(urlVariable, kept[urlVariable]), kept[planeVariable], token == "yes"}
				all = append(all, one)
				rows = append(rows, []string{mark, name, cmp.Or(one.URL, "-"), cmp.Or(one.Plane, "-"), token})
			}
			return t.Show(Result{Value: all, Rows: rows, Names: contexts.names()})
		},
	}, "name")
}

func (t *Terminal) newShow() *cobra.Command {
	return t.Prints(&cobra.Command{
		Use:   "show [name]",
		Short: "What a context has, or what is in force and where it comes from",
		Long: `Shows what a context has; without a name, what a command with these flags, in this environment, would use,
and whether it comes from the command line, from a context, or from the environment. Tokens and passwords
are not shown.`,
		Example:           "  busline context show\n  busline context show staging\n  busline --context staging context show --json",
		ValidArgsFunction: t.completeOne,
		RunE: func(_ *cobra.Command, names []string) error {
			if len(names) > 1 {
				return misuse("name one context, or none for what is in force")
			}
			shown, err := t.settings(names)
			if err != nil {
				return err
			}
			rows := [][]string{{"VARIABLE", "VALUE", "FROM"}}
			for i := range shown {
				each := &shown[i]
				each.Value = mask(each.Variable, each.Value)
				rows = append(rows, []string{each.Variable, each.Value, each.From})
			}
			return t.Show(Result{Value: shown, Rows: rows})
		},
	})
}

// settings returns those of a context, or those in force with their defaults.
func (t *Terminal) settings(names []string) ([]setting, error) {
	if len(names) == 1 {
		contexts, err := t.open()
		if err != nil {
			return nil, err
		}
		kept, err := contexts.find(names[0])
		if err != nil {
			return nil, err
		}
		return sources{{name: "context " + names[0], values: kept}}.settings(), nil
	}
	found, err := t.Given().sources(false)
	if err != nil {
		return nil, err
	}
	shown := found.settings()
	for _, each := range []setting{{urlVariable, "nats://127.0.0.1:4222", "default"}, {planeVariable, "bus", "default"}} {
		if !slices.ContainsFunc(shown, func(other setting) bool { return other.Variable == each.Variable }) {
			shown = append(shown, each)
		}
	}
	slices.SortFunc(shown, func(a, b setting) int {
		return cmp.Compare(slices.Index(variables(), a.Variable), slices.Index(variables(), b.Variable))
	})
	return shown, nil
}

func (t *Terminal) newRemove() *cobra.Command {
	return &cobra.Command{
		Use:               "rm <name …>",
		Short:             "Remove contexts",
		Long:              "Removes contexts. If one of them is in use, none is in use after it.",
		Example:           "  busline context rm staging",
		Annotations:       t.Annotations,
		ValidArgsFunction: t.Complete,
		RunE: func(_ *cobra.Command, names []string) error {
			if len(names) == 0 {
				return misuse("name the contexts, as in: busline context rm staging")
			}
			contexts, err := t.open()
			if err != nil {
				return err
			}
			for _, name := range names {
				if _, err := contexts.find(name); err != nil {
					return err
				}
			}
			for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
				delete(contexts.Contexts, name)
				if name == contexts.InUse {
					contexts.InUse = ""
				}
			}
			return contexts.write()
		},
	}
}
