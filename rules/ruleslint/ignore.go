package ruleslint

import (
	"regexp"
	"strings"
)

// ignores are the codes that comments silence, by line; line 0 is the file. The
// text is searched line by line, since a comment counts for a line, whatever it
// stands behind.
//
// A comment at the end of a rule's line therefore also counts for the next line, since that
// one is below it. Two rules on neighbouring lines are told apart by a code only, or by a
// comment on a line of its own.
type ignores map[int][]string

// ignoreComment takes the first comment of a line. Words of a reason behind the codes are taken
// for codes as well, which does no harm: no warning has such a code.
var ignoreComment = regexp.MustCompile(`(?://|/\*)\s*lint:(file-)?ignore\s+([a-z,\- ]+)`)

// parseIgnores finds the comments that silence warnings.
func parseIgnores(text string) ignores {
	found := ignores{}
	for i, line := range strings.Split(text, "\n") {
		m := ignoreComment.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		at := i + 1
		if m[1] != "" {
			at = 0
		}
		found[at] = append(found[at], strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	return found
}

// covers reports whether a warning is silenced.
func (ig ignores) covers(w Warning) bool {
	for _, line := range []int{0, w.Pos.Line, w.Pos.Line - 1} {
		for _, code := range ig[line] {
			if code == w.Code {
				return true
			}
		}
	}
	return false
}
