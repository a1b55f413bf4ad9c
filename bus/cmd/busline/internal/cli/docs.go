package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/restmap/asyncapi"
	"github.com/busline/busline/restmap/openapi"
	"github.com/busline/busline/restmap/openapi31"
)

func (s *session) newDocs() *cobra.Command {
	var how printing
	version := "3.0"
	c := prints(&cobra.Command{
		Use:   "docs [host[:port]]",
		Short: "The OpenAPI document of a host, or of the whole bus",
		Long: `Prints an OpenAPI 3.0.0 document, indented on a terminal, else unchanged: that of a host or of one of
its ports, or, without a host, that of all services, as the portal has it. Without a portal it is put
together here. Documents show each caller what it may call. The server address in a document is that of
the ingress: BUS_BASE_URL of the service, else http://127.0.0.1:8080, where an ingress listens by
default; --base-url sets another one. With --openapi 3.1 it is the same in OpenAPI 3.1, with the
events that are published as webhooks.`,
		Example: examples(
			"busline docs calculator.example", "busline docs --base-url https://api.example.com > bus.json",
			"busline docs | jq '.paths | keys'", "busline docs --openapi 3.1 | jq '.webhooks | keys'",
		),
		RunE: func(c *cobra.Command, operands []string) error {
			how := how
			how.baseURL = strings.TrimSuffix(how.baseURL, "/")
			if err := openapi.CheckBaseURL(how.baseURL); err != nil {
				return misuse("--base-url: %w", err)
			}
			var err error
			if how.is31, err = openapi31.IsVersion(version); err != nil {
				return misuse("--openapi: %w", err)
			}
			switch len(operands) {
			case 0:
				return s.docsOfAll(c.Context(), how)
			case 1:
				return s.docs(c.Context(), operands[0], how)
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
	})
	set := c.Flags()
	set.StringVar(&how.baseURL, "base-url", "", "`address` of the ingress, instead of the one in the document")
	set.StringVar(&version, "openapi", version, "`version` of the document, 3.0 or 3.1")
	annotateFlag(set, "openapi", Choices, "3.0", "3.1")
	return c
}

// printing says how a document is printed.
type printing struct {
	baseURL string // of its server; "" for that in the document
	is31    bool   // in OpenAPI 3.1, which needs the events
}

// docs prints the document of a host. The documents of several ports are merged.
func (s *session) docs(ctx context.Context, operand string, how printing) error {
	to, documents, err := s.documentsNamed(ctx, operand)
	if err != nil {
		return err
	}
	first := documents[0].document.Info
	host, events := first.Title, func() (*asyncapi.Document, error) { return s.eventsOf(ctx, to.host) }
	if to.host == portal {
		host, events = "", func() (*asyncapi.Document, error) { return s.eventsOfAll(ctx) }
	}
	if len(documents) == 1 {
		return s.printText(documents[0].text, how, host, events)
	}
	info := openapi.Info{Title: to.host, Description: first.Description, Version: first.Version}
	return s.printOpenAPI(openapi.Merge(info, how.baseURL, membersOf(to.host, documents)), how, host, events)
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
func (s *session) docsOfAll(ctx context.Context, how printing) error {
	text, err := s.documentOfAll(ctx)
	if err != nil {
		return err
	}
	return s.printText(text, how, "", func() (*asyncapi.Document, error) { return s.eventsOfAll(ctx) })
}

// documentOfAll returns the document of the portal, or builds one if there is no portal.
func (s *session) documentOfAll(ctx context.Context) ([]byte, error) {
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

// printText prints a document that was fetched, unchanged if nothing else is wanted.
func (s *session) printText(text []byte, how printing, host string, events func() (*asyncapi.Document, error)) error {
	if how == (printing{}) {
		return s.printDocument(text)
	}
	document, err := openapi.Parse(text)
	if err != nil {
		return err
	}
	if how.baseURL != "" {
		document.Servers = []openapi.Server{{URL: how.baseURL}}
	}
	return s.printOpenAPI(document, how, host, events)
}

// printOpenAPI prints a document of a host, or of several, "". Only OpenAPI 3.1 needs the events.
func (s *session) printOpenAPI(document *openapi.Document, how printing, host string,
	events func() (*asyncapi.Document, error)) error {
	marshal := document.JSON
	if how.is31 {
		published, err := events()
		if err != nil {
			return err
		}
		marshal = openapi31.Convert(document, host, published.Events()).JSON
	}
	text, err := marshal()
	if err != nil {
		return err
	}
	return s.printDocument(text)
}
