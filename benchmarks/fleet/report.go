package main

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"
)

// report writes the table of what was measured, and, if there are enough sizes of fleets, that of larger ones.
func report(stdout io.Writer, all []figures) error {
	fmt.Fprintln(stdout, "What was measured:")
	fmt.Fprintln(stdout)
	table := tabwriter.NewWriter(stdout, 0, 0, 1, ' ', 0)
	fmt.Fprintln(table, "| instances\t| processes\t| all started\t| sent by each\t| received by each\t| KiB of each\t| "+
		"KiB at the broker\t| subscriptions\t| first multicast to all\t| next\t| µs to receive an announcement\t| µs to "+
		"forward it\t"+
		"| portal: first page\t| % of a core looked at\t| KiB/s\t| scrape\t| KiB\t|")
	fmt.Fprintln(table,
		"|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|")
	for at := range all {
		m := &all[at]
		each := func(total float64) float64 { return total / float64(m.instances) }
		fmt.Fprintf(table, "| %d\t| %d\t| %s\t| %.1f\t| %.0f\t| %.0f\t| %.0f\t| %.1f\t| %s\t| %s\t| %.1f\t| %.1f\t| %s\t| "+
			"%.1f\t| %.1f\t| %s\t| %d\t|\n",
			m.instances, m.processes, short(m.started), each(float64(m.counts.Sent)), each(float64(m.counts.Received)),
			each(float64(m.memory))/kibi, each(float64(m.brokerMemory))/kibi, each(float64(m.counts.Subscriptions)),
			short(m.discovery), short(m.multicast),
			m.perInstance.Seconds()*1e6, m.forwarded.Seconds()*1e6,
			short(m.page), m.pageCPU*percent, m.pageBytes/kibi, short(m.scrape), m.scrapeSize>>10)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for first := 0; first < len(all); {
		end := first
		for end < len(all) && all[end].processes == all[first].processes {
			end++
		}
		if fleets := all[first:end]; len(fleets) > 2 { //nolint:mnd // two points make a line, the third one checks it
			if err := newModel(fleets[:len(fleets)-1]).report(stdout, &fleets[len(fleets)-1]); err != nil {
				return err
			}
		}
		first = end
	}
	return nil
}

const (
	kibi    = 1 << 10
	percent = 100
)

// short rounds a duration to three digits.
func short(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d.Round(time.Duration(math.Pow10(int(math.Log10(float64(d))) - 2))) //nolint:mnd // three digits
}

// model says what a fleet of any size costs: each figure is a line, or the same for all sizes.
type model struct {
	processes                  int
	memory, brokerMemory       line // bytes
	subscriptions              line
	discovery, multicast, page line // seconds
	pageCPU                    line // cores
	scrape, scrapeSize         line // seconds, bytes
	sent                       float64
	perInstance, forwarded     float64 // seconds
}

// line is a straight one through measured points.
type line struct{ base, each float64 }

func (l line) at(instances int) float64 { return max(0, l.base+l.each*float64(instances)) }

// fit returns the line with the smallest sum of squares of relative errors, so that small fleets count as much as large
// ones.
func fit(fleets []figures, of func(*figures) float64) line {
	var w, wx, wy, wxx, wxy float64
	for i := range fleets {
		x, y := float64(fleets[i].instances), of(&fleets[i])
		weight := 1 / max(y*y, math.SmallestNonzeroFloat32)
		w, wx, wy, wxx, wxy = w+weight, wx+weight*x, wy+weight*y, wxx+weight*x*x, wxy+weight*x*y
	}
	slope := (w*wxy - wx*wy) / (w*wxx - wx*wx)
	return line{(wy - slope*wx) / w, slope}
}

func newModel(fleets []figures) *model {
	last := fleets[len(fleets)-1]
	return &model{
		processes:     last.processes,
		memory:        fit(fleets, func(m *figures) float64 { return float64(m.memory) }),
		brokerMemory:  fit(fleets, func(m *figures) float64 { return float64(m.brokerMemory) }),
		subscriptions: fit(fleets, func(m *figures) float64 { return float64(m.counts.Subscriptions) }),
		discovery:     fit(fleets, func(m *figures) float64 { return m.discovery.Seconds() }),
		multicast:     fit(fleets, func(m *figures) float64 { return m.multicast.Seconds() }),
		page:          fit(fleets, func(m *figures) float64 { return m.page.Seconds() }),
		pageCPU:       fit(fleets, func(m *figures) float64 { return m.pageCPU }),
		scrape:        fit(fleets, func(m *figures) float64 { return m.scrape.Seconds() }),
		scrapeSize:    fit(fleets, func(m *figures) float64 { return float64(m.scrapeSize) }),
		sent:          float64(last.counts.Sent) / float64(last.instances),
		perInstance:   last.perInstance.Seconds(), forwarded: last.forwarded.Seconds(),
	}
}

// restart is how long a rolling restart of the whole fleet takes.
const restart = 10 * time.Minute

// report writes what the model says of the largest fleet that was measured, beside what was measured, and of larger
// ones.
func (m *model) report(stdout io.Writer, largest *figures) error {
	fmt.Fprintf(stdout,
		"\nA model of the fleets in %d processes but the largest, beside what the largest has, and of larger ones:\n\n",
		m.processes)
	sizes := []int{largest.instances, 10_000, 100_000}
	table := tabwriter.NewWriter(stdout, 0, 0, 1, ' ', 0)
	fmt.Fprintf(table, "| \t| %d: measured\t| model\t| 10 000\t| 100 000\t|\n|---\t|--:\t|--:\t|--:\t|--:\t|\n",
		largest.instances)
	row := func(name, measured string, of func(instances int) string) {
		fmt.Fprintf(table, "| %s\t| %s", name, measured)
		for _, size := range sizes {
			fmt.Fprintf(table, "\t| %s", of(size))
		}
		fmt.Fprintln(table, "\t|")
	}
	of := func(name, format string, measured float64, modelled func(instances int) float64) {
		row(name, fmt.Sprintf(format, measured), func(instances int) string {
			return fmt.Sprintf(format, modelled(instances))
		})
	}
	scaled := func(l line, by float64) func(int) float64 { return func(n int) float64 { return l.at(n) / by } }
	deliveries := func(n int) float64 { return m.sent * float64(n) * float64(n) / restart.Seconds() }
	const mebi = kibi * kibi
	of("memory of all instances, MiB", "%.0f", float64(largest.memory)/mebi, scaled(m.memory, mebi))
	of("memory at the broker, MiB", "%.0f", float64(largest.brokerMemory)/mebi, scaled(m.brokerMemory, mebi))
	of("subscriptions at the broker", "%.0f", float64(largest.counts.Subscriptions), scaled(m.subscriptions, 1))
	of("first multicast to all, s", "%.2f", largest.discovery.Seconds(), scaled(m.discovery, 1))
	of("next multicast to all, s", "%.2f", largest.multicast.Seconds(), scaled(m.multicast, 1))
	of("portal: first page, s", "%.2f", largest.page.Seconds(), scaled(m.page, 1))
	of("portal: % of a core, looked at", "%.1f", largest.pageCPU*percent, scaled(m.pageCPU, 1.0/percent))
	of("scrape of all, s", "%.2f", largest.scrape.Seconds(), scaled(m.scrape, 1))
	of("scrape of all, MiB", "%.1f", float64(largest.scrapeSize)/mebi, scaled(m.scrapeSize, mebi))
	modelled := func(name, format string, of func(instances int) float64) {
		row(name, "", func(instances int) string { return fmt.Sprintf(format, of(instances)) })
	}
	modelled("restart of all in 10 min: announcements received by each, 1/s", "%.1f",
		func(n int) float64 { return m.sent * float64(n) / restart.Seconds() })
	modelled("… share of a core of each, %", "%.3f",
		func(n int) float64 { return m.sent * float64(n) / restart.Seconds() * m.perInstance * percent })
	modelled("… deliveries of the broker, 1/s", "%.0f", deliveries)
	modelled("… cores of the broker", "%.2f", func(n int) float64 { return deliveries(n) * m.forwarded })
	return table.Flush()
}
