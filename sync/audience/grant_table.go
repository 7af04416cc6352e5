package audience

import "hash/maphash"

// A grantTable finds grants by their keys. Keys are long, and a map would copy them. With
// a map of keys each grant would have its key twice: in the map, and in itself.
type grantTable struct {
	seed maphash.Seed
	of   map[uint64]*grant // the first with a hash
	size int
	few  bool // hashes, in tests
}

func (t *grantTable) hash(key grantKey) uint64 {
	h := maphash.Comparable(t.seed, key)
	if t.few {
		h %= 2
	}
	return h
}

// at returns the grant with a key, nil if there is none.
func (t *grantTable) at(key grantKey) *grant {
	if t.of == nil {
		return nil
	}
	g := t.of[t.hash(key)]
	for g != nil && g.key != key {
		g = g.next
	}
	return g
}

// put adds a grant to the table. It replaces one with the same key.
func (t *grantTable) put(g *grant) {
	if t.of == nil {
		t.seed, t.of = maphash.MakeSeed(), make(map[uint64]*grant)
	}
	if old := t.at(g.key); old != nil {
		t.remove(old)
	}
	h := t.hash(g.key)
	g.next = t.of[h]
	t.of[h] = g
	t.size++
}

// remove takes a grant out of the table. It does nothing if the grant is not there, but
// perhaps another one with its key.
func (t *grantTable) remove(g *grant) {
	if t.of == nil {
		return
	}
	h := t.hash(g.key)
	if before := t.of[h]; before != g {
		for before != nil && before.next != g {
			before = before.next
		}
		if before == nil {
			return
		}
		before.next = g.next
	} else if g.next != nil {
		t.of[h] = g.next
	} else {
		delete(t.of, h)
	}
	g.next = nil
	t.size--
}
