package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busline/busline/restmap/asyncapi"
)

func (s *session) newAsyncAPI() *cobra.Command {
	return prints(&cobra.Command{
		Use:   "asyncapi [host]",
		Short: "The AsyncAPI document of a host's events, or of all events",
		Long: `Prints an AsyncAPI 3.0.0 document, indented on a terminal, else unchanged: of the events that a host
publishes and subscribes to, or, without a host, of all, as the portal has it. Without a portal it is
put together here. Documents show each caller what it may see.`,
		Example: examples("busline asyncapi orders.example", "busline asyncapi | jq '.channels | keys'"),
		RunE: func(c *cobra.Command, operands []string) error {
			switch len(operands) {
			case 0:
				return s.asyncAPIOfAll(c.Context())
			case 1:
				to, err := parseAddress(operands[0])
				if err != nil {
					return err
				}
				text, err := s.fetchAsyncAPI(c.Context(), to.host+":888")
				if isUnanswered(err) {
					err = s.hostNotFound(c.Context(), to.host, err)
				}
				if err != nil {
					return err
				}
				return s.printDocument(text)
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
}

// asyncAPIOfAll prints the document of all events.
func (s *session) asyncAPIOfAll(ctx context.Context) error {
	text, err := s.fetchAsyncAPI(ctx, portal)
	if err == nil {
		return s.printDocument(text)
	}
	if !isUnanswered(err) {
		return err
	}
	document, err := s.mergeEvents(ctx)
	if err != nil {
		return err
	}
	if text, err = document.JSON(); err != nil {
		return err
	}
	return s.printDocument(text)
}

// eventsOfAll returns the events that the portal describes, or those of all hosts if there is no portal.
func (s *session) eventsOfAll(ctx context.Context) (*asyncapi.Document, error) {
	text, err := s.fetchAsyncAPI(ctx, portal)
	switch {
	case err == nil:
		return asyncapi.Parse(text)
	case isUnanswered(err):
		return s.mergeEvents(ctx)
	default:
		return nil, err
	}
}

// eventsOf returns the events of a host, none if it has none for this caller.
func (s *session) eventsOf(ctx context.Context, host string) (*asyncapi.Document, error) {
	text, err := s.fetchAsyncAPI(ctx, host+":888")
	switch {
	case err == nil:
		return asyncapi.Parse(text)
	case errors.Is(err, errUndescribed) || isUnanswered(err):
		return new(asyncapi.Document), nil
	default:
		return nil, err
	}
}

// mergeEvents returns the events of all hosts. It notes which hosts are left out.
func (s *session) mergeEvents(ctx context.Context) (*asyncapi.Document, error) {
	instances, err := s.discover(ctx, "all")
	if err != nil {
		return nil, err
	}
	var members []asyncapi.Member
	for _, host := range hostsIn(instances) {
		document, err := s.eventsOf(ctx, host)
		if err != nil {
			s.notef("%s is left out: %s", host, clean(err.Error()))
			continue
		}
		members = append(members, asyncapi.Member{Host: host, Document: document})
	}
	return asyncapi.Merge(asyncapi.Info{Title: "Events on the bus"}, members), nil
}

// fetchAsyncAPI returns the document of a host and a port.
func (s *session) fetchAsyncAPI(ctx context.Context, where string) ([]byte, error) {
	host, _, _ := strings.Cut(where, ":")
	return s.fetchText(ctx, where+"/asyncapi.json", host+": port 888")
}
