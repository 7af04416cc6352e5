package lang

import (
	"slices"
	"strings"
)

// Nearest returns the candidate that a misspelt name is most likely meant to be, "" if
// none is near: one edit away, or two for names of more than four characters. An edit
// inserts, removes or replaces a character, or swaps two neighbours; the case of letters
// does not count.
func Nearest(name string, candidates []string) string {
	best, least := "", 3
	if len(name) > 64 {
		return ""
	}
	if len(name) <= 4 {
		least = 2
	}
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if n := edits(strings.ToLower(name), strings.ToLower(c)); n < least && n < len(c)-1 {
			best, least = c, n
		}
	}
	return best
}

// edits returns the number of edits that make b of a.
func edits(a, b string) int {
	var before []int // the row of two characters ago
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// meant returns e with the name that is likely meant.
func (e *Error) meant(name string, candidates []string) *Error {
	e.Meant = Nearest(name, candidates)
	return e
}
