package main

import "io"

// Run is run.
func Run(arguments []string, stdout, notes io.Writer) error { return run(arguments, stdout, notes) }
