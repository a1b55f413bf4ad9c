package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/busline/busline/reflectapi/similar"
)

// commandLine is a subcommand with its arguments.
type commandLine struct {
	words []string
	limit time.Duration
}

// parse makes a command line of the arguments of a call. Operands are behind two dashes, and values are in one word
// with their flag, so that neither becomes another flag.
func (t *tool) parse(raw json.RawMessage) (*commandLine, error) {
	var values map[string]json.RawMessage
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &values); err != nil {
			return nil, fmt.Errorf("the arguments are not a JSON object: %w", err)
		}
	}
	line := &commandLine{words: slices.Clone(t.path), limit: defaultSeconds * time.Second}
	var behind []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		var err error
		switch flag := t.flags[name]; {
		case string(bytes.TrimSpace(values[name])) == "null": // is absent
		case name == secondsName:
			line.limit, err = parseSeconds(values[name])
		case name == operandsName && !t.operands.takesNone():
			behind, err = parseOperands(values[name])
		case flag == nil:
			return nil, t.noArgument(name)
		default:
			var words []string
			words, err = parseFlag(flag, values[name])
			line.words = append(line.words, words...)
		}
		if err != nil {
			return nil, err
		}
	}
	line.words = append(append(line.words, "--"), behind...)
	return line, nil
}

func (t *tool) noArgument(name string) error {
	names := append(slices.Sorted(maps.Keys(t.flags)), secondsName)
	if !t.operands.takesNone() {
		names = append(names, operandsName)
	}
	return fmt.Errorf("%s has no argument %.80q, it takes %s%s", t.definition.Name, name, strings.Join(names, ", "),
		similar.DidYouMean(name, names))
}

func parseSeconds(raw json.RawMessage) (time.Duration, error) {
	var seconds float64
	if json.Unmarshal(raw, &seconds) != nil || seconds < 1 || seconds > mostSeconds {
		return 0, fmt.Errorf("%s: %.80s is not valid; write a number from 1 to %d", secondsName, raw, mostSeconds)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

func parseOperands(raw json.RawMessage) (words []string, err error) {
	if json.Unmarshal(raw, &words) != nil {
		return nil, fmt.Errorf(`%s: %.80s is not valid; write an array of texts, such as ["calculator.example/add", "x=5"]`,
			operandsName, raw)
	}
	return words, nil
}

// parseFlag returns a flag with its value, several if it is repeated.
func parseFlag(flag *pflag.Flag, raw json.RawMessage) ([]string, error) {
	var texts []string
	var err error
	form := "a text"
	switch flag.Value.Type() {
	case "bool":
		var value bool
		err = json.Unmarshal(raw, &value)
		texts, form = []string{strconv.FormatBool(value)}, "true or false"
	case "int":
		var value int
		err = json.Unmarshal(raw, &value)
		texts, form = []string{strconv.Itoa(value)}, "an integer"
	case "func":
		err = json.Unmarshal(raw, &texts)
		form = "an array of texts"
	default:
		texts = make([]string, 1)
		err = json.Unmarshal(raw, &texts[0])
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %.80s is not valid; write %s", flag.Name, raw, form)
	}
	for i := range texts {
		texts[i] = "--" + flag.Name + "=" + texts[i]
	}
	return texts, nil
}
