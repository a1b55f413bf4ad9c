package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// completeName is the hidden command that shells run for completion. Its operands are the words typed so far, without
// the name of the program; the last one, which may be empty, is to be completed. It prints one candidate per line.
const completeName = "__complete"

// completeTimeout is the longest time that a user waits after pressing the tab key.
const completeTimeout = time.Second

func newComplete() *command {
	return &command{
		name: completeName, hidden: true,
		run: func(ctx context.Context, s *session, words []string) error {
			for _, candidate := range s.candidates(ctx, words) {
				if err := s.print("%s\n", cleanLine(candidate)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// candidates returns the completions of the last word, none after any error.
func (s *session) candidates(ctx context.Context, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	before, word := words[:len(words)-1], words[len(words)-1]
	rest, err := parseFlags(s.newFlags(nil), before, true)
	s.settings.timeout = completeTimeout
	if err != nil {
		return nil
	}
	if len(rest) == 0 {
		return startingWith(word, append(commandNames(), flagNames(s.newFlags(nil))...), isFlag(word))
	}
	chosen := findCommand(rest[0])
	if chosen == nil || chosen.hidden {
		if rest[0] == "help" {
			return startingWith(word, commandNames(), false)
		}
		return nil
	}
	if isFlag(word) || word == "-" {
		return startingWith(word, flagNames(s.newFlags(chosen)), true)
	}
	operands, err := parseFlags(s.newFlags(chosen), rest[1:], false)
	s.settings.timeout = completeTimeout
	if err != nil || chosen.complete == nil || s.settings.check() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completeTimeout)
	defer cancel()
	return chosen.complete(ctx, s, operands, word)
}

// startingWith returns the candidates that begin with a word; flags only if the word begins like one.
func startingWith(word string, candidates []string, flags bool) []string {
	return slices.DeleteFunc(candidates, func(each string) bool {
		return !strings.HasPrefix(each, word) || isFlag(each) != flags
	})
}

// completeHost returns the hosts that serve something, each with an ending.
func (s *session) completeHost(ctx context.Context, word, ending string) []string {
	instances, err := s.discover(ctx, "all")
	if err != nil {
		return nil
	}
	scheme := schemeOf(word)
	var candidates []string
	for _, host := range hostsOf(instances) {
		candidates = append(candidates, scheme+host+ending)
	}
	return startingWith(word, candidates, false)
}

// schemeOf returns the https:// of a word, if it has one.
func schemeOf(word string) string {
	if scheme, _, found := strings.Cut(word, "://"); found {
		return scheme + "://"
	}
	return ""
}

// completePath returns the addresses that a host serves.
func (s *session) completePath(ctx context.Context, word string) []string {
	scheme := schemeOf(word)
	place, _, _ := strings.Cut(strings.TrimPrefix(word, scheme), "/")
	to, err := parseAddress(scheme + place)
	if err != nil {
		return nil
	}
	known, err := s.fetch(ctx, to.host, to.port)
	if err != nil {
		return nil
	}
	var candidates []string
	for _, each := range operationsOf(known.document) {
		if candidate := scheme + place + each.path; !slices.Contains(candidates, candidate) {
			candidates = append(candidates, candidate)
		}
	}
	return startingWith(word, candidates, false)
}

// completeCall completes an address, and after it the names of arguments.
func completeCall(ctx context.Context, s *session, before []string, word string) []string {
	switch {
	case len(before) == 0 && strings.Contains(strings.TrimPrefix(word, schemeOf(word)), "/"):
		return s.completePath(ctx, word)
	case len(before) == 0:
		return s.completeHost(ctx, word, "/")
	case strings.Contains(word, "="):
		return nil // a value
	}
	to, err := parseAddress(before[0])
	if err != nil {
		return nil
	}
	known, err := s.fetch(ctx, to.host, to.port)
	if err != nil {
		return nil
	}
	var candidates []string
	for _, each := range matching(known.document, to.path) {
		for _, argument := range each.parameters() {
			if candidate := fmt.Sprintf("%s=", argument.name); !slices.Contains(candidates, candidate) {
				candidates = append(candidates, candidate)
			}
		}
	}
	return startingWith(word, candidates, false)
}
