package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busline/busline/bus/cmd/busline/internal/output"
)

func (s *session) newDescribe() *cobra.Command {
	return prints(&cobra.Command{
		Use:   "describe <host>[/path]",
		Short: "What a host serves: operations, arguments, results",
		Long: `Shows the operations of a host, from the OpenAPI documents of its ports: signature, method and path,
description, arguments and results, and whether it needs a token. With a path, only the operations of
that path. A document shows each caller what it may call: without a token, operations that need one are
missing.`,
		Example: examples(
			"busline describe calculator.example",
			"busline describe products.example/products/{id}",
			"busline describe --token \"$TOKEN\" payroll.example",
			"busline describe calculator.example --json | jq -r '.[].path'",
		),
		RunE: func(c *cobra.Command, operands []string) error {
			if len(operands) != 1 {
				return misuse("name a host, as in: busline describe calculator.example")
			}
			return s.describe(c.Context(), operands[0])
		},
		ValidArgsFunction: s.completing(func(ctx context.Context, before []string, word string) []string {
			if len(before) > 0 {
				return nil
			}
			if strings.Contains(strings.TrimPrefix(word, "https://"), "/") {
				return s.completePath(ctx, word)
			}
			return s.completeHost(ctx, word, "")
		}),
	}, output.Name)
}

// portDocument is the document of one port of a host.
type portDocument struct {
	port int
	*fetched
}

// describe prints the description of its operand.
func (s *session) describe(ctx context.Context, operand string) error {
	to, err := parseAddress(operand)
	if err != nil {
		return err
	}
	instances, documents, err := s.documentsOf(ctx, to, strings.Contains(strings.TrimPrefix(operand, "https://"), ":"))
	if err != nil {
		return err
	}
	var all []operation
	for _, each := range documents {
		all = append(all, operationsOf(each.document)...)
	}
	if len(all) == 0 {
		return &failure{status: failed,
			err: fmt.Errorf("the document of %s does not describe the host itself; busline docs %s prints all of it",
				to.place(), to.place())}
	}
	shown := all
	if to.path != "/" {
		if shown = at(all, to.path); len(shown) == 0 {
			return s.unknownPath(to, all)
		}
	}
	if s.settings.IsJSON() {
		return s.describeJSON(shown)
	}
	if s.settings.IsName() {
		var names strings.Builder
		for i := range shown {
			names.WriteString(shown[i].heading() + "\n")
		}
		return s.print("%s", names.String())
	}
	var text strings.Builder
	if to.path == "/" {
		s.writeHost(&text, to, instances, documents)
		for _, each := range documents {
			text.WriteString(s.differences(ctx, instances, each.port))
		}
	}
	for i, each := range shown {
		if i > 0 || to.path == "/" {
			text.WriteString("\n")
		}
		s.writeOperation(&text, &each)
	}
	return s.print("%s", text.String())
}

// documentsOf fetches the documents of all ports of a host, or of one if the address names it.
func (s *session) documentsOf(ctx context.Context, to address,
	onePort bool) (instances []instance, documents []portDocument, err error) {
	instances, err = s.discover(ctx, to.host)
	if err != nil {
		return nil, nil, err
	}
	if len(instances) == 0 {
		_, err := s.allowed(ctx, to) // a multicast does not distinguish an instance that hangs from one that is not there
		return nil, nil, s.hostNotFound(ctx, to.host, err)
	}
	ports := portsOf(instances)
	if onePort {
		ports = []int{to.port}
	}
	for _, port := range ports {
		known, err := s.fetch(ctx, to.host, port)
		if errors.Is(err, errUndescribed) {
			continue // everything there is hidden
		}
		if err != nil {
			return nil, nil, err
		}
		documents = append(documents, portDocument{port, known})
	}
	if len(documents) == 0 && onePort {
		if err := portless(to, instances); err != nil {
			return nil, nil, err
		}
	}
	if len(documents) == 0 {
		return nil, nil, &failure{status: failed, err: fmt.Errorf("%s has no document%s", to.place(), s.reasonForNone(ports))}
	}
	return instances, documents, nil
}

// reasonForNone says, in a sentence, why a host that serves on these ports has no document.
func (s *session) reasonForNone(ports []int) string {
	if len(ports) == 0 {
		return ", as it serves nothing: it only calls, or subscribes to events"
	}
	return s.withoutToken() + ": give the --token of a caller whom it shows more, or serve it without bus.Undocumented"
}

// at returns the operations of a path, as written in the document or as called.
func at(all []operation, path string) (found []operation) {
	for _, each := range all {
		if each.path == path {
			found = append(found, each)
		}
	}
	if found != nil {
		return found
	}
	for _, each := range all {
		if _, _, ok := each.match(path); ok {
			found = append(found, each)
		}
	}
	return found
}

// writeHost writes the description of the whole host.
func (s *session) writeHost(text *strings.Builder, to address, instances []instance, documents []portDocument) {
	var about []string
	switch versions := versionsOf(instances); len(versions) {
	case 0:
	case 1:
		about = append(about, "version "+versions[0])
	default: // as during an upgrade
		about = append(about, "versions "+strings.Join(versions, " and "))
	}
	about = append(about, plural(len(instances), "instance"))
	var ports []string
	for _, each := range documents {
		ports = append(ports, strconv.Itoa(each.port))
	}
	if len(ports) == 1 {
		about = append(about, "port "+ports[0])
	} else {
		about = append(about, "ports "+strings.Join(ports, " and "))
	}
	if s.token() == "" {
		about = append(about, "seen without a token")
	}
	fmt.Fprintf(text, "%s  %s\n", s.style().bold(to.host), strings.Join(about, ", "))
	var lines []string
	for _, each := range documents {
		if about := each.document.Info.Description; !slices.Contains(lines, about) {
			lines = append(lines, about)
			writeIndented(text, "", about)
		}
	}
}

// versionsOf returns the versions of instances, sorted.
func versionsOf(instances []instance) (versions []string) {
	for _, each := range instances {
		if version := cleanLine(each.Version); version != "" {
			versions = append(versions, version)
		}
	}
	slices.Sort(versions)
	return slices.Compact(versions)
}

func plural(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", count, noun)
}

// describedOperation is an operation in the output of describe --json.
type describedOperation struct {
	Method      string              `json:"method"`
	Address     string              `json:"address"`
	Path        string              `json:"path"`
	Signature   string              `json:"signature,omitempty"`
	Description string              `json:"description,omitempty"`
	Token       bool                `json:"token"`             // it needs one
	Callers     []string            `json:"callers,omitempty"` // hosts of the services that may call; none if all may
	Arguments   []describedArgument `json:"arguments"`
	Results     []describedResult   `json:"results"`
}

// describedArgument is one of its arguments.
type describedArgument struct {
	Name string `json:"name"`
	In   string `json:"in"`
	Type string `json:"type"`

	Required    bool     `json:"required"`          // it must not be omitted
	Demands     []string `json:"demands,omitempty"` // in addition to the type: "1 to 200 characters"
	Description string   `json:"description,omitempty"`
}

// describedResult is one of its results.
type describedResult struct {
	Name        string   `json:"name,omitempty"` // none: it is the whole body
	Type        string   `json:"type"`
	Demands     []string `json:"demands,omitempty"` // that the service fulfils: "one of good, bad"
	Description string   `json:"description,omitempty"`
}

// describeResults returns the results of an operation.
func (o *operation) describeResults() []describedResult {
	d, shown := schemas{o.document}, []describedResult{}
	for _, each := range o.results() {
		shown = append(shown, describedResult{
			Name: each.name, Type: d.text(each.schema), Demands: d.asked(each), Description: d.description(each.schema),
		})
	}
	return shown
}

// describeJSON prints operations as JSON.
func (s *session) describeJSON(all []operation) error {
	shown := []describedOperation{}
	for _, each := range all {
		one := describedOperation{
			Method: each.method, Address: "https://" + each.place + each.path, Path: each.path,
			Signature: each.Summary, Description: each.Description, Token: each.needsToken(), Callers: each.Callers,
			Arguments: []describedArgument{}, Results: each.describeResults(),
		}
		for _, argument := range each.parameters() {
			d := schemas{each.document}
			one.Arguments = append(one.Arguments, describedArgument{
				Name: argument.name, In: argument.in, Type: d.text(argument.schema), Required: argument.asked ||
					argument.in == inPath,
				Demands: d.demands(argument.schema), Description: d.description(argument.schema),
			})
		}
		shown = append(shown, one)
	}
	return s.print("%s\n", jsonOf(shown))
}
