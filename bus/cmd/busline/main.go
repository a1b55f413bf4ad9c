// Busline explores a bus from a terminal, and calls its services.
//
//	go run github.com/busline/busline/bus/cmd/busline ls
//	go run github.com/busline/busline/bus/cmd/busline call calculator.example/add x=5 y=6
//
// busline --help lists the subcommands; docs/reference/command.md has examples.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"

	"github.com/busline/busline/bus/cmd/busline/internal/agent"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
	"github.com/busline/busline/bus/cmd/busline/internal/dev"
	"github.com/busline/busline/bus/cmd/busline/internal/gateway"
	"github.com/busline/busline/bus/cmd/busline/internal/scaffold"
)

func main() {
	// so that writing to a closed pipe is an error, after which everything is closed in order
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(cli.Run(ctx, cli.Environment{
		Stdin: os.Stdin, StdinTerminal: isTerminal(os.Stdin),
		Stdout: os.Stdout, StdoutTerminal: isTerminal(os.Stdout),
		Stderr: os.Stderr, StderrTerminal: isTerminal(os.Stderr),
		Height: height,
		Getenv: os.Getenv, Setenv: os.Setenv,
		More: []cli.Subcommand{agent.Command, dev.Command, gateway.Command, scaffold.Command},
	}, os.Args[1:]))
}

func isTerminal(file *os.File) bool {
	return isatty.IsTerminal(file.Fd()) || isatty.IsCygwinTerminal(file.Fd())
}

// height returns how many lines the terminal of standard output has, 0 if it is none.
func height() int {
	_, lines, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0
	}
	return lines
}
