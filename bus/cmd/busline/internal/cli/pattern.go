package cli

import (
	"path"
	"slices"
)

// checkPatterns returns an error for an invalid pattern of hosts; a valid one is "*.example".
func checkPatterns(patterns []string) error {
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			return misuse("%q is not a host pattern: %w", pattern, err)
		}
	}
	return nil
}

// matchesAny reports whether a host matches one of the patterns, which have been checked.
func matchesAny(patterns []string, host string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		matched, _ := path.Match(pattern, host)
		return matched
	})
}
