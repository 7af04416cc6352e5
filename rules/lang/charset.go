package lang

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode"
)

// A charset is a set of characters of a regular expression.
type charset []span

// A span is the characters from lo to hi.
type span struct{ lo, hi rune }

// single returns the set of one character.
func single(c rune) charset { return charset{{c, c}} }

func (s charset) isSingle() bool { return len(s) == 1 && s[0].lo == s[0].hi }

// What is no line end is what a dot matches.
var lineEnds = charset{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}

var (
	digits = charset{{'0', '9'}}
	words  = charset{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
	spaces = charset{
		{'\t', '\r'}, {' ', ' '}, {0xa0, 0xa0}, {0x1680, 0x1680}, {0x2000, 0x200a},
		{0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff},
	}
)

// classes are the escapes that mean more than one character.
var classes = map[rune]charset{
	'd': digits, 'D': digits.complement(),
	'w': words, 'W': words.complement(),
	's': spaces, 'S': spaces.complement(),
}

// complement returns all characters that are not in s.
func (s charset) complement() charset {
	var out charset
	next := rune(0)
	for _, r := range s.sorted() {
		if next < r.lo {
			out = append(out, span{next, r.lo - 1})
		}
		next = max(next, r.hi+1)
	}
	if next <= unicode.MaxRune {
		out = append(out, span{next, unicode.MaxRune})
	}
	return out
}

func (s charset) sorted() charset {
	s = slices.Clone(s)
	sort.Slice(s, func(i, j int) bool { return s[i].lo < s[j].lo })
	return s
}

// fold returns s with the other cases of its characters. Like JavaScript, and
// unlike RE2, it takes no ASCII letter for another character: a Kelvin sign is no k.
// looked is how many letters it looked at.
func (s charset) fold() (folded charset, looked int) {
	out := slices.Clone(s)
	for _, r := range s {
		out = r.overlap(out, 'a', 'z', 'A'-'a')
		out = r.overlap(out, 'A', 'Z', 'a'-'A')
	}
	for _, r := range s {
		if r.hi <= unicode.MaxASCII {
			continue
		}
		cased := casedLetters()
		from, _ := slices.BinarySearch(cased, r.lo)
		to, _ := slices.BinarySearch(cased, r.hi+1)
		looked += to - from
		for _, c := range cased[from:to] {
			for f := unicode.SimpleFold(c); f != c; f = unicode.SimpleFold(f) {
				if f > unicode.MaxASCII && !s.contains(f) {
					out = append(out, span{f, f})
				}
			}
		}
	}
	return out, looked
}

// overlap appends to out what r has in common with lo to hi, moved by delta.
func (r span) overlap(out charset, lo, hi, delta rune) charset {
	lo, hi = max(lo, r.lo), min(hi, r.hi)
	if lo > hi {
		return out
	}
	return append(out, span{lo + delta, hi + delta})
}

func (s charset) contains(c rune) bool {
	return slices.ContainsFunc(s, func(r span) bool { return r.lo <= c && c <= r.hi })
}

// casedLetters returns all characters beyond ASCII that have other cases.
var casedLetters = sync.OnceValue(func() []rune {
	var all []rune
	for c := rune(unicode.MaxASCII + 1); c <= unicode.MaxRune; c++ {
		if unicode.SimpleFold(c) != c {
			all = append(all, c)
		}
	}
	return all
})

// foldedClasses are the classes with the other cases of their characters.
var foldedClasses = sync.OnceValue(func() map[rune]charset {
	all := make(map[rune]charset, len(classes))
	for name, s := range classes {
		all[name], _ = s.fold()
	}
	return all
})

// re2 returns the set in RE2's syntax.
func (s charset) re2() string {
	if s.isSingle() {
		return fmt.Sprintf(`\x{%x}`, s[0].lo)
	}
	if len(s) == 0 {
		return `[^\x{0}-\x{10ffff}]`
	}
	var b strings.Builder
	b.WriteByte('[')
	for _, r := range s {
		fmt.Fprintf(&b, `\x{%x}`, r.lo)
		if r.hi != r.lo {
			fmt.Fprintf(&b, `-\x{%x}`, r.hi)
		}
	}
	b.WriteByte(']')
	return b.String()
}
