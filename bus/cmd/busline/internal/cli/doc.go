// Package cli is the command busline: what its words and flags mean, apart from the process that it runs in.
//
//	code := cli.Run(ctx, cli.Environment{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}, os.Args[1:])
//
// One command line takes this way: run.go finds the subcommand and its flags (flags.go), session.go joins the bus when it
// is asked to, the file of the subcommand does the work, exit.go turns what went wrong into a sentence and a status. A new
// subcommand is a file with a constructor of a *command, which commands.go lists.
//
// Flags are those of the standard library's flag package, read by forty lines of ours that let them stand anywhere: there
// are few of them, all arguments besides are name=value, and who imports Busline gets no dependency for it.
package cli
