package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busline/busline/restmap/asyncapi"
	"github.com/busline/busline/restmap/openapi"
	"github.com/busline/busline/restmap/tsclient"
)

// newClient returns the command client, whose subcommands are the languages.
func (s *session) newClient() *cobra.Command {
	c := WithSubcommands(s.Stderr, &cobra.Command{
		Use:     "client",
		Short:   "A client in another language: busline client ts",
		Long:    `Prints the source of a client of services. apigen writes those in Go.`,
		Example: examples("busline client ts > bus.ts"),
	})
	c.AddCommand(s.newTypeScriptClient())
	return c
}

func (s *session) newTypeScriptClient() *cobra.Command {
	int64Type, baseURL := "", ""
	c := &cobra.Command{
		Use:   "ts [host[:port]...]",
		Short: "A client in TypeScript, in one file",
		Long: `Prints a client of hosts, or of one of their ports, or of all services, in TypeScript. It has what the
token may call, and the events of the hosts. The file needs no other, and runs in browsers, Node.js,
Deno and workers; see docs/guides/typescript.md.`,
		Example: examples("busline client ts > bus.ts", "busline client ts orders.example --int64 bigint > orders.ts"),
		RunE: func(c *cobra.Command, hosts []string) error {
			baseURL := strings.TrimSuffix(baseURL, "/")
			kind, err := tsclient.ParseInt64(int64Type)
			if err != nil {
				return misuse("--%w", err)
			}
			if err := openapi.CheckBaseURL(baseURL); err != nil {
				return misuse("--base-url: %w", err)
			}
			return s.typeScriptClient(c.Context(), hosts, tsclient.Options{Int64: kind, BaseURL: baseURL})
		},
		ValidArgsFunction: s.completing(s.completeHosts),
	}
	set := c.Flags()
	set.StringVar(&int64Type, "int64", string(tsclient.Number),
		"`type` of integers of 64 bits: number, which refuses those beyond 2^53, bigint or string")
	annotateFlag(set, "int64", Choices, string(tsclient.Number), string(tsclient.BigInt), string(tsclient.Text))
	set.StringVar(&baseURL, "base-url", "", "`address` of the ingress, instead of the one in the documents")
	return c
}

// typeScriptClient prints a client of hosts, or of all.
func (s *session) typeScriptClient(ctx context.Context, hosts []string, options tsclient.Options) error {
	api, events, err := s.documentsForClient(ctx, hosts)
	if err != nil {
		return err
	}
	source, err := tsclient.Generate(api, events, options)
	if err != nil {
		return err
	}
	_, err = s.Stdout.Write(source)
	return err
}

// documentsForClient returns the documents of hosts, or of all.
func (s *session) documentsForClient(ctx context.Context, hosts []string) (*openapi.Document, *asyncapi.Document,
	error) {
	if len(hosts) > 0 {
		return s.documentsOfHosts(ctx, hosts)
	}
	text, err := s.documentOfAll(ctx)
	if err != nil {
		return nil, nil, err
	}
	api, err := openapi.Parse(text)
	if err != nil {
		return nil, nil, err
	}
	events, err := s.eventsOfAll(ctx)
	return api, events, err
}

// documentsOfHosts returns the documents of hosts. A host may have only events.
func (s *session) documentsOfHosts(ctx context.Context, hosts []string) (*openapi.Document, *asyncapi.Document, error) {
	var members []openapi.Member
	var publishers []asyncapi.Member
	baseURL := ""
	for _, operand := range hosts {
		to, documents, err := s.documentsNamed(ctx, operand)
		if known, ok := errors.AsType[*failure](err); err != nil && (!ok || known.status != failed) {
			return nil, nil, err
		}
		published, eventsErr := s.eventsPublishedBy(ctx, to.host)
		switch {
		case eventsErr != nil:
			return nil, nil, eventsErr
		case published != nil:
			publishers = append(publishers, asyncapi.Member{Host: to.host, Document: published})
		case err != nil:
			return nil, nil, err
		}
		for _, each := range documents {
			if servers := each.document.Servers; len(servers) > 0 {
				baseURL = servers[0].URL
			}
		}
		members = append(members, membersOf(to.host, documents)...)
	}
	return openapi.Merge(openapi.Info{}, baseURL, members), asyncapi.Merge(asyncapi.Info{}, publishers), nil
}

// eventsPublishedBy returns the document of a host that publishes events, nil if it publishes none.
func (s *session) eventsPublishedBy(ctx context.Context, host string) (*asyncapi.Document, error) {
	document, err := s.eventsOf(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, operation := range document.Operations {
		if operation.Action == asyncapi.Send {
			return document, nil
		}
	}
	return nil, nil
}
