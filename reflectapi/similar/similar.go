// Package similar finds the name that was probably meant by another one.
package similar

import (
	"fmt"
	"strings"
)

// Name returns the name that was probably meant, "" if none is similar.
func Name(name string, names []string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, candidate := range names {
		if distance := editDistance(strings.ToLower(name), strings.ToLower(candidate)); distance < least {
			best, least = candidate, distance
		}
	}
	if least >= max(len(name), len(best)) { // nothing would be left of it
		return ""
	}
	return best
}

// DidYouMean returns "; did you mean add?", or nothing, also for a name that is among them.
func DidYouMean(name string, names []string) string {
	if meant := Name(name, names); meant != "" && meant != name {
		return fmt.Sprintf("; did you mean %s?", meant)
	}
	return ""
}

// editDistance counts the letters to insert, delete or replace to get from one text to the other.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for i := range row {
		row[i] = i
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
