package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/busline/busline/benchmarks/child"
	"github.com/busline/busline/benchmarks/upgrade/check"
)

// pair is a row: what one version does with another one, by the names of the columns.
type pair struct {
	from, to string // labels
	outcomes map[string]string
}

// round is what all versions do with each other at the broker of one of them.
type round struct {
	broker  string // its label
	calls   []pair // of callers and services
	portals []pair // of portals and services
}

// wrong returns an error for each outcome that is neither success nor a refusal.
func (r *round) wrong() error {
	var all []error
	for _, row := range slices.Concat(r.calls, r.portals) {
		for name, outcome := range row.outcomes {
			if outcome != check.OK && !strings.HasPrefix(outcome, check.Refused) {
				all = append(all, fmt.Errorf("broker %s, %s to %s, %s: %s", r.broker, row.from, row.to, name, outcome))
			}
		}
	}
	return errors.Join(all...)
}

func serviceOf(label string) string { return "service-" + label + ".example" }

func callerOf(label string) string { return "caller-" + label + ".example" }

// nodes are the processes of a round.
type nodes []*child.Process

func (n *nodes) start(of built, role string, arguments ...string) (*child.Process, error) {
	process, err := child.StartProgram(of.program, role, arguments...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", of.label, err)
	}
	*n = append(*n, process)
	return process, nil
}

// close ends all of them, the latest first.
func (n *nodes) close() {
	for _, each := range slices.Backward(*n) {
		_ = each.Close() // one that is in a call ends with its pipe
	}
}

// together runs all versions at one broker, and tries all pairs.
func together(broker built, all []built) (*round, error) {
	var running nodes
	defer running.close()
	at, err := running.start(broker, "broker")
	if err != nil {
		return nil, err
	}
	url := at.Told()
	publishers := make([]string, len(all))
	for i, each := range all {
		publishers[i] = callerOf(each.label)
	}
	for _, each := range all {
		arguments := append([]string{url, serviceOf(each.label)}, publishers...)
		if _, err := running.start(each, "service", arguments...); err != nil {
			return nil, err
		}
	}
	result := &round{broker: broker.label}
	for _, from := range all {
		caller, err := running.start(from, "caller", url, callerOf(from.label), strconv.Itoa(len(all)))
		if err != nil {
			return nil, err
		}
		for _, to := range all {
			row := pair{from.label, to.label, make(map[string]string)}
			for _, name := range check.Calls() {
				if row.outcomes[name], err = caller.Ask(name + "\t" + serviceOf(to.label)); err != nil {
					return nil, fmt.Errorf("%s calls %s: %s: %w", from.label, to.label, name, err)
				}
			}
			result.calls = append(result.calls, row)
		}
	}
	for _, from := range all { // one after the other, as they have one host
		rows, err := portalRows(url, from, all)
		if err != nil {
			return nil, err
		}
		result.portals = append(result.portals, rows...)
	}
	return result, nil
}

// portalRows tries the portal and the ingress of a version.
func portalRows(url string, from built, all []built) (rows []pair, _ error) {
	var running nodes
	defer running.close()
	process, err := running.start(from, "portal", url)
	if err != nil {
		return nil, err
	}
	for _, to := range all {
		seen := portalView{base: process.Told(), service: serviceOf(to.label), until: time.Now().Add(patience)}
		rows = append(rows, pair{from.label, to.label, seen.outcomes()})
	}
	return rows, nil
}
