// Package nearmiss finds the name that was probably meant.
package nearmiss

import "strings"

// Of returns the name among names that is most similar to name, "" if none is.
func Of(name string, names []string) string {
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

// Hint returns "; did you mean add?", or "", also for a name that is among names.
func Hint(name string, names []string) string {
	if meant := Of(name, names); meant != "" && meant != name {
		return "; did you mean " + meant + "?"
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
