package explain

import (
	"cmp"
	"fmt"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/lang"
)

// A drawing is the source of a rule with the values of its parts.
//
// It has the values that a trace noted, by their place in the source. A value
// is left out where the source says it already, and long ones are cut in the
// middle, so the drawing stays readable and bounded however large data and
// rules are. Of the rule data.child('n').val() > 3:
//
//	data.child('n').val() > 3
//	^^^^^^^^^^^^^^^^^^^^^^^^^ false
//	^^^^^^^^^^^^^^^^^^^^^ 2
//	^^^^^^^^^^^^^^^ /items/a/n 2
type drawing struct {
	source string
	notes  []note
	cut    bool // there were more
}

// A note is the value of the part of a source from one byte to another.
type note struct {
	from, to int
	text     string
}

// add takes the values over that tell something, and sorts them by where they begin, longer
// parts first. Of several values at the same bytes the last one counts. It is called once.
func (d *drawing) add(values []rules.Value) {
	seen := make(map[[2]int]int)
	told := make(map[string]bool)
	for _, v := range values {
		if obvious(v.Expr) {
			continue
		}
		from, to := v.Expr.Span()
		if from < 0 || to > len(d.source) || from >= to {
			continue
		}
		n := note{from, to, noteText(v)}
		if i, again := seen[[2]int{from, to}]; again {
			d.notes[i] = n
			continue
		}
		same := d.source[from:to] + "\x00" + n.text
		if told[same] && !v.Failed {
			continue // the same part has the same value wherever it stands
		}
		told[same] = true
		if len(d.notes) == maxValues {
			d.cut = true
			break
		}
		seen[[2]int{from, to}] = len(d.notes)
		d.notes = append(d.notes, n)
	}
	sort.SliceStable(d.notes, func(i, j int) bool {
		a, b := d.notes[i], d.notes[j]
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) < 0
	})
}

func noteText(v rules.Value) string {
	text := shorten(v.Text, maxValue)
	if v.Failed {
		return "error: " + text
	}
	return text
}

// obvious reports whether an expression says itself what it is: literals, and
// the trees root, data, newData and newRoot as such.
func obvious(x lang.Expr) bool {
	switch x := x.(type) {
	case *lang.Literal, *lang.Regex, *lang.Array:
		return true
	case *lang.Variable:
		switch x.Name {
		case "root", "data", "newData", "newRoot", "query":
			return true
		}
	}
	return false
}

// lines returns the drawing. Line breaks in front of the source and behind it
// are left out, and what all lines but the first are indented by beyond two
// characters.
func (d *drawing) lines() (out []string) {
	from, surplus := 0, d.surplus()
	for line := range strings.SplitAfterSeq(d.source, "\n") {
		to := from + len(strings.TrimRight(line, "\r\n"))
		start := from
		if from > 0 {
			start = min(from+surplus, to)
		}
		if text := clean(d.source[start:to]); strings.TrimSpace(text) != "" || len(out) > 0 {
			out = append(out, shorten(text, 2*maxLine))
		}
		out = append(out, d.below(start, to)...)
		from += len(line)
	}
	for len(out) > 0 && strings.TrimSpace(out[len(out)-1]) == "" {
		out = out[:len(out)-1]
	}
	if d.cut {
		out = append(out, "…")
	}
	return out
}

// surplus returns by how many bytes all lines but the first are indented, less
// two.
func (d *drawing) surplus() int {
	_, rest, _ := strings.Cut(d.source, "\n")
	least := -1
	for line := range strings.SplitSeq(rest, "\n") {
		trimmed := strings.TrimLeft(line, " \t")
		if strings.TrimSpace(trimmed) == "" {
			continue
		}
		if n := len(line) - len(trimmed); least < 0 || n < least {
			least = n
		}
	}
	return max(least-2, 0)
}

// below returns what stands below the line of the source from one byte to
// another: carets under each part that begins there, and its value. A part that goes on in the
// next line has carets up to the end of this one. Below a line that is too long for carets, the
// parts are quoted instead; two that read the same after shortening are not both shown.
func (d *drawing) below(from, to int) (out []string) {
	long := utf8.RuneCountInString(d.source[from:to]) > maxLine
	said := make(map[string]bool) // parts, as they are cut
	for _, n := range d.notes {
		if n.from < from || n.from >= to {
			continue
		}
		end := min(n.to, to)
		if long {
			part := clean(d.source[n.from:end])
			text := shortenInside(part, maxName)
			if said[text] {
				text = shortenInside(part, 2*maxName)
			}
			if said[text] {
				continue // it reads as another part
			}
			said[text] = true
			out = append(out, fmt.Sprintf("  %s: %s", text, n.text))
			continue
		}
		indent := utf8.RuneCountInString(d.source[from:n.from])
		width := utf8.RuneCountInString(d.source[n.from:end])
		out = append(out, strings.Repeat(" ", indent)+strings.Repeat("^", width)+" "+n.text)
	}
	return out
}

// shortenInside leaves out the middle of a text of more than most characters: parts of one
// condition often begin alike.
func shortenInside(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return escape(s)
	}
	return escape(string(r[:most/2]) + "…" + string(r[len(r)-(most-most/2):]))
}

// clean replaces what a terminal obeys by spaces, one for one, so that carets stand below
// what they mean.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if isObeyed(r) {
			return ' '
		}
		return r
	}, s)
}

// isObeyed reports whether a terminal may obey a character, or change for it the order
// in which it shows others.
func isObeyed(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// Escape writes the characters of a text that a terminal would obey, and those that
// change the order in which it shows others, as JSON may write them: \u009b. It leaves
// those in keep as they are. It is for text of clients, data or rules that a terminal or a log
// shows: otherwise a key could move the cursor, or hide a part of the line.
func Escape(s, keep string) string {
	escaped := func(r rune) bool { return isObeyed(r) && !strings.ContainsRune(keep, r) }
	if utf8.ValidString(s) && strings.IndexFunc(s, escaped) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if escaped(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func escape(s string) string { return Escape(s, "") }

// shorten cuts a text to about max bytes, at a character, and escapes it.
func shorten(s string, max int) string {
	return escape(cut(s, max))
}

// cut is shorten for what is escaped otherwise.
func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max] + "…"
}
