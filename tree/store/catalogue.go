package store

import (
	"iter"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// An Index is a declared order of the children of all nodes that match a
// pattern, such as "/rooms/$room" by "name".
type Index struct {
	Pattern string // keys, or "$name" for any key
	Order   string // tree.ByValue, a child path or a tree.ListOrder
}

// A definition is an index that the file knows. Entries of an index that is not
// ready may be missing; none is wrong. The id is new for each declaration: an
// index that is declared again after it was dropped gets another one, because
// entries under the old id may still wait to be reclaimed.
type definition struct {
	Index
	id    uint32
	ready bool
}

// priorityIndex holds the children that have a priority. It is always there.
// Children without one come before them, in key order, straight from the rows.
var priorityIndex = definition{Index: Index{Order: tree.ByPriority}, id: 0, ready: true}

// Matches reports whether p matches the pattern.
func (ix Index) Matches(p tree.Path) bool {
	pattern := strings.Trim(ix.Pattern, "/")
	for key := range p.Keys() {
		var want string
		want, pattern, _ = strings.Cut(pattern, "/")
		if want == "" || want != key && want[0] != '$' {
			return false
		}
	}
	return pattern == ""
}

// patternKeys returns the keys of an index pattern such as "/rooms/$room".
func patternKeys(pattern string) []string {
	return strings.FieldsFunc(pattern, func(r rune) bool { return r == '/' })
}

// at returns the indexes that order the children of p.
func (c *catalogue) at(p tree.Path) []definition {
	list := []definition{priorityIndex}
	if len(c.all) == 0 {
		return list
	}
	return slices.AppendSeq(list, c.declared(p, p.Len()))
}

// declared yields the indexes without the one by priority that order the children
// of p, which has depth keys.
func (c *catalogue) declared(p tree.Path, depth int) iter.Seq[definition] {
	return func(yield func(definition) bool) {
		for _, ix := range c.byDepth[depth] {
			if ix.Matches(p) && !yield(ix) {
				return
			}
		}
	}
}

// has reports whether there is an index with the given id.
func (c *catalogue) has(id uint32) bool {
	return id == priorityIndex.id || slices.ContainsFunc(c.all, func(d definition) bool { return d.id == id })
}

// A catalogue is the set of declared indexes. It is immutable.
//
// Transactions share it by pointer. Its version is part of the state, so a
// transaction tells by comparing two numbers whether the catalogue that the
// store has is that of its snapshot. byDepth bounds what a write has to match:
// patterns are compared only with nodes at their depth.
type catalogue struct {
	version uint32
	all     []definition
	byDepth map[int][]definition
}

func newCatalogue(version uint32, all []definition) *catalogue {
	c := &catalogue{version: version, all: all, byDepth: make(map[int][]definition)}
	for _, ix := range all {
		depth := len(patternKeys(ix.Pattern))
		c.byDepth[depth] = append(c.byDepth[depth], ix)
	}
	return c
}

// keeps reports whether a catalogue has the given indexes and no others.
func (c *catalogue) keeps(indexes []Index) bool {
	for _, d := range c.all {
		if !slices.Contains(indexes, d.Index) {
			return false
		}
	}
	return !slices.ContainsFunc(indexes, func(ix Index) bool { return !c.includes(ix) })
}

// includes reports whether an index is kept.
func (c *catalogue) includes(ix Index) bool {
	return slices.ContainsFunc(c.all, func(d definition) bool { return d.Index == ix })
}

func unfinished(d definition) bool { return !d.ready }
