package contexts

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// The variables that contexts keep, in groups: a group comes from one source.
const (
	urlVariable   = "BUS_NATS_URL"
	planeVariable = "BUS_PLANE"
	tokenVariable = "BUS_TOKEN"
)

// loginVariables are how to log in to a broker. Those of isFile are paths, those of isSecret are never shown.
func loginVariables() []string {
	return []string{"BUS_NATS_CREDS", "BUS_NATS_NKEY", "BUS_NATS_USER", "BUS_NATS_PASSWORD", "BUS_NATS_TOKEN",
		"BUS_NATS_CA", "BUS_NATS_CERT", "BUS_NATS_KEY"}
}

func isFile(variable string) bool {
	return slices.Contains([]string{"BUS_NATS_CREDS", "BUS_NATS_NKEY", "BUS_NATS_CA", "BUS_NATS_CERT", "BUS_NATS_KEY"},
		variable)
}

func isSecret(variable string) bool {
	return slices.Contains([]string{"BUS_NATS_PASSWORD", "BUS_NATS_TOKEN", tokenVariable}, variable)
}

func groups() [][]string {
	return [][]string{{urlVariable}, loginVariables(), {planeVariable}, {tokenVariable}}
}

func variables() []string { return slices.Concat(groups()...) }

// Given is what a command line and its environment say.
type Given struct {
	// URL, Plane and Token are flags, "" if they are not set.
	URL, Plane, Token string
	// Context is the flag for the name of a context, "" if it is not set.
	Context string
	// Getenv returns environment variables.
	Getenv func(name string) string
	// Setenv sets environment variables of the process, which bus.Connect reads. Nil: there are no contexts.
	Setenv func(name, value string) error
}

// setting is a variable that is in force.
type setting struct {
	Variable string `json:"variable"`
	Value    string `json:"value"`
	From     string `json:"from"` // its source, for people
}

// source is where values come from.
type source struct {
	name      string
	values    values
	isContext bool
}

func (s *source) has(group []string) bool {
	return slices.ContainsFunc(group, func(variable string) bool { return s.values[variable] != "" })
}

// Names of sources, besides those of contexts.
const (
	commandLine = "the command line"
	environment = "the environment"
	inUse       = ", in use" // the end of the name of a context
)

// sources are those of one command line, the one that wins first.
type sources []source

// sources returns the sources of a command line. With withoutUse the context in use is none of them.
func (g *Given) sources(withoutUse bool) (sources, error) {
	flags := source{name: commandLine,
		values: values{urlVariable: g.URL, planeVariable: g.Plane, tokenVariable: g.Token}}
	process := source{name: environment, values: make(values)}
	for _, variable := range variables() {
		process.values[variable] = g.Getenv(variable)
	}
	name := cmp.Or(g.Context, g.Getenv("BUSLINE_CONTEXT"))
	if name == "" && withoutUse {
		return sources{flags, process}, nil
	}
	path, err := pathOf(g.Getenv)
	switch {
	case err != nil && name == "": // such as a container without a home
		return sources{flags, process}, nil
	case err != nil:
		return nil, err
	}
	contexts, err := read(path)
	if err != nil {
		return nil, err
	}
	if name != "" {
		kept, err := contexts.find(name)
		return sources{flags, {"context " + name, kept, true}, process}, err
	}
	kept, err := contexts.inUse()
	return sources{flags, process, {"context " + contexts.InUse + inUse, kept, true}}, err
}

// settings returns what is in force: each group of variables from the first source that has it.
func (s sources) settings() (all []setting) {
	broker := s.first([]string{urlVariable}, nil)
	for _, group := range groups() {
		from := s.first(group, func(each *source) bool {
			return group[0] == urlVariable || group[0] == planeVariable || each.isFor(broker, group)
		})
		if from == nil {
			continue
		}
		for _, variable := range group {
			if value := from.values[variable]; value != "" {
				all = append(all, setting{variable, value, from.name})
			}
		}
	}
	return all
}

// isFor reports whether a login or a token may be sent to a broker, which is nil for the default: those of a context
// are for its own broker alone. To the broker of a context that was chosen, no other login is sent either; one of the
// environment has precedence over a context that is only in use.
func (s *source) isFor(broker *source, group []string) bool {
	switch {
	case s.isContext:
		return broker == nil || broker.values[urlVariable] == s.values[urlVariable]
	case s.name == environment && group[0] != tokenVariable:
		return broker == nil || !broker.isContext || strings.HasSuffix(broker.name, inUse)
	default:
		return true
	}
}

// first returns the first source that has some of a group, and that may be used, nil if there is none.
func (s sources) first(group []string, mayBe func(*source) bool) *source {
	for i := range s {
		if each := &s[i]; each.has(group) && (mayBe == nil || mayBe(each)) {
			return each
		}
	}
	return nil
}

// Apply sets the environment variables of the process as the context says that was chosen, or that is in use. Flags
// stay what they are. It is not safe for concurrent use, and may be repeated.
func (g *Given) Apply() error {
	if g.Setenv == nil {
		return nil
	}
	found, err := g.sources(false)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(found, func(each source) bool { return each.isContext && each.has(variables()) }) {
		return nil
	}
	inForce, flags := make(values), found[0].values
	for _, each := range found.settings() {
		inForce[each.Variable] = each.Value
	}
	for _, variable := range variables() {
		if value := inForce[variable]; flags[variable] == "" && value != g.Getenv(variable) {
			if err := g.Setenv(variable, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// kept returns what a context keeps of the command line: paths are absolute, so that they hold in each folder.
func (g *Given) kept() (values, error) {
	found, err := g.sources(true)
	if err != nil {
		return nil, err
	}
	kept := make(values)
	for _, each := range found.settings() {
		if kept[each.Variable] = each.Value; isFile(each.Variable) {
			if kept[each.Variable], err = filepath.Abs(each.Value); err != nil {
				return nil, err
			}
		}
	}
	if len(kept) == 0 {
		return nil, misuse("there is nothing to keep: add --url, --plane or --token, or set %s",
			strings.Join(variables(), ", "))
	}
	return kept, nil
}

// masked is what is shown instead of a secret.
const masked = "***"

// mask returns the value of a variable without what is secret in it.
func mask(variable, value string) string {
	switch {
	case value == "":
		return ""
	case isSecret(variable):
		return masked
	case variable == urlVariable:
		urls := strings.Split(value, ",")
		for i, each := range urls {
			urls[i] = maskLogin(each)
		}
		return strings.Join(urls, ",")
	default:
		return value
	}
}

// maskLogin returns a URL without its password, or without the token that stands for user and password.
func maskLogin(url string) string {
	at := strings.LastIndex(url, "@")
	if at < 0 {
		return url
	}
	scheme, login, hasScheme := strings.Cut(url[:at], "://")
	if !hasScheme {
		scheme, login = "", scheme
	} else {
		scheme += "://"
	}
	if user, _, hasPassword := strings.Cut(login, ":"); hasPassword {
		return scheme + user + ":" + masked + url[at:]
	}
	return scheme + masked + url[at:]
}
