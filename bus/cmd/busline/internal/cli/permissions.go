package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func (s *session) newPermissions() *cobra.Command {
	return prints(&cobra.Command{
		Use:   "permissions [callee …]",
		Short: "The broker permissions that this command needs",
		Long: `Prints the permissions that a broker user needs for this command, as a block for the configuration of a
NATS server, or with --json as a user JWT has them. A callee is "products.example",
"products.example:444", "*.example", or "*", the default, for all hosts on port 443. For the permissions
of a service see docs/guides/permissions.md.`,
		Example: examples("busline permissions", "busline permissions '*.example' payroll.example:444"),
		RunE: func(c *cobra.Command, callees []string) error {
			if len(callees) == 0 {
				callees = []string{"*"}
			}
			conn, err := s.join(c.Context())
			if err != nil {
				return err
			}
			granted, err := conn.Permissions(slices.Concat(callees, asked(callees))...)
			if err != nil {
				return misuse("%w", err)
			}
			if !s.settings.IsJSON() {
				return s.print("%s\n", strings.TrimRight(granted.String(), "\n"))
			}
			return s.print("%s\n", jsonOf(granted))
		},
		ValidArgsFunction: s.completing(s.completeHosts),
	})
}

// asked returns where the command asks who is there, and which calls end there, besides calling them.
func asked(callees []string) []string {
	places := []string{"all:888"}
	for _, callee := range callees {
		host, _, _ := strings.Cut(callee, ":")
		if place := host + ":888"; host != "*" && !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	return places
}
