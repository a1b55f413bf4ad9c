// Paths formats the output of the benchmarks in the folder above as tables. From the top of the repository:
//
//	go test -run '^$' -bench . -count 5 ./benchmarks | go run -C benchmarks/peers ./paths -readme ../README.md
//
// It takes the median of several runs of a benchmark. Without -readme it only prints. Benchmarks that did not run are
// missing in the tables.
package main

import (
	"errors"
	"flag"
	"io"
	"log"
	"os"
	"time"

	"github.com/busline/busline/benchmarks/peers/markdown"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(arguments []string, output io.Reader, tables io.Writer) error {
	flags := flag.NewFlagSet("paths", flag.ContinueOnError)
	readme := flags.String("readme", "", "write the tables into this file, between its marks, too")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	benchmarks, err := parse(output)
	if err != nil {
		return err
	}
	parts := []string{markdown.Machine(time.Now()) + "\n"}
	for _, sheet := range sheets() {
		if table := sheet.table(benchmarks); len(table.Rows) > 0 {
			parts = append(parts, table.String())
		}
	}
	if len(parts) == 1 {
		return errors.New("no benchmark in the input; pipe the output of go test -bench into this program")
	}
	return markdown.Publish(tables, *readme, "paths", parts)
}
