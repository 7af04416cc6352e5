package tree

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
)

// A Write replaces the value at one location, or sets its priority.
type Write struct {
	Target
	Value Draft
}

// An Update is a set of writes at disjoint locations that happen together or
// not at all.
//
// Disjoint means that none of the locations contains another one. Then the
// order of the writes does not matter for the result, and each location has one
// new value.
type Update []Write

// ErrPriority is returned for a priority that is neither a string nor a number.
var ErrPriority = errors.New("a priority must be a string, a number or null")

// ParseWrite reads the value of a write to the target: any JSON for a
// location; a string, number, server value or null for a priority.
func ParseWrite(t Target, src string, d Dialect) (Write, error) {
	v, err := Parse(src, t.Path.Len(), d)
	if err == nil {
		err = checkPriority(t, v)
	}
	return Write{t, v}, err
}

func checkPriority(t Target, v Draft) error {
	if !t.Priority || v.IsEmpty() || isServerValue(v.text) {
		return nil
	}
	if c := class(v.text); c != classNumber && c != classString {
		return ErrPriority
	}
	return nil
}

// ParseUpdate reads the body of a merge at base: an object whose keys are
// relative paths ("a", "a/b", "a/.priority") and whose values are as for
// ParseWrite (REST §2, protocol §4). A null value removes. It returns
// *ParseError, among them BadObject if src is no object and BadUpdatePath if
// one path is an ancestor of another.
func ParseUpdate(base Path, src string, d Dialect) (Update, error) {
	return ParseUpdateUpTo(base, src, d, math.MaxInt)
}

// ParseUpdateUpTo is ParseUpdate for updates of at most most paths. It reads no more of one
// that has more: the error is a *ParseError of the kind TooManyPaths.
func ParseUpdateUpTo(base Path, src string, d Dialect, most int) (Update, error) {
	p := parser{src: src, dialect: d}
	p.borrow()
	defer p.giveBack()
	var u Update
	_, err := p.run(func() Draft {
		u = p.update(base, most)
		return Draft{}
	})
	if err != nil {
		return nil, err
	}
	return u, nil
}

func (p *parser) update(base Path, most int) Update {
	if p.peek() != '{' {
		p.value(0, 0)
		p.end()
		p.fail(0, BadObject, "expected an object")
	}
	p.pos++
	seen := make(map[Target]int) // index into u
	var u Update
	for more := p.peek() != '}'; more; {
		if p.peek() != '"' {
			p.want("a key")
		}
		at := p.pos
		key, _ := p.str(math.MaxInt)
		p.expect(':')
		w := p.updateMember(base, key, at)
		if i, ok := seen[w.Target]; ok {
			u[i] = w // the last of equal keys wins
		} else if len(u) == most {
			p.fail(at, TooManyPaths, "more than %d paths", most)
		} else {
			seen[w.Target] = len(u)
			u = append(u, w)
		}
		if more = p.peek() == ','; more {
			p.pos++
		}
	}
	p.afterMember('}', '}')
	p.end()
	if a, b, ok := overlap(u, seen); ok {
		p.fail(0, BadUpdatePath, "path %s is an ancestor of %s", abbreviate(a.String()), abbreviate(b.String()))
	}
	return u
}

func (p *parser) updateMember(base Path, key string, at int) Write {
	if strings.Trim(key, "/") == "" {
		p.fail(at, BadKey, "invalid key %q", abbreviate(key))
	}
	rel, err := ParseTarget(key)
	switch {
	case errors.Is(err, ErrTooDeep) || err == nil && base.Len()+rel.Path.Len() > MaxDepth:
		p.fail(at, TooDeep, "more than %d levels", MaxDepth)
	case err != nil:
		failKey(p, at, key, err)
	}
	t := Target{base.Join(rel.Path), rel.Priority}
	start := len(p.out)
	p.deferred = false
	p.value(t.Path.Len(), 0)
	v := p.draft(start)
	p.out = p.out[:start]
	if checkPriority(t, v) != nil {
		p.fail(at, BadPriority, "%v", ErrPriority)
	}
	return Write{t, v}
}

// overlap returns two targets of which one covers the other, if there are any.
// It looks up the ancestors of each path in a map, so it costs the depth and
// not the square of the number.
func overlap(u Update, seen map[Target]int) (a, b Target, ok bool) {
	for _, w := range u {
		if w.Priority {
			if t := (Target{Path: w.Path}); has(seen, t) {
				return t, w.Target, true
			}
		}
		for p := w.Path; !p.IsRoot(); {
			p, _ = p.Parent()
			if t := (Target{Path: p}); has(seen, t) {
				return t, w.Target, true
			}
		}
	}
	return a, b, false
}

func has(seen map[Target]int, t Target) bool {
	_, ok := seen[t]
	return ok
}

// Check reports whether the update's writes are disjoint, for updates that
// were not parsed.
func (u Update) Check() error {
	seen := make(map[Target]int, len(u))
	for i, w := range u {
		if has(seen, w.Target) {
			return fmt.Errorf("path %s is written twice", w.Target)
		}
		seen[w.Target] = i
	}
	if a, b, ok := overlap(u, seen); ok {
		return fmt.Errorf("path %s is an ancestor of %s", a, b)
	}
	return nil
}

// A ResolvedWrite is a write whose server values have been replaced.
type ResolvedWrite struct {
	Target
	Node Node
}

// SortWrites sorts writes by their paths, in the order of [ComparePaths].
func SortWrites(writes []ResolvedWrite) {
	if len(writes) > 1 {
		sort.Slice(writes, func(i, j int) bool { return ComparePaths(writes[i].Path, writes[j].Path) < 0 })
	}
}
