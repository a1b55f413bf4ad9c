package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus"
)

// sight is an address on the bus that is worth opening.
type sight struct {
	address string // "https://calculator.example/add?x=5&y=6"
	about   string
}

// show adds a sight.
func (s *showcase) show(address, about string) {
	s.sights = append(s.sights, sight{address, about})
}

// visit sees to it that everything answers.
func (s *showcase) visit(ctx context.Context, caller *bus.Conn) error {
	for _, sight := range s.sights {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, sight.address, http.NoBody)
		if err != nil {
			return err
		}
		response, err := caller.Do(request)
		if err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", sight.address, response.Status)
		}
	}
	return nil
}

// print prints where the sights are from outside, where services join, and that all is ready. The output may be closed.
func (s *showcase) print(stdout io.Writer, baseURL, brokerURL string) {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, sight := range s.sights {
		fmt.Fprintf(table, "%s/%s\t%s\n", baseURL, strings.TrimPrefix(sight.address, "https://"), sight.about)
	}
	fmt.Fprintf(table, "%s/shop/products\tthe products below a public path of their own\n", baseURL)
	fmt.Fprintf(table, "%s/mcp\tthe functions as tools for agents; see docs/guides/mcp.md\n", baseURL)
	join := "go run ./examples/hello"
	if brokerURL != nats.DefaultURL {
		join = "BUS_NATS_URL=" + brokerURL + " " + join
	}
	fmt.Fprintf(table, "%s\tthe broker; %s joins it\n", brokerURL, join)
	_ = table.Flush()
	_, _ = fmt.Fprintln(stdout, "ready", baseURL)
}
