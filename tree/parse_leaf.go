package tree

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/tree/jsontext"
	"github.com/dogwooddb/dogwood/tree/piecewise"
)

func (p *parser) skipLiteral(word string) bool {
	if !strings.HasPrefix(p.src[p.pos:], word) {
		return false
	}
	p.pos += len(word)
	return true
}

func (p *parser) literal(word string) bool {
	ok := p.skipLiteral(word)
	if ok {
		p.out = append(p.out, word...)
	}
	return ok
}

// Most numbers are short integers, which are canonical as they stand (shortInteger).
// Others are brought into the form of JavaScript.
func (p *parser) number() {
	if n := shortInteger(p.src[p.pos:]); n > 0 {
		p.out = append(p.out, p.src[p.pos:p.pos+n]...)
		p.pos += n
		return
	}
	p.aheadNumber()
	start := p.pos
	digits := func() {
		from := p.pos
		for p.pos < len(p.src) && p.src[p.pos] >= '0' && p.src[p.pos] <= '9' {
			p.pos++
		}
		if p.pos == from {
			p.fail(p.here(), BadJSON, "expected a digit")
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
		p.fail(p.passed+start, BadJSON, "number out of range")
	}
	p.out = out
}

// aheadNumber makes all of the number that comes next part of src.
func (p *parser) aheadNumber() {
	for n := 0; p.from != nil; {
		for p.pos+n < len(p.src) && strings.IndexByte("0123456789+-.eE", p.src[p.pos+n]) >= 0 {
			n++
		}
		if n > MaxStringBytes {
			p.fail(p.here(), BadJSON, "number out of range")
		}
		if p.pos+n < len(p.src) || !p.more() {
			return
		}
	}
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

// A stringForm says what a string that was read looks like. A string without
// escapes is a part of the text and costs no copy.
type stringForm int

const (
	canonicalForm stringForm = iota // its source is canonical as it stands, and ends at pos
	escapedForm
	longForm // it was not read: it is so long that it is read in parts
)

// text reads a document that is one string. It is a part of the source if it can be.
func (p *parser) text() Draft {
	at := p.here()
	s, form := p.str(math.MaxInt)
	p.checkLength(at, len(s))
	canonical := p.src[max(p.pos-len(s)-2, 0):p.pos]
	if form != canonicalForm {
		canonical = piecewise.Own(jsontext.AppendQuoted(make([]byte, 0, len(s)+2), s))
	}
	p.end()
	return Draft{text: canonical}
}

// stringLeaf reads a string that is a value. It reports whether that is in out.
func (p *parser) stringLeaf() bool {
	at, most := p.here(), math.MaxInt
	if p.stream != nil {
		most = p.stream.whole
	}
	s, form := p.str(most)
	if form == longForm {
		p.longString()
		return false
	}
	p.checkLength(at, len(s))
	if form == canonicalForm {
		p.out = piecewise.Append(p.out, p.src[p.pos-len(s)-2:p.pos])
	} else {
		p.fit(len(s) + slack)
		p.out = jsontext.AppendQuoted(p.out, s)
	}
	return true
}

// checkLength fails if a string that is a value is longer than MaxStringBytes.
func (p *parser) checkLength(at, n int) {
	if n > MaxStringBytes {
		p.fail(at, TooLong, "string of %d bytes exceeds the maximum of %d", n, MaxStringBytes)
	}
}

// str reads a string. In a stream, one of more than most bytes may have the longForm.
func (p *parser) str(most int) (s string, form stringForm) {
	n, ascii := jsontext.PlainPrefix(p.src[p.pos+1:])
	end := p.pos + 1 + n
	if p.from != nil && (end == len(p.src) || p.src[end] == '\\') {
		if p.aheadString(n+1, most) {
			return "", longForm
		}
		n, ascii = jsontext.PlainPrefix(p.src[p.pos+1:])
		end = p.pos + 1 + n
	}
	switch {
	case end == len(p.src):
		p.fail(p.here(), BadJSON, jsontext.Cut)
	case p.src[end] == '\\':
		return p.escapedString(), escapedForm
	case p.src[end] != '"':
		p.fail(p.passed+end, BadJSON, "control character in string")
	}
	s = p.src[p.pos+1 : end]
	if !ascii && !utf8.ValidString(s) {
		p.fail(p.here(), BadJSON, "string is not valid UTF-8")
	}
	p.pos = end + 1
	return s, canonicalForm
}

// aheadString makes all of the string that comes next part of src, of which n bytes were
// looked at. It reports whether that is too much.
func (p *parser) aheadString(n, most int) (long bool) {
	for {
		plain, _ := jsontext.PlainPrefix(p.src[p.pos+n:])
		n += plain
		at := p.pos + n
		switch {
		case at+1 < len(p.src) && p.src[at] == '\\':
			n += 2
			continue
		case at < len(p.src) && p.src[at] != '\\':
			return false // its end, or what is wrong with it
		case n > most:
			return true
		}
		if !p.more() {
			return false
		}
	}
}

func (p *parser) escapedString() string {
	start := p.here()
	out := make([]byte, 0, jsontext.SkipString(p.src, p.pos)-p.pos) // more than enough
	for p.pos++; ; {
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
		}
		out = p.escape(out)
	}
}

// escape reads an escape, and fails at a control character.
func (p *parser) escape(out []byte) []byte {
	if p.src[p.pos] != '\\' {
		p.fail(p.here(), BadJSON, "control character in string")
	}
	r, n, wrong := jsontext.Escape(p.src[p.pos:])
	if wrong != "" {
		p.fail(p.here(), BadJSON, "%s", wrong)
	}
	p.pos += n
	return utf8.AppendRune(out, r)
}
