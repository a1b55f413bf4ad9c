package cli

import (
	"fmt"
	"strings"
)

// nearest returns the name that was most likely meant, "" when none is near.
func nearest(name string, names []string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, candidate := range names {
		if distance := editDistance(strings.ToLower(name), strings.ToLower(candidate)); distance < least {
			best, least = candidate, distance
		}
	}
	if least >= max(len(name), len(best)) { // nothing of it would be left
		return ""
	}
	return best
}

// didYouMean returns "; did you mean add?", or nothing.
func didYouMean(name string, names []string) string {
	if meant := nearest(name, names); meant != "" {
		return fmt.Sprintf("; did you mean %s?", meant)
	}
	return ""
}

// editDistance counts the letters to put in, take out or change until one text is the other.
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
