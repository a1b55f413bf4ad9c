// Package output is how the terminal command prints results: as text, JSON, YAML or names, and by expressions of jq.
//
// options.go has the flags, writer.go converts the JSON that a command prints, yaml.go makes YAML of it, terminal.go
// decides on colours, and cleans texts.
package output

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
	"github.com/spf13/pflag"
)

// Formats of results, besides text, which is the default.
const (
	JSON = "json"
	YAML = "yaml"
	Wide = "wide" // text with more columns
	Name = "name" // one name a line
)

// Formats returns all formats besides text.
func Formats() []string { return []string{JSON, YAML, Wide, Name} }

// Options are the flags of the output. The zero value prints text.
type Options struct {
	format     string // "" for text
	expression string // of jq, "" for none
	code       *gojq.Code
	color      choice
}

// Register adds the flags to a set: --output, --json, which is a short form of it, --jq and --color.
func (o *Options) Register(set *pflag.FlagSet) {
	o.color = Auto
	set.VarP((*formatValue)(o), "output", "o",
		"print results as json or yaml, as wide tables, or by name, one a line; not all commands have all")
	set.Var((*jsonValue)(o), "json", "print JSON, also for errors: -o json")
	set.Lookup("json").NoOptDefVal = "true"
	set.StringVar(&o.expression, "jq", "", "print what this `expression` of jq makes of the JSON, texts without quotes")
	set.Var(&o.color, "color", "colours: auto, always or never; auto is for terminals, unless NO_COLOR is set")
}

// Check returns what is wrong with the flags for a command that has some of the formats, perhaps none: JSON is then
// only for errors. It compiles the expression of jq.
func (o *Options) Check(formats []string) error {
	switch {
	case len(formats) == 0 && o.Converts():
		return fmt.Errorf("%s is not for this command, which prints no JSON", o.flag())
	case len(formats) == 0 && o.format != "" && o.format != JSON:
		return fmt.Errorf("-o %s is not for this command; it takes json, for errors", o.format)
	case len(formats) > 0 && o.format != "" && !slices.Contains(formats, o.format):
		return fmt.Errorf("-o %s is not for this command; it takes %s", o.format, strings.Join(formats, ", "))
	case o.expression == "":
		return nil
	case o.format == Wide || o.format == Name:
		return fmt.Errorf("--jq does not go with -o %s: it selects from JSON", o.format)
	}
	query, err := gojq.Parse(o.expression)
	if err != nil {
		return fmt.Errorf("--jq: %q is no expression of jq: %w", o.expression, err)
	}
	if o.code, err = gojq.Compile(query); err != nil {
		return fmt.Errorf("--jq: %q: %w", o.expression, err)
	}
	return nil
}

// IsJSON reports whether a command has to print JSON, from which [Options.Writer] makes what is printed, and whether
// errors are JSON.
func (o *Options) IsJSON() bool { return o.format == JSON || o.Converts() }

// Converts reports whether JSON does not stay as it is.
func (o *Options) Converts() bool { return o.format == YAML || o.expression != "" }

// IsWide reports whether tables have all columns.
func (o *Options) IsWide() bool { return o.format == Wide }

// IsName reports whether only names are printed.
func (o *Options) IsName() bool { return o.format == Name }

// flag returns what makes the output differ from JSON, as it is typed.
func (o *Options) flag() string {
	if o.expression != "" {
		return "--jq"
	}
	return "-o " + o.format
}

// formatValue is the flag --output.
type formatValue Options

// String implements pflag.Value.
func (v *formatValue) String() string { return v.format }

// Type implements pflag.Value.
func (*formatValue) Type() string { return "format" }

// Set implements pflag.Value.
func (v *formatValue) Set(text string) error {
	if !slices.Contains(Formats(), text) {
		return errors.New(strings.Join(Formats(), ", "))
	}
	v.format = text
	return nil
}

// jsonValue is the flag --json.
type jsonValue Options

// String implements pflag.Value.
func (v *jsonValue) String() string { return strconv.FormatBool(v.format == JSON) }

// Type implements pflag.Value.
func (*jsonValue) Type() string { return "bool" }

// Set implements pflag.Value.
func (v *jsonValue) Set(text string) error {
	on, err := strconv.ParseBool(text)
	switch {
	case err != nil:
		return err
	case on:
		v.format = JSON
	case v.format == JSON:
		v.format = ""
	}
	return nil
}
