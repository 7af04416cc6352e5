package tree

import (
	"strings"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/tree/jsontext"
	"github.com/dogwooddb/dogwood/tree/piecewise"
)

func (p *parser) number() {
	if n := shortInteger(p.src[p.pos:]); n > 0 {
		p.out = append(p.out, p.src[p.pos:p.pos+n]...)
		p.pos += n
		return
	}
	start := p.pos
	digits := func() {
		from := p.pos
		for p.pos < len(p.src) && p.src[p.pos] >= '0' && p.src[p.pos] <= '9' {
			p.pos++
		}
		if p.pos == from {
			p.fail(p.pos, BadJSON, "expected a digit")
		}
	}
	next := func(set string) bool {
		ok := p.pos < len(p.src) && strings.IndexByte(set, p.src[p.pos]) >= 0
		if ok {
			p.pos++
		}
		return ok
	}
	next("-")
	if !next("0") {
		digits()
	}
	if next(".") {
		digits()
	}
	if next("eE") {
		next("+-")
		digits()
	}
	out, ok := canonicalNumber(p.out, p.src[start:p.pos])
	if !ok {
		p.fail(start, BadJSON, "number out of range")
	}
	p.out = out
}

// shortInteger returns the length of the number that s begins with if it is one of
// up to 18 digits, which is canonical as it stands, else 0.
func shortInteger(s string) int {
	const most = 18
	n := 0
	for n < len(s) && n <= most && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n == 0 || n > most || n > 1 && s[0] == '0' || n < len(s) && (s[n] == '.' || s[n]|0x20 == 'e') {
		return 0
	}
	return n
}

// text reads a document that is one string. It is a part of the source if it can be.
func (p *parser) text() Draft {
	at := p.pos
	s, raw := p.shortStr()
	canonical := p.src[at:p.pos]
	if !raw {
		canonical = piecewise.Own(jsontext.AppendQuoted(make([]byte, 0, p.pos-at), s))
	}
	p.end()
	return Draft{text: canonical}
}

func (p *parser) stringLeaf() {
	at := p.pos
	s, raw := p.shortStr()
	if raw {
		p.out = piecewise.Append(p.out, p.src[at:p.pos])
	} else {
		p.fit(p.pos - at + slack)
		p.out = jsontext.AppendQuoted(p.out, s)
	}
}

// shortStr is str for a string that is a value: it is not longer than MaxStringBytes.
func (p *parser) shortStr() (s string, raw bool) {
	at := p.pos
	s, raw = p.str()
	if len(s) > MaxStringBytes {
		p.fail(at, TooLong, "string of %d bytes exceeds the maximum of %d", len(s), MaxStringBytes)
	}
	return s, raw
}

// str reads a string. raw reports that its source is canonical as it stands.
func (p *parser) str() (s string, raw bool) {
	start := p.pos
	p.pos++
	n, ascii := jsontext.PlainPrefix(p.src[p.pos:])
	end := p.pos + n
	switch {
	case end == len(p.src):
		p.fail(start, BadJSON, jsontext.Cut)
	case p.src[end] == '\\':
		return p.escapedString(start), false
	case p.src[end] != '"':
		p.fail(end, BadJSON, "control character in string")
	}
	s = p.src[p.pos:end]
	if !ascii && !utf8.ValidString(s) {
		p.fail(start, BadJSON, "string is not valid UTF-8")
	}
	p.pos = end + 1
	return s, true
}

func (p *parser) escapedString(start int) string {
	size := jsontext.SkipString(p.src, start) - start
	out := make([]byte, 0, size) // more than enough
	for {
		n, _ := jsontext.PlainPrefix(p.src[p.pos:])
		out = append(out, p.src[p.pos:p.pos+n]...)
		p.pos += n
		switch {
		case p.pos == len(p.src):
			p.fail(start, BadJSON, jsontext.Cut)
		case p.src[p.pos] == '"':
			if !utf8.Valid(out) {
				p.fail(start, BadJSON, "string is not valid UTF-8")
			}
			p.pos++
			return piecewise.Own(out)
		case p.src[p.pos] != '\\':
			p.fail(p.pos, BadJSON, "control character in string")
		}
		r, n, wrong := jsontext.Escape(p.src[p.pos:])
		if wrong != "" {
			p.fail(p.pos, BadJSON, "%s", wrong)
		}
		out = utf8.AppendRune(out, r)
		p.pos += n
	}
}
