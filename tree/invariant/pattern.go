package invariant

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// A pattern is a path with places that are filled when it is used. It is
// checked when it is read, so the functions that use it need not look for
// mistakes.
type pattern struct {
	text     string // without slashes at its ends
	segments []segment
}

// A segment is one key of a pattern.
type segment struct {
	kind segmentKind
	name string // the key, "$x" with the dollar, or the field, "" for {}
}

// String returns the segment as it was written.
func (g segment) String() string {
	switch g.kind {
	case wildcard:
		return "*"
	case field:
		return "{" + g.name + "}"
	}
	return g.name
}

type segmentKind uint8

const (
	literal segmentKind = iota
	variable
	wildcard
	field
)

// UnmarshalJSON reads a pattern.
func (p *pattern) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return errors.New("a pattern is a text")
	}
	read, err := parsePattern(s)
	*p = read
	return err
}

func parsePattern(s string) (pattern, error) {
	p := pattern{text: strings.Trim(s, "/")}
	for key := range strings.SplitSeq(p.text, "/") {
		seg, ok := parseSegment(key)
		if !ok {
			return p, fmt.Errorf("%q is no path", s)
		}
		p.segments = append(p.segments, seg)
	}
	if len(p.segments) > tree.MaxDepth {
		return p, fmt.Errorf("%q is deeper than %d", s, tree.MaxDepth)
	}
	return p, nil
}

func parseSegment(key string) (s segment, ok bool) {
	switch {
	case key == "*":
		return segment{kind: wildcard}, true
	case strings.HasPrefix(key, "$"):
		return segment{variable, key}, tree.ValidKey(key[1:])
	case strings.HasPrefix(key, "{") && strings.HasSuffix(key, "}"):
		name := key[1 : len(key)-1]
		return segment{field, name}, name == "" || tree.ValidKey(name)
	}
	return segment{literal, key}, tree.ValidKey(key)
}

// has reports whether there is a segment of a kind.
func (p pattern) has(kind segmentKind) bool {
	return slices.ContainsFunc(p.segments, func(s segment) bool { return s.kind == kind })
}

// binds reports whether a variable is in the pattern.
func (p pattern) binds(name string) bool {
	return slices.Contains(p.segments, segment{variable, name})
}

// shares reports whether two patterns have a variable in common.
func (p pattern) shares(q pattern) bool {
	return slices.ContainsFunc(p.segments, func(s segment) bool { return s.kind == variable && q.binds(s.name) })
}

// searched reports what keeps a pattern from being looked for in the tree.
func (p pattern) searched() error {
	if p.has(field) {
		return fmt.Errorf("%q: {} can only be in a path that is looked up", p.text)
	}
	return nil
}

// filledBy reports what keeps a pattern from being filled by matches of another.
func (p pattern) filledBy(source pattern) error {
	for _, s := range p.segments {
		if s.kind == wildcard {
			return fmt.Errorf("%q: * cannot be in a path that is looked up", p.text)
		}
		if s.kind == variable && !source.binds(s.name) {
			return fmt.Errorf("%q: %s is not in %q", p.text, s.name, source.text)
		}
	}
	return nil
}

// patterns is one pattern or a list of them.
type patterns []pattern

// UnmarshalJSON reads one pattern, or a list.
func (p *patterns) UnmarshalJSON(text []byte) error {
	if strings.HasPrefix(string(text), "[") {
		return json.Unmarshal(text, (*[]pattern)(p))
	}
	*p = make(patterns, 1)
	return json.Unmarshal(text, &(*p)[0])
}
