package main

import "io"

// Run is run.
func Run(arguments []string, output io.Reader, tables io.Writer) error {
	return run(arguments, output, tables)
}
