package tree

import (
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"

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
		canonical = piecewise.Own(appendQuoted(make([]byte, 0, p.pos-at), s))
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
		p.out = appendQuoted(p.out, s)
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
	n, ascii := plainPrefix(p.src[p.pos:])
	end := p.pos + n
	switch {
	case end == len(p.src):
		p.fail(start, BadJSON, "string does not end")
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

// plainPrefix returns how many bytes of s come before the first quote, backslash
// or control character, or its length if there is none. If ascii is true they are
// all ASCII; it may be false without reason.
func plainPrefix(s string) (n int, ascii bool) {
	const each, highs = 0x0101010101010101, 0x8080808080808080
	high := uint64(0) // the high bits of all bytes
	for ; n+8 <= len(s); n += 8 {
		w := uint64(s[n]) | uint64(s[n+1])<<8 | uint64(s[n+2])<<16 | uint64(s[n+3])<<24 |
			uint64(s[n+4])<<32 | uint64(s[n+5])<<40 | uint64(s[n+6])<<48 | uint64(s[n+7])<<56
		high |= w & highs
		quote, backslash := w^each*'"', w^each*'\\'
		// x-each &^ x has the high bit of the lowest byte of x that is 0, and none below.
		stop := ((w-each*0x20)&^w | (quote-each)&^quote | (backslash-each)&^backslash) & highs
		if stop != 0 {
			return n + bits.TrailingZeros64(stop)/8, high == 0
		}
	}
	for ; n < len(s) && s[n] >= 0x20 && s[n] != '"' && s[n] != '\\'; n++ {
		high |= uint64(s[n]) & highs
	}
	return n, high == 0
}

func (p *parser) escapedString(start int) string {
	out := make([]byte, 0, stringLength(p.src[start:])) // more than enough
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		p.pos++
		switch {
		case c == '"':
			if !utf8.Valid(out) {
				p.fail(start, BadJSON, "string is not valid UTF-8")
			}
			return piecewise.Own(out)
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
