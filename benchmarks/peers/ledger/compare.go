package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/busline/busline/benchmarks/peers/markdown"
)

// enough is the width of an interval, as a share of the ratio, below which nothing more is measured.
const enough = 0.02

// fewestRounds are measured even if the interval is narrow.
const fewestRounds = 5

// build is a program that measures, and what it has measured.
type build struct {
	name, path string
	rounds     []figures
}

// compare runs this program and other builds of it by turns, until the interval of each ratio is narrow or the time is
// over, and prints the CPU time of this one as a ratio to that of each other one.
func compare(ctx context.Context, beside string, each, longest time.Duration, out, progress io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	builds := []*build{{name: "this", path: self}}
	for named := range strings.SplitSeq(beside, ",") {
		name, path, found := strings.Cut(named, "=")
		if !found {
			return fmt.Errorf("-beside %q: write name=path of a build", named)
		}
		builds = append(builds, &build{name: name, path: path})
	}
	if err := alternate(ctx, builds, each, longest, progress); err != nil {
		return err
	}
	_, err = io.WriteString(out, table(builds))
	return err
}

// alternate measures builds round by round, in another order each time, until the intervals of the first one's ratios
// are narrow or the time is over.
func alternate(ctx context.Context, builds []*build, each, longest time.Duration, progress io.Writer) error {
	end := time.Now().Add(longest)
	for round := 1; ; round++ {
		began := time.Now()
		for turn := range builds {
			if err := builds[(turn+round)%len(builds)].round(ctx, each); err != nil {
				return err
			}
		}
		widest := 0.0
		for _, other := range builds[1:] {
			for i := range operations() {
				ratio, around := builds[0].beside(other, i)
				widest = math.Max(widest, around/ratio)
			}
		}
		fmt.Fprintf(progress, "round %d: the widest interval is ± %.1f %%\n", round, widest*100)
		if round >= fewestRounds && widest < enough || time.Now().Add(time.Since(began)).After(end) {
			return nil
		}
	}
}

// round measures once.
func (b *build) round(ctx context.Context, each time.Duration) error {
	//nolint:gosec // the caller names it
	command := exec.CommandContext(ctx, b.path, "-json", "-rounds", "1", "-time", each.String())
	text, err := command.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", b.name, err)
	}
	var measured figures
	if err := json.Unmarshal(text, &measured); err != nil {
		return fmt.Errorf("%s: %w", b.name, err)
	}
	b.rounds = append(b.rounds, measured)
	return nil
}

// beside returns the CPU time of an operation as a ratio to another build's, with half of the interval that has the
// true ratio in 19 of 20 cases: the mean of the logarithms of the rounds, and twice its standard error.
func (b *build) beside(other *build, operation int) (ratio, around float64) {
	count, sum, squares := 0.0, 0.0, 0.0
	for round := range min(len(b.rounds), len(other.rounds)) {
		one := math.Log(b.rounds[round][operation].CPU / other.rounds[round][operation].CPU)
		count, sum, squares = count+1, sum+one, squares+one*one
	}
	mean := sum / count
	variance := math.Max(0, squares/count-mean*mean) * count / math.Max(1, count-1)
	return math.Exp(mean), math.Exp(mean) * 2 * math.Sqrt(variance/count)
}

// table has a row for each operation.
func table(builds []*build) string {
	printed := markdown.Table{Heading: []string{"CPU time"}}
	for _, other := range builds[1:] {
		printed.Heading = append(printed.Heading, "× "+other.name, "±")
	}
	for i, each := range operations() {
		row := []string{each.name}
		for _, other := range builds[1:] {
			ratio, around := builds[0].beside(other, i)
			row = append(row, fmt.Sprintf("%.3f", ratio), fmt.Sprintf("%.3f", around))
		}
		printed.Rows = append(printed.Rows, row)
	}
	return printed.String()
}
