package outside

import (
	"fmt"
	"slices"
	"strings"

	"github.com/busline/busline/bus/subject"
)

// Chosen names functions or events by host and path: "payments.example/pay", "payments.example/*" for all of a host,
// "*" for all of the bus.
type Chosen []string

// Check returns an error for what names nothing; nil, as without the option, is none. The option and the kind of what
// is chosen are for the error, and so is an example, "payments.example/pay".
func (c Chosen) Check(option, kind, example string) error {
	host, _, _ := strings.Cut(example, "/")
	if c != nil && len(c) == 0 {
		return fmt.Errorf(`%s names no %s: name each, as in %q, all of a host, "%s/*", or "*" for all`, option, kind, example,
			host)
	}
	for _, each := range c {
		if !isChoice(each) {
			return fmt.Errorf(`%s: %q names no %s: write %q, "%s/*" for all of a host, or "*" for all`, option, each, kind,
				example, host)
		}
	}
	return nil
}

func isChoice(text string) bool {
	host, name, _ := strings.Cut(text, "/")
	isHost := host != HostAll && subject.CheckHost(host) == nil
	return text == "*" || isHost && (name == "*" || isName(name))
}

// isName reports whether a path that is called can be this one, which may have placeholders.
func isName(path string) bool {
	literal := strings.NewReplacer("{", "", "}", "").Replace(path)
	return path != "" && path[0] != '/' && !strings.Contains(path, "*") && strings.IndexFunc(literal, IsStray) < 0
}

// Has reports whether a function or an event of a host is chosen.
func (c Chosen) Has(host, name string) bool {
	return slices.Contains(c, "*") || slices.Contains(c, host+"/*") || slices.Contains(c, host+"/"+name)
}

// HasAllOf reports whether all of a host is chosen.
func (c Chosen) HasAllOf(host string) bool { return c.Has(host, "*") }
