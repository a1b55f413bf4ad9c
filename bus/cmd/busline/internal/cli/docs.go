package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/restmap/openapi"
)

func (s *session) newDocs() *cobra.Command {
	baseURL := ""
	c := &cobra.Command{
		Use:   "docs [host[:port]]",
		Short: "The OpenAPI document of a host, or of the whole bus",
		Long: `Prints an OpenAPI 3.0.0 document, indented on a terminal, else unchanged: that of a host or of one of
its ports, or, without a host, that of all services, as the portal has it. Without a portal it is put
together here. Documents show each caller what it may call. The server address in a document is that of
the ingress: BUS_BASE_URL of the service, else http://127.0.0.1:8080, where an ingress listens by
default; --base-url sets another one.`,
		Example: examples(
			"busline docs calculator.example", "busline docs --base-url https://api.example.com > bus.json",
			"busline docs | jq '.paths | keys'",
		),
		RunE: func(c *cobra.Command, operands []string) error {
			baseURL := strings.TrimSuffix(baseURL, "/")
			if err := openapi.CheckBaseURL(baseURL); err != nil {
				return misuse("--base-url: %w", err)
			}
			switch len(operands) {
			case 0:
				return s.docsOfAll(c.Context(), baseURL)
			case 1:
				return s.docs(c.Context(), operands[0], baseURL)
			default:
				return misuse("name one host, or none for all hosts")
			}
		},
		ValidArgsFunction: s.completing(func(ctx context.Context, before []string, word string) []string {
			if len(before) > 0 {
				return nil
			}
			return s.completeHost(ctx, word, "")
		}),
	}
	set := c.Flags()
	set.StringVar(&baseURL, "base-url", "", "`address` of the ingress, instead of the one in the document")
	return c
}

// docs prints the document of a host. The documents of several ports are merged.
func (s *session) docs(ctx context.Context, operand, baseURL string) error {
	to, documents, err := s.documentsNamed(ctx, operand)
	if err != nil {
		return err
	}
	if len(documents) == 1 {
		return s.printUnder(baseURL, documents[0].text)
	}
	first := documents[0].document.Info
	info := openapi.Info{Title: to.host, Description: first.Description, Version: first.Version}
	text, err := openapi.Merge(info, baseURL, membersOf(to.host, documents)).JSON()
	if err != nil {
		return err
	}
	return s.printDocument(text)
}

// documentsNamed fetches the documents of a host, or of one of its ports: "calculator.example:443".
func (s *session) documentsNamed(ctx context.Context, operand string) (address, []portDocument, error) {
	to, err := parseAddress(operand)
	if err != nil {
		return address{}, nil, err
	}
	if to.path != "/" {
		return address{}, nil, misuse("%s: a document is for a whole host; busline describe %s shows one path", operand,
			operand)
	}
	_, documents, err := s.documentsOf(ctx, to, strings.Contains(strings.TrimPrefix(operand, "https://"), ":"))
	return to, documents, err
}

// membersOf returns the documents of a host as those to be merged.
func membersOf(host string, documents []portDocument) []openapi.Member {
	members := make([]openapi.Member, len(documents))
	for i, each := range documents {
		members[i] = openapi.Member{Host: host, Port: each.port, Document: each.document}
	}
	return members
}

// docsOfAll prints the document of all services.
func (s *session) docsOfAll(ctx context.Context, baseURL string) error {
	text, err := s.documentOfAll(ctx)
	if err != nil {
		return err
	}
	return s.printUnder(baseURL, text)
}

// documentOfAll returns the document of the portal, or builds one if there is no portal.
func (s *session) documentOfAll(ctx context.Context) ([]byte, error) {
	const portal = "portal"
	known, err := s.fetch(ctx, portal, subject.PublicPort)
	if err == nil {
		return known.text, nil
	}
	if missing, ok := errors.AsType[*failure](err); !ok || missing.status != absent {
		return nil, err
	}
	instances, err := s.discover(ctx, "all")
	if err != nil {
		return nil, err
	}
	var members []openapi.Member
	for _, host := range hostsOf(instances) {
		_, documents, err := s.documentsOf(ctx, address{host: host, port: subject.PublicPort}, true)
		if err != nil {
			s.notef("%s is left out: %s", host, clean(err.Error()))
			continue
		}
		members = append(members, membersOf(host, documents)...)
	}
	if len(members) == 0 {
		return nil, s.hostNotFound(ctx, portal, nil)
	}
	return openapi.Merge(openapi.Info{Title: "Services on the bus"}, "", members).JSON()
}

// printUnder prints a document with another server address, or unchanged if that is "".
func (s *session) printUnder(baseURL string, text []byte) error {
	if baseURL == "" {
		return s.printDocument(text)
	}
	document, err := openapi.Parse(text)
	if err != nil {
		return err
	}
	document.Servers = []openapi.Server{{URL: baseURL}}
	if text, err = document.JSON(); err != nil {
		return err
	}
	return s.printDocument(text)
}

func (s *session) printDocument(text []byte) error {
	if s.StdoutTerminal && !s.settings.json {
		text = indent(text)
	} else {
		text = append(compact(text), '\n')
	}
	_, err := s.Stdout.Write(text)
	return err
}
