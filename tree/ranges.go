package tree

import (
	"errors"
	"fmt"
	"slices"
)

// ErrCompoundHash is the class of errors of compound hashes that can't be used.
// The client is then sent the whole value, which is always right.
var ErrCompoundHash = errors.New("invalid compound hash")

// MaxPosts bounds the ranges that a client may ask for. Clients make one per
// 10·√size bytes, so this is far above what a value that fits a message has.
const MaxPosts = 1 << 14

// hashRanges hashes the node's ranges between the given posts, which are one more than
// posts (protocol §8.3). Posts are ascending paths; the last key may be ".priority". A
// range without leaves has the hash "".
func (n Node) hashRanges(posts []string) (*rangeHasher, error) {
	keys, err := parsePosts(posts)
	if err != nil {
		return nil, err
	}
	h := &rangeHasher{
		rangeText: rangeText{bracketWriter{brackets: "()"}},
		posts:     keys,
		hashes:    make([]string, len(keys)+1),
		tied:      make([]bool, len(keys)),
		last:      -1,
		loose:     -1,

		priorityAt: make([]bool, len(keys)),
	}
	walkRanges(n, keys, &h.bracketWriter, h)
	h.hashes[h.at] = h.hash()
	if h.badKey != "" {
		return nil, fmt.Errorf("%w: key %q sorts differently on some clients", ErrCompoundHash, h.badKey)
	}
	return h, nil
}

func parsePosts(posts []string) ([][]string, error) {
	if len(posts) > MaxPosts {
		return nil, fmt.Errorf("%w: %d posts exceed the maximum of %d", ErrCompoundHash, len(posts), MaxPosts)
	}
	all := make([][]string, len(posts))
	for i, post := range posts {
		var err error
		if all[i], err = parsePost(post); err != nil {
			return nil, err
		}
		if i > 0 && slices.CompareFunc(all[i-1], all[i], CompareKeys) >= 0 {
			return nil, fmt.Errorf("%w: path %q is not in order", ErrCompoundHash, abbreviate(post))
		}
	}
	return all, nil
}

func parsePost(post string) ([]string, error) {
	t, err := ParseTarget(post)
	if err != nil {
		return nil, fmt.Errorf("%w: path %q: %w", ErrCompoundHash, abbreviate(post), err)
	}
	keys := slices.Collect(t.Path.Keys())
	if i := slices.IndexFunc(keys, oddInteger); i >= 0 {
		return nil, fmt.Errorf("%w: key %q sorts differently on some clients", ErrCompoundHash, keys[i])
	}
	if t.Priority {
		keys = append(keys, priorityKey)
	}
	return keys, nil
}

// oddInteger reports whether clients disagree about the order of a key: Java and
// iOS take integers of more than 11 characters for strings, and to all of them
// "-0" is equal to "00".
func oddInteger(key string) bool {
	if len(key) <= len("-2147483648") && key[0] != '-' {
		return false
	}
	i, ok := IntegerKey(key)
	return ok && (len(key) > len("-2147483648") || i == 0)
}

// walkRanges visits the parts of n that lie in one range as a whole, in order.
// t.keys leads to the part that is visited.
func walkRanges(n Node, posts [][]string, t *bracketWriter, v rangeVisitor) {
	w := rangeWalk{posts: posts, text: t, visit: v}
	switch {
	case n.IsObject() && len(posts) > 0:
		w.object(n, len(posts))
	case !n.IsEmpty():
		v.part(0, n)
	}
}

type rangeVisitor interface {
	// part is called for a leaf or an object in range at.
	part(at int, n Node)
	// priority is called for the priority of an object that lies in more than
	// one range, at its place between the keys; before and after say whether
	// there are children on either side. keys leads to the object.
	priority(at int, p Node, before, after bool)
}

type rangeWalk struct {
	posts [][]string
	at    int // the range of the current position
	text  *bracketWriter
	visit rangeVisitor
}

// object visits the children of an object to which posts[w.at:end] belong.
func (w *rangeWalk) object(n Node, end int) {
	priority := n.Priority()
	before := false
	for m := range n.members() {
		key := unquote(m.key(n.text))
		if !priority.IsEmpty() && CompareKeys(key, priorityKey) > 0 {
			w.seek(priorityKey, end)
			w.visit.priority(w.at, priority, before, true)
			priority = Empty
		}
		inside := w.seek(key, end)
		w.text.push(m.key(n.text))
		if child := (Node{m.value(n.text)}); inside > w.at && child.IsObject() {
			w.object(child, inside)
		} else {
			w.visit.part(w.at, child)
		}
		w.text.pop()
		before = true
	}
	if !priority.IsEmpty() {
		w.seek(priorityKey, end)
		w.visit.priority(w.at, priority, before, false)
	}
}

// seek moves on to the range in which the child with the given key begins. It
// returns the end of the posts that are at or below that child.
func (w *rangeWalk) seek(key string, end int) int {
	depth := len(w.text.keys)
	for w.at < end && (len(w.posts[w.at]) == depth || CompareKeys(w.posts[w.at][depth], key) < 0) {
		w.at++
	}
	inside := w.at
	for inside < end && w.posts[inside][depth] == key {
		inside++
	}
	return inside
}

// A rangeHasher hashes the ranges of a node.
//
// Where clients disagree about the order of keys (oddInteger), a range could
// have other leaves for the client than for us. Such ranges count as different
// and are sent, which is always right.
type rangeHasher struct {
	rangeText
	posts  [][]string
	at     int // the range of the text being written
	hashes []string
	badKey string

	// Clients can't read a priority without a child beside it. If a range holds
	// the one without the other, it must go together with the range that holds
	// the nearest child.
	tied  []bool // range i must be sent if range i+1 is, and the reverse
	last  int    // the range of the last part
	loose int    // the first range with a priority that waits for a child, or -1

	// Clients also drop the priority of a leaf that a merge starts behind. Such a
	// merge must start behind that priority instead.
	priorityAt []bool // whether posts[i] is a leaf with a priority
}

func (h *rangeHasher) part(at int, n Node) {
	if h.loose >= 0 {
		h.tie(h.loose, at)
		h.loose = -1
	}
	h.last = at
	h.moveTo(at)
	h.leaves(n, h.leaf)
	if hasPriority(n.text) && n.IsLeaf() && at < len(h.posts) {
		h.priorityAt[at] = h.isAt(h.posts[at])
	}
}

// isAt reports whether the current position is that of a post.
func (h *rangeHasher) isAt(post []string) bool {
	return slices.EqualFunc(h.keys, post, func(quoted, key string) bool { return unquote(quoted) == key })
}

func (h *rangeHasher) priority(at int, p Node, before, after bool) {
	switch {
	case before && h.last == at:
	case !after:
		h.tie(h.last, at)
	case h.loose < 0:
		h.loose = at
	}
	if after {
		h.moveTo(at)
		h.push(quotedPriority)
		h.leaf(p)
		h.pop()
	}
}

func (h *rangeHasher) leaf(n Node) {
	for _, key := range h.keys[h.shared:] {
		if key := unquote(key); oddInteger(key) {
			h.badKey = key
		}
	}
	h.rangeText.leaf(n)
}

func (h *rangeHasher) tie(from, to int) {
	for i := from; i < to; i++ {
		h.tied[i] = true
	}
}

func (h *rangeHasher) moveTo(at int) {
	if at != h.at {
		h.hashes[h.at] = h.hash()
		h.at = at
	}
}
