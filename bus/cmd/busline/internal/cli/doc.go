// Package cli is the command busline, apart from its process: the subcommands, their arguments and flags.
//
//	process := cli.Environment{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}
//	code := cli.Run(ctx, process, os.Args[1:])
//
// A command line goes through these files: run.go builds the tree of subcommands and runs one, session.go connects to
// the bus if the subcommand needs it, the file of the subcommand does the work, exit.go turns an error into a sentence
// and an exit status. A new subcommand is a file with a constructor of a [cobra.Command], which run.go lists.
package cli
