package tree

// WithAll returns n, the node at a path, with the values of writes below that path put in
// their places. The writes are of values, disjoint, below the path, and in the order of
// ComparePaths. The result is that of With for each of the values and then for each of the
// removals: an object that loses all its children and gets others keeps its priority.
//
// The text of each object on the way is made once, so the cost is that of the node and of
// the values together. With for each write would copy the node as often as there are writes.
func (n Node) WithAll(at Path, writes []ResolvedWrite) Node {
	if len(writes) == 0 {
		return n
	}
	m := merge{writes: writes, rests: make([]Path, len(writes))}
	for i, w := range writes {
		m.rests[i] = at.Rel(w.Path)
	}
	return m.into(n)
}

// A merge is writes that are still to be carried out below one node. rests are their paths
// from there.
type merge struct {
	writes []ResolvedWrite
	rests  []Path
}

func (m *merge) into(n Node) Node {
	if len(m.writes) == 1 {
		return n.With(m.rests[0], m.writes[0].Node)
	}
	var b Builder
	b.Priority(n.Priority())
	for old := range n.members() {
		key := unquote(old.key(n.text))
		c := m.before(&b, key)
		if c == 0 {
			m.next(&b, Node{old.value(n.text)})
		} else {
			b.member(n.text[old.start:old.valueEnd])
		}
	}
	for len(m.writes) > 0 {
		m.next(&b, Empty)
	}
	if !b.any && !n.IsObject() {
		return n // nothing can be removed below a leaf
	}
	return b.Node()
}

// before adds the children that come before a key. The result is 0 if the next write is to
// the child with that key or below it.
func (m *merge) before(b *Builder, key string) (c int) {
	for len(m.writes) > 0 {
		first, _, _ := m.rests[0].Cut()
		if c = CompareKeys(first, key); c >= 0 {
			return c
		}
		m.next(b, Empty)
	}
	return 1
}

// next adds the child that the next write is to, with all writes to it. old is what it is
// now.
func (m *merge) next(b *Builder, old Node) {
	key, rest, _ := m.rests[0].Cut()
	m.rests[0] = rest
	n := 1
	for ; n < len(m.rests); n++ {
		k, rest, _ := m.rests[n].Cut()
		if k != key {
			break
		}
		m.rests[n] = rest
	}
	below := merge{m.writes[:n], m.rests[:n]}
	m.writes, m.rests = m.writes[n:], m.rests[n:]
	b.Child(key, below.into(old))
}
