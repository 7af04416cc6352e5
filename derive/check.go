package derive

import (
	"slices"
	"strings"
)

// check checks a document as a whole, and orders the definitions that write. It compares patterns
// and no data: an expression in a target is taken for any key. So it also refuses documents whose
// targets never meet in fact.
func (p *parser) check(d *Document) {
	writers := slices.DeleteFunc(slices.Clone(d.definitions), func(x *Definition) bool { return x.writes() == nil })
	for i, x := range writers {
		p.apart(x, writers[:i])
		p.notAbove(x, d.definitions)
	}
	for _, x := range d.definitions {
		p.crowded(x, d.definitions)
		x.feeding = slices.ContainsFunc(d.definitions, func(o *Definition) bool { return o.Kind != Index && x.meets(o.source) })
	}
	if len(p.errs) == 0 {
		p.order(d, writers)
	}
}

// failAt adds an error about a definition.
func (p *parser) failAt(d *Definition, format string, args ...any) {
	before := len(p.errs)
	if p.fail(0, format, args...); len(p.errs) > before {
		p.errs[before].Pos, p.errs[before].Definition = d.Pos, d.Name
	}
}

// apart refuses two definitions that may write the same place. So the order of the definitions of
// a level does not matter, and a refusal can name the one definition that keeps a place.
func (p *parser) apart(d *Definition, others []*Definition) {
	for _, o := range others {
		for _, a := range d.writes() {
			for _, b := range o.writes() {
				if a.meets(b) {
					p.failAt(d, "the targets of %q and %q may meet: %s and %s; give one of them a place of its own", o.Name, d.Name, b, a)
					return
				}
			}
		}
	}
}

// notAbove refuses a target above a source: to write there would replace the nodes that
// something follows from. Bounded lists are no such targets: their children go or move as a
// whole, with the nodes below them, which is a touch of these as any other.
func (p *parser) notAbove(d *Definition, all []*Definition) {
	if !d.exclusive() {
		return
	}
	for _, o := range all {
		if len(d.target) < len(o.source) && d.target.meets(o.source) {
			p.failAt(d, "the target %s of %q may lie above %s, which %q looks at; choose another place", d.target, d.Name, o.source, o.Name)
			return
		}
	}
}

// crowded refuses too many definitions whose sources may match one path.
func (p *parser) crowded(d *Definition, all []*Definition) {
	n := 0
	for _, o := range all {
		if len(o.source) == len(d.source) && o.source.meets(d.source) {
			n++
		}
	}
	if n > MaxAtOnePath {
		p.failAt(d, "%d definitions may look at a node that %s matches; at most %d may", n, d.source, MaxAtOnePath)
	}
}

// Feeds reports whether what d writes may touch the source of o. A bounded list does not feed
// itself by what it drops, which makes it no longer. It would by moving that into itself.
func (d *Definition) Feeds(o *Definition) bool {
	if d == o && d.Kind == Keep {
		return d.target != nil && d.target.meets(d.source)
	}
	return d.meets(o.source)
}

// meets reports whether what d writes may be at, above or below what a pattern matches.
func (d *Definition) meets(p pattern) bool {
	return slices.ContainsFunc(d.writes(), func(w pattern) bool { return w.meets(p) })
}

// order computes the levels of the definitions that write, by a depth-first search that also finds
// circles. A level is the length of the longest chain in front of the definition, so when its
// level begins, all that it looks at is in the update. Expire and index have none.
func (p *parser) order(d *Document, writers []*Definition) {
	state := make(map[*Definition]int) // 1: being visited, 2: done
	var way []*Definition
	var visit func(x *Definition) bool
	visit = func(x *Definition) bool {
		way = append(way, x)
		state[x] = 1
		for _, o := range writers {
			if !o.Feeds(x) {
				continue
			}
			if state[o] == 1 {
				p.failAt(x, "the definitions follow from each other in a circle: %s; take one out", circle(way, o))
				return false
			}
			if state[o] == 0 && !visit(o) {
				return false
			}
			x.level = max(x.level, o.level+1)
		}
		way = way[:len(way)-1]
		state[x] = 2
		return true
	}
	for _, x := range writers {
		if state[x] == 0 && !visit(x) {
			return
		}
		if x.level >= MaxChain {
			p.failAt(x, "%q is at the end of a chain of %d definitions; at most %d may follow from each other", x.Name, x.level+1, MaxChain)
			return
		}
	}
	for _, x := range writers {
		for len(d.levels) <= x.level {
			d.levels = append(d.levels, nil)
		}
		d.levels[x.level] = append(d.levels[x.level], x)
	}
}

// circle returns the names from the first definition to itself, as writes follow. way leads
// in the other direction.
func circle(way []*Definition, first *Definition) string {
	names := []string{first.Name}
	for _, x := range slices.Backward(way[slices.Index(way, first):]) {
		names = append(names, x.Name)
	}
	return strings.Join(names, " -> ")
}
