package cli

import (
	"path"
	"slices"
)

// checkPatterns finds what is no pattern of hosts, such as "*.example".
func checkPatterns(patterns []string) error {
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			return misuse("%q is no pattern of hosts: %w", pattern, err)
		}
	}
	return nil
}

// matchesAny says whether a host is like one of the patterns, which were checked.
func matchesAny(patterns []string, host string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		matched, _ := path.Match(pattern, host)
		return matched
	})
}
