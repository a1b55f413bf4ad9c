package agent

import (
	"encoding/json"

	"github.com/busline/busline/bus/cmd/busline/internal/cli"
)

// WordsOf returns the command line that the arguments of a tool become, and the names of its flags.
func WordsOf(name string, arguments json.RawMessage) (words, flags []string, err error) {
	for _, each := range toolsOf(cli.Environment{}) {
		if each.definition.Name != name {
			continue
		}
		for flag := range each.flags {
			flags = append(flags, flag)
		}
		line, err := each.parse(arguments)
		if err != nil {
			return nil, nil, err
		}
		return line.words, flags, nil
	}
	return nil, nil, nil
}
