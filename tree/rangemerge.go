package tree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// A RangeMerge replaces the leaves in a range of a node: those after Start, up
// to and including End (protocol §8.3). Paths may end in ".priority". A client
// that applies the merges in order has the new value, whatever it had in the
// ranges that are replaced.
type RangeMerge struct {
	Start, End       string
	HasStart, HasEnd bool // without a bound the range has no limit on that side
	Value            Node // what the range holds, at its place below the root
}

// RangeDiff returns the merges that turn the node that a client described by its
// compound hash into n, in ascending order. It returns ErrCompoundHash if the
// client must be sent n as a whole. That is also so if there are no merges but
// the client's simple hash is not that of n: then a priority differs which
// compound hashes leave out, that of an object with no key above ".priority".
func (n Node) RangeDiff(posts, hashes []string) ([]RangeMerge, error) {
	if len(hashes) != len(posts)+1 {
		return nil, fmt.Errorf("%w: %d hashes for %d posts", ErrCompoundHash, len(hashes), len(posts))
	}
	h, err := n.hashRanges(posts)
	if err != nil {
		return nil, err
	}
	w := mergeWriter{bracketWriter: bracketWriter{brackets: "{}"}}
	if w.plan(posts, h.differs(hashes), h.priorityAt); len(w.merges) > 0 {
		walkRanges(n, h.posts, &w.bracketWriter, &w)
		w.flush()
	}
	return w.merges, nil
}

// differs says which ranges must be sent.
func (h *rangeHasher) differs(hashes []string) []bool {
	d := make([]bool, len(hashes))
	for i := range d {
		d[i] = h.hashes[i] != hashes[i] || i > 0 && h.tied[i-1] && d[i-1]
	}
	for i := len(d) - 2; i >= 0; i-- {
		d[i] = d[i] || h.tied[i] && d[i+1]
	}
	return d
}

// A mergeWriter collects the values of merges.
type mergeWriter struct {
	bracketWriter
	merge   []int // of each range, -1 if it is not sent
	current int   // the merge being written
	merges  []RangeMerge
}

// plan makes one merge, still without its value, for all ranges in a row that
// must be sent.
func (w *mergeWriter) plan(posts []string, sent, priorityAt []bool) {
	for i := range sent {
		if !sent[i] {
			w.merge = append(w.merge, -1)
			continue
		}
		if i == 0 || !sent[i-1] {
			w.merges = append(w.merges, RangeMerge{})
			if i > 0 {
				w.last().Start, w.last().HasStart = posts[i-1], true
			}
			if i > 0 && priorityAt[i-1] {
				w.last().Start = strings.TrimRight(posts[i-1], "/") + "/" + priorityKey
			}
		}
		if w.last().End, w.last().HasEnd = "", i < len(posts); i < len(posts) {
			w.last().End = posts[i]
		}
		w.merge = append(w.merge, len(w.merges)-1)
	}
}

func (w *mergeWriter) last() *RangeMerge { return &w.merges[len(w.merges)-1] }

func (w *mergeWriter) part(at int, n Node) {
	if w.moveTo(at) {
		w.start()
		w.buf = piecewise.Append(w.buf, n.text)
	}
}

func (w *mergeWriter) priority(at int, p Node, _, _ bool) {
	switch {
	case !w.moveTo(at):
	case w.isOpen(): // it comes first in its object
		w.closeTo(len(w.keys) + 1)
		w.buf = slices.Insert(w.buf, w.open[len(w.keys)], []byte(quotedPriority+":"+p.text+",")...)
	default:
		w.push(quotedPriority)
		w.start()
		w.buf = append(w.buf, p.text...)
		w.pop()
	}
}

func (w *mergeWriter) moveTo(at int) bool {
	if m := w.merge[at]; m < 0 {
		return false
	} else if m != w.current {
		w.flush()
		w.current = m
	}
	return true
}

func (w *mergeWriter) flush() { w.merges[w.current].Value = Node{string(w.end())} }

// Apply returns n with the merge applied.
func (m RangeMerge) Apply(n Node) (Node, error) {
	var b bounds
	var err error
	if m.HasStart {
		b.hasStart = true
		if b.start, err = parsePost(m.Start); err != nil {
			return Empty, err
		}
	}
	if m.HasEnd {
		b.hasEnd = true
		if b.end, err = parsePost(m.End); err != nil {
			return Empty, err
		}
	}
	return b.merge(n, m.Value), nil
}

// bounds are those of a range that lie at or below the current node, relative
// to it.
type bounds struct {
	start, end       []string
	hasStart, hasEnd bool
}

func (b bounds) merge(n, value Node) Node {
	switch {
	case !b.hasStart && !b.hasEnd:
		return value
	case !b.hasStart && value.IsLeaf():
		return value
	case !b.hasStart && n.IsLeaf(): // it lies in the range, which value has nothing for
		n = Empty
	}
	var out Builder
	out.Priority(b.child(priorityKey, n.Priority(), value.Priority()))
	for key, c := range zip(n, value) {
		out.Child(key, b.child(key, c[0], c[1]))
	}
	if merged := out.Node(); n.IsObject() || !merged.IsEmpty() {
		return merged
	}
	return n
}

// child merges one child: none of it, a part of it, or all.
func (b bounds) child(key string, n, value Node) Node {
	var below bounds
	if b.hasStart && len(b.start) > 0 {
		c := CompareKeys(key, b.start[0])
		if c < 0 {
			return n
		}
		if c == 0 {
			below.start, below.hasStart = b.start[1:], true
		}
	}
	if b.hasEnd {
		if len(b.end) == 0 || CompareKeys(key, b.end[0]) > 0 {
			return n
		}
		if key == b.end[0] {
			below.end, below.hasEnd = b.end[1:], true
		}
	}
	return below.merge(n, value)
}
