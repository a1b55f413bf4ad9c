// Package agent serves the subcommands of the terminal command as tools, by the Model Context Protocol, to an agent
// that writes code on a developer's machine:
//
//	process := cli.Environment{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, More: []cli.Subcommand{agent.Command}}
//	code := cli.Run(ctx, process, []string{"mcp"})
//
// A call of a tool is a run of its subcommand: tools.go derives the tools from the tree of subcommands, arguments.go
// makes a command line of the arguments of a call, and run.go runs it and returns its output.
package agent
