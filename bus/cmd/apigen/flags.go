package main

import (
	"errors"
	"flag"
	"fmt"
	"go/token"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi"
)

const usage = `Apigen writes the signature table and a typed client of a Go interface, into the
folder that it is run in, which is that of the package:

	//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Calculator

Flags:
	-type T         the interface, or an alias of it; required. Of a string or an integer
	                the constants become an enum, in the schemas of all services, and
	                an interface whose comment names variants becomes a union: no other
	                flag but -output goes with these
	-client name    the name of the client type, which New<name> makes; "none" writes
	                only the table, for an interface that is not called in Go, or
	                whose routes options of bus.Serve set. A second interface of a package
	                needs another name: with -client OrdersClient its types
	                are OrdersMulticast, OrdersAddResults, and so on. Default: Client
	-events         the methods of the interface are events, each called On… and
	                returning only an error. Instead of a client a publisher is written,
	                which publishes them. It is called Publisher, unless -client names it
	-host host      the host that the client calls, "host" or "host:port", or that
	                publishes the events. Default: the package's constant Host if it has
	                one, else for a client the type's name in kebab-case
	-output file    the file to write. Default: the type's name in lower case, and _gen.go

A method has the route that follows from its name, or the one that its comment declares.
Directives, in the comments of methods:

%s
and in that of the interface the port, and the collection of methods that are bare verbs:

%s
In the comment of an interface that is a union, the member that tells its variants apart,
and their names and types:

%s
Every method of the client returns an error, so every method of the interface has to.
Web methods are not in the client. The file is written only when it changes. It has
the build constraint of the interface's own file: the //go:build line, or the _linux
in its name.
`

// noClient is the name that stands for no client, only the table.
const noClient = "none"

// request is what the flags ask for.
type request struct {
	typeName string
	client   string // noClient for none
	events   bool   // the client is an event source
	host     string // "" for the default
	output   string
	command  string // as it was typed: "apigen -type Calculator"
}

// examples are directives that may stand at some places, a line each.
func examples(places reflectapi.Scope) (lines string) {
	for _, each := range reflectapi.DirectivesOf(places) {
		lines += "\t" + strings.TrimSpace(each.Name+" "+each.Example) + "\n"
	}
	return lines
}

// parseFlags parses the flags. The error is flag.ErrHelp if help was asked for, and has been printed; any other error
// means wrong usage.
func parseFlags(arguments []string, stderr io.Writer) (request, error) {
	var r request
	flags := flag.NewFlagSet("apigen", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run reports errors in its own way
	flags.StringVar(&r.typeName, "type", "", "")
	flags.StringVar(&r.client, "client", "", "")
	flags.BoolVar(&r.events, "events", false, "")
	flags.StringVar(&r.host, "host", "", "")
	flags.StringVar(&r.output, "output", "", "")
	err := flags.Parse(arguments)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(stderr, usage, examples(reflectapi.OfCall|reflectapi.OfEvent|reflectapi.OfWebMethod),
			examples(reflectapi.OfInterface), examples(reflectapi.OfUnion))
	}
	if err != nil {
		return r, err
	}
	if flags.NArg() > 0 {
		return r, fmt.Errorf("%q is not a flag", flags.Arg(0))
	}
	r.command = commandLine(flags)
	if !isGiven(flags, "client") {
		r.client = map[bool]string{false: "Client", true: "Publisher"}[r.events]
	}
	if r.output == "" {
		r.output = strings.ToLower(r.typeName) + "_gen.go"
	}
	return r, r.valid()
}

func isGiven(flags *flag.FlagSet, name string) (isSet bool) {
	flags.Visit(func(f *flag.Flag) { isSet = isSet || f.Name == name })
	return isSet
}

// commandLine returns the flags as they were given, -type first.
func commandLine(flags *flag.FlagSet) string {
	var words []string
	flags.Visit(func(f *flag.Flag) {
		value := f.Value.String()
		if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == '"' || r == 0x7f }) {
			value = strconv.Quote(value)
		}
		word := " -" + f.Name + " " + value
		if f.Name == "events" {
			word = map[string]string{"true": " -events"}[value]
		}
		if f.Name == "type" {
			words = slices.Insert(words, 0, word)
		} else {
			words = append(words, word)
		}
	})
	return "apigen" + strings.Join(words, "")
}

func (r request) valid() error {
	switch {
	case r.typeName == "":
		return errors.New("-type is missing: name an interface of this package")
	case !token.IsIdentifier(r.typeName):
		return fmt.Errorf("-type %s: not the name of a type; run apigen once for each interface", r.typeName)
	case r.client != noClient && (!token.IsIdentifier(r.client) || !token.IsExported(r.client)):
		return fmt.Errorf("-client %s: not a name that begins with a capital letter", r.client)
	case filepath.Base(r.output) != r.output || !strings.HasSuffix(r.output, ".go") ||
		strings.HasSuffix(r.output, "_test.go"):
		return fmt.Errorf("-output %s: not the name of a Go file of this folder, such as %s_gen.go", r.output,
			strings.ToLower(r.typeName))
	case r.events && strings.Contains(r.host, ":"):
		return fmt.Errorf("-host %s: events have a port of their own; give the host without a port", r.host)
	case r.host != "" && checkHost(r.host) != nil:
		return fmt.Errorf("-host: %w", checkHost(r.host))
	}
	return nil
}

// checkHost returns an error unless calls can go to a host, "host" or "host:port".
func checkHost(host string) error {
	_, err := subject.FromURL("POST", &url.URL{Scheme: "https", Host: host})
	return err
}
