package cli

import (
	"context"
	"strings"
)

func newPermissions() *command {
	return &command{
		name:     "permissions",
		operands: "[callee …]",
		summary:  "the broker permissions that this command needs",
		about: `
Prints the permissions that a broker user needs for this command, as a block for the configuration of a NATS server, or
with --json as a user JWT has them. A callee is "products.example", "products.example:444", "*.example", or "*", the
default, for all hosts on port 443. For the permissions of a service see docs/permissions.md.`,
		examples: []string{"busline permissions", "busline permissions '*.example' payroll.example:444"},
		run: func(ctx context.Context, s *session, callees []string) error {
			if len(callees) == 0 {
				callees = []string{"*"}
			}
			conn, err := s.join(ctx)
			if err != nil {
				return err
			}
			granted, err := conn.Permissions(append([]string{"all:888"}, callees...)...)
			if err != nil {
				return misuse("%w", err)
			}
			if !s.settings.json {
				return s.print("%s\n", strings.TrimRight(granted.String(), "\n"))
			}
			return s.print("%s\n", jsonOf(granted))
		},
		complete: func(ctx context.Context, s *session, _ []string, word string) []string {
			return s.completeHost(ctx, word, "")
		},
	}
}
