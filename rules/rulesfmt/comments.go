package rulesfmt

import (
	"strings"

	"github.com/tailscale/hujson"
)

// An extra is what stands between two tokens: comments behind the first of them
// on its line, and comments on lines of their own.
type extra struct {
	same  []string
	lines []string
	blank bool // there is an empty line before the first of lines, or before the token
}

func (e extra) all() []string { return append(e.same[:len(e.same):len(e.same)], e.lines...) }

// parseExtra divides the text between two tokens into its comments.
func parseExtra(text hujson.Extra) extra {
	var e extra
	breaks := 0 // since the last comment
	for s := string(text); s != ""; {
		var c string
		switch {
		case strings.HasPrefix(s, "//"):
			c, s, _ = strings.Cut(s, "\n")
			s = "\n" + s
		case strings.HasPrefix(s, "/*"):
			end := 2 + strings.Index(s[2:], "*/") + 2
			c, s = s[:end], s[end:]
		default:
			if s[0] == '\n' {
				breaks++
			}
			s = s[1:]
			continue
		}
		c = strings.TrimRight(c, " \t\r")
		if breaks == 0 && len(e.lines) == 0 {
			e.same = append(e.same, c)
			continue
		}
		if len(e.lines) == 0 {
			e.blank = breaks > 1
		}
		e.lines = append(e.lines, c)
		breaks = 0
	}
	if len(e.lines) == 0 {
		e.blank = breaks > 1
	}
	return e
}

func hasComments(extras ...hujson.Extra) bool {
	for _, e := range extras {
		if strings.Contains(string(e), "/") {
			return true
		}
	}
	return false
}

// then returns the comments of two gaps with nothing but a comma between them.
// Behind a // comment nothing can stand on the same line.
func (e extra) then(f extra) extra {
	if n := len(e.same); len(e.lines) > 0 || n > 0 && strings.HasPrefix(e.same[n-1], "//") {
		return extra{e.same, append(e.lines, f.all()...), e.blank}
	}
	return extra{append(e.same, f.same...), f.lines, f.blank}
}

// own prints comments that have lines of their own, in front of a token.
func (p *printer) own(comments []string, depth int) {
	for _, c := range comments {
		p.out.WriteString(c)
		p.newline(depth)
	}
}

// behind prints comments behind a token after which nothing follows but an end.
func (p *printer) behind(e extra, depth int) {
	p.sameLine(e.same)
	for _, c := range e.lines {
		p.newline(depth)
		p.out.WriteString(c)
	}
}

// sameLine prints comments behind a token. The later lines of one that has
// several keep their own indentation, which may be a drawing.
func (p *printer) sameLine(comments []string) {
	for _, c := range comments {
		p.out.WriteString(" " + c)
	}
}
