package agent

import (
	"context"
	"encoding/json"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/busline/busline/bus/cmd/busline/internal/cli"
	"github.com/busline/busline/reflectapi/similar"
)

// Command returns the subcommand mcp, for [cli.Environment]. Each tool runs in this environment, with standard output
// and standard error of its own, and nothing to read.
func Command(environment cli.Environment) *cobra.Command {
	var write bool
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Tools for a coding agent, over standard input and output",
		Long: `Serves the other subcommands as tools, by the Model Context Protocol over standard input and output, until
standard input ends: ls, describe, call, docs, tap, events_tail, events_dead_letters, permissions and
others. A host such as an editor starts it. --url, --plane, --token and --context hold for all tools, which
cannot change them, and there need not be a broker yet.

Without --write no tool changes anything, as far as services tell: a call has to be GET in the document of
its host, or declared //busline:tool readOnly, and no files are read. What has no end, such as tap, ends
after the argument seconds: 10, or at most 60.`,
		Args:    cli.NoOperands,
		Example: "  busline mcp\n  busline mcp --url nats://127.0.0.1:4222 --plane dev --write",
		RunE: func(c *cobra.Command, _ []string) error {
			s := &server{environment: environment}
			if err := cli.UseContext(c, environment); err != nil {
				return err
			}
			s.environment.ReadOnly, s.environment.Setenv = !write, nil
			c.InheritedFlags().VisitAll(func(flag *pflag.Flag) {
				if flag.Changed {
					s.globalFlags = append(s.globalFlags, "--"+flag.Name+"="+flag.Value.String())
				}
			})
			return s.serve(c.Context())
		},
	}
	c.Flags().BoolVar(&write, "write", false, "also tools, and calls, that change something")
	return c
}

// server serves tools.
type server struct {
	environment cli.Environment // of the process
	globalFlags []string        // flags that hold for all tools: "--plane=dev"
	tools       []*tool         // those that are listed
}

// serve serves until standard input ends, or ctx.
func (s *server) serve(ctx context.Context) error {
	lines := newStdio(s.environment.Stdin, s.environment.Stdout)
	s.environment.Stdin, s.environment.Stdout, s.environment.More = nil, nil, nil
	s.environment.FilesOnly = true
	s.tools = toolsOf(s.environment)
	served := sdk.NewServer(&sdk.Implementation{Name: "busline", Title: "A bus, as busline shows it",
		Version: cli.Version()}, &sdk.ServerOptions{
		Instructions: s.instructions(), SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) {
			c.CacheScope = "private"
		}, Capabilities: &sdk.ServerCapabilities{Tools: new(sdk.ToolCapabilities)},
	})
	for _, each := range s.tools {
		served.AddTool(each.definition, func(call context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			call, cancel := context.WithCancel(call)
			defer cancel()
			defer context.AfterFunc(ctx, cancel)() // running tools end with the server
			return s.call(call, each, r.Params.Arguments), nil
		})
	}
	served.AddReceivingMiddleware(s.explain)
	err := served.Run(ctx, &sdk.IOTransport{Reader: lines, Writer: lines})
	if lines.ended.Load() { // and the output may be closed, too
		return nil
	}
	return err
}

// instructions say how to begin.
func (s *server) instructions() string {
	text := "Each tool is a subcommand of busline, which explores a bus of services and calls them. Begin with ls, and " +
		"describe a host before you call it."
	if s.environment.ReadOnly {
		text += " Nothing can be changed: the developer may start busline mcp with --write."
	}
	return text
}

// explain says why there is no tool of a name. All else is the SDK's.
func (s *server) explain(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
		if call, ok := request.(*sdk.CallToolRequest); ok && !slices.ContainsFunc(s.tools, func(each *tool) bool {
			return each.definition.Name == call.Params.Name
		}) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: s.noTool(call.Params.Name)}
		}
		return next(ctx, method, request)
	}
}

// call calls a tool.
func (s *server) call(ctx context.Context, called *tool, arguments json.RawMessage) *sdk.CallToolResult {
	command, err := called.parse(arguments)
	if err != nil {
		return refused(err)
	}
	return s.run(ctx, called, command)
}

// noTool says why there is no tool of a name.
func (s *server) noTool(name string) string {
	withAll := s.environment
	withAll.ReadOnly = false
	names := make([]string, 0, len(s.tools))
	for _, each := range s.tools {
		names = append(names, each.definition.Name)
	}
	for _, each := range toolsOf(withAll) {
		if each.definition.Name == name {
			return name + " changes something: start busline mcp with --write to allow it"
		}
	}
	return "there is no tool " + name + similar.DidYouMean(name, names)
}
