// Fleet measures what the instances of a plane cost, and carries the figures to fleets that no single machine can hold:
//
//	go run ./benchmarks/fleet                                  # about three minutes; needs 1 GiB of memory
//	go run ./benchmarks/fleet -instances 50,200 -processes 2
//
// The broker, the instances and the portal run in processes of their own, in as many for the instances as -processes
// says. Each instance has a connection of its own to the broker, as if it were alone in its process, and serves three
// operations. The tables are in Markdown; docs/guides/size.md explains them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/busline/busline/benchmarks/child"
)

// settings say what is measured.
type settings struct {
	instances, processes []int
	settle               time.Duration // after the last start, until the messages are counted
	look                 time.Duration // that the portal is looked at
	announcements        int           // that are made up, to measure what one costs
}

func main() {
	ctx := context.Background()
	isChild, err := child.Run(ctx, map[string]child.Role{brokerRole: child.Broker, instancesRole: beInstances,
		portalRole: bePortal})
	if !isChild {
		err = run(ctx, os.Args[1:], os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, arguments []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("fleet", flag.ContinueOnError)
	instances := flags.String("instances", "10,100,400,1000", "how many, separated by commas")
	processes := flags.String("processes", "1,4", "in how many processes, separated by commas")
	settle := flags.Duration("settle", 3*time.Second, "time after the last start until the messages are counted")
	look := flags.Duration("look", 20*time.Second, "time that the portal is looked at")
	announcements := flags.Int("announcements", 5000, "how many are made up, to measure what one costs")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	set := settings{settle: *settle, look: *look, announcements: *announcements}
	var err error
	if set.instances, err = numbers("-instances", *instances); err != nil {
		return err
	}
	if set.processes, err = numbers("-processes", *processes); err != nil {
		return err
	}
	var all []figures
	for _, split := range set.processes {
		for _, count := range set.instances {
			measured, err := measure(ctx, count, split, &set)
			if err != nil {
				return errors.Join(fmt.Errorf("%d instances in %d processes: %w", count, split, err), report(stdout, all))
			}
			all = append(all, measured)
		}
	}
	return report(stdout, all)
}

// numbers reads a list of numbers above zero, and sorts them.
func numbers(flag, list string) (all []int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		number, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || number < 1 {
			return nil, fmt.Errorf("%s %s: %q is no number above zero", flag, list, text)
		}
		all = append(all, number)
	}
	slices.Sort(all)
	return all, nil
}
