// Package scaffold makes the files of a new service, the subcommand new.
//
// command.go has the flags, files.go makes the files of the template's, module.go prepares the module that they are in.
package scaffold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/busline/busline/bus/cmd/busline/internal/cli"
)

// Command returns the subcommand new, for [cli.Environment].
func Command(environment cli.Environment) *cobra.Command {
	above := cli.WithSubcommands(environment.Stderr, &cobra.Command{
		Use:         "new",
		Short:       "New services",
		Long:        "Makes the files of what is new: see busline new service --help.",
		Annotations: map[string]string{cli.Changes: "yes"},
	})
	var host, replace string
	service := &cobra.Command{
		Use:   "service NAME",
		Short: "A service that compiles, passes its tests, and is on the bus by the next command",
		Long: `Makes a folder with the interface of a service, its client and its mock, the implementation, tests over a bus,
in virtual time and with the mock, a lock on its API, a program and a Dockerfile. In a module its packages
are added to it, and the module gets what they need; elsewhere the folder becomes a module. Nothing is
overwritten.`,
		Example:           "  busline new service greeter\n  busline new service order-items --host items.shop.example",
		Annotations:       map[string]string{cli.Changes: "yes"},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, names []string) error {
			if len(names) != 1 {
				return cli.Misuse("say what the service is called: busline new service greeter")
			}
			return create(c.Context(), environment.Stdout, names[0], host, replace)
		},
	}
	flags := service.Flags()
	flags.StringVar(&host, "host", "", "`host` of the service on the bus (default NAME.example)")
	flags.StringVar(&replace, "replace", "",
		"`folder` of a clone of Busline, for a new module (default: the one that this command was built in, if it was)")
	above.AddCommand(service)
	return above
}

// create makes a service, and says what to do next.
func create(ctx context.Context, stdout io.Writer, name, host, replace string) error {
	service, err := newService(name, host)
	if err != nil {
		return err
	}
	folder, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	if found, err := os.Lstat(folder); err == nil && !found.IsDir() {
		return fmt.Errorf("%s is there, and is no folder: choose another name, or remove it", folder)
	}
	if entries, err := os.ReadDir(folder); len(entries) > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		return cmp.Or(err, fmt.Errorf("%s is not empty: choose another name, or remove the folder", folder))
	}
	m, err := findModule(ctx, folder, service.host, replace)
	if err != nil {
		return err
	}
	if err := service.write(folder, m); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "wrote %s: %sapi for callers, %[2]ssvc with the implementation and tests, main.go, Dockerfile\n", name,
		service.word)
	if err := m.prepare(ctx, folder); err != nil {
		return fmt.Errorf("the files are there, but %w", err)
	}
	if m.isNew && m.clone != "" {
		fmt.Fprintf(stdout, "go.mod finds Busline in %s; to build an image, require a version in place of it\n", m.clone)
	}
	enter, program := "", " ./"+name
	if m.isNew {
		enter, program = "cd "+name+"\n  ", ""
	}
	fmt.Fprintf(stdout, "next:\n  %sgo test ./...\n  busline dev%s\n  curl '127.0.0.1:8080/%s/greet?name=Ada'\n", enter, program,
		service.host)
	return nil
}
