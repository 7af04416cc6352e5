package tree

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

func (p *parser) number() {
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

func (p *parser) stringLeaf() {
	at := p.pos
	s, raw := p.str()
	if len(s) > MaxStringBytes {
		p.fail(at, TooLong, "string of %d bytes exceeds the maximum of %d", len(s), MaxStringBytes)
	}
	if raw {
		p.out = append(p.out, p.src[at:p.pos]...)
	} else {
		p.out = appendQuoted(p.out, s)
	}
}

// str reads a string. raw reports that its source is canonical as it stands.
func (p *parser) str() (s string, raw bool) {
	start := p.pos
	p.pos++
	for i := p.pos; i < len(p.src); i++ {
		switch c := p.src[i]; {
		case c == '"':
			s = p.src[p.pos:i]
			if !utf8.ValidString(s) {
				p.fail(start, BadJSON, "string is not valid UTF-8")
			}
			p.pos = i + 1
			return s, true
		case c == '\\':
			return p.escapedString(start), false
		case c < 0x20:
			p.fail(i, BadJSON, "control character in string")
		}
	}
	p.fail(start, BadJSON, "string does not end")
	return
}

func (p *parser) escapedString(start int) string {
	var out []byte
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		p.pos++
		switch {
		case c == '"':
			if !utf8.Valid(out) {
				p.fail(start, BadJSON, "string is not valid UTF-8")
			}
			return string(out)
		case c == '\\':
			out = p.escape(out)
		case c < 0x20:
			p.fail(p.pos-1, BadJSON, "control character in string")
		default:
			out = append(out, c)
		}
	}
	p.fail(start, BadJSON, "string does not end")
	return ""
}

// escapes maps the letter of a simple escape to what it stands for.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (p *parser) escape(out []byte) []byte {
	at := p.pos - 1
	if p.pos == len(p.src) {
		p.fail(at, BadJSON, "string does not end")
	}
	c := p.src[p.pos]
	p.pos++
	if c != 'u' {
		if escapes[c] == 0 {
			p.fail(at, BadJSON, "unknown escape")
		}
		return append(out, escapes[c])
	}
	r := p.hex4(at)
	switch {
	case r < 0xD800 || r > 0xDFFF:
		return utf8.AppendRune(out, r)
	case r < 0xDC00 && p.skipLiteral(`\u`):
		if low := p.hex4(at); low >= 0xDC00 && low <= 0xDFFF {
			return utf8.AppendRune(out, (r-0xD800)<<10+(low-0xDC00)+0x10000)
		}
	}
	p.fail(at, BadJSON, "unpaired surrogate")
	return nil
}

func (p *parser) hex4(at int) rune {
	if p.pos+4 > len(p.src) {
		p.fail(at, BadJSON, "string does not end")
	}
	r, err := strconv.ParseUint(p.src[p.pos:p.pos+4], 16, 16)
	if err != nil {
		p.fail(at, BadJSON, "bad \\u escape")
	}
	p.pos += 4
	return rune(r)
}
