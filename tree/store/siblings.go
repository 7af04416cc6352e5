package store

import (
	"bytes"
	"slices"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// putSiblings carries out the first n writes, which are of children of one container; 0: there
// are not several of them.
//
// It is for updates of thousands of children, which hold the committer: the way to the container
// is gone once, rows that are neighbours are read by steps and not by searches, and whether the
// container is empty is looked up once.
func (e editor) putSiblings(writes []tree.ResolvedWrite) (n int, changed bool, err error) {
	parent, _ := writes[0].Path.Parent()
	if siblings(parent, writes[:min(2, len(writes))]) < 2 {
		return 0, false, nil
	}
	steps, rest, err := e.descend(parent)
	if err != nil || !rest.IsRoot() || steps[len(steps)-1].row.tag != tagContainer {
		return 0, false, err
	}
	n = siblings(parent, writes)
	err = e.tx.Indexes().reindexed(steps, 1, func() error {
		changed, err = e.putChildren(steps, writes[:n])
		return err
	})
	return n, changed, err
}

// siblings returns how many of the first writes are of children of parent, in the order of
// their keys, and no value behind a removal: in between the container could be empty, which costs
// it its priority.
func siblings(parent tree.Path, writes []tree.ResolvedWrite) int {
	n := 0
	for ; n < len(writes); n++ {
		above, key := writes[n].Path.Parent()
		if above != parent || key == "" || n > 0 && !follows(writes[n], writes[n-1]) {
			break
		}
	}
	return n
}

// putChildren puts children of the container of the last step, and prunes it if it is empty then.
func (e editor) putChildren(steps []step, writes []tree.ResolvedWrite) (changed bool, err error) {
	container, top := steps[len(steps)-1].row.id, len(steps)
	rows := siblingRows{tx: e.tx, container: container}
	removed, stays := false, false
	for len(writes) > 0 {
		some := writes[:min(siblingsAtOnce, len(writes))]
		writes = writes[len(some):]
		children, err := rows.read(some)
		if err != nil {
			return false, err
		}
		for i, w := range some {
			stays = stays || !w.Node.IsEmpty()
			if children[i].row.cut {
				if children[i].row, err = e.tx.row(children[i].key); err != nil {
					return false, err
				}
			}
			replaced, differs := replacement(children[i].row, tree.Root, w.Node)
			if !differs {
				continue
			}
			changed, removed = true, removed || w.Node.IsEmpty()
			way := append(steps, children[i])
			err := e.tx.Indexes().reindexed(way, top, func() error { return e.replaceRow(&way[top], replaced) })
			if err != nil {
				return false, err
			}
		}
	}
	if !removed || stays {
		return changed, nil
	}
	if n, known, err := countsOf(e.tx).kept(container); known && n > 0 || err != nil {
		return changed, err
	}
	look := rows.none
	if rows.unsure {
		look = func() (bool, error) { return e.hasNoRows(container) }
	}
	if empty, err := look(); !empty || err != nil {
		return changed, err
	}
	countsOf(e.tx).set(container, 0)
	return changed, e.prune(steps)
}

// siblingsAtOnce is how many rows are read before they are changed: a cursor does not survive
// a change.
const siblingsAtOnce = 256

// maxNext is how many rows that are not wanted are passed by steps before the next is searched for.
const maxNext = 8

// siblingRows reads rows of a container in the order of their keys.
type siblingRows struct {
	tx        *Tx
	container uint64
	first     []byte // key of the first one
	last      []byte // and of the last one so far
	others    bool   // there are rows between them that were not wanted
	unsure    bool   // there may be: a damaged row ended the walk

	steps []step
	keys  []byte
}

// read returns the rows of writes as they are, which may be absent, and may lack a long priority.
// The steps last until the next read.
func (s *siblingRows) read(writes []tree.ResolvedWrite) ([]step, error) {
	s.steps, s.keys = s.steps[:0], s.keys[:0]
	c := read(s.tx).cursor(kv.Rows, idKey(s.container))
	var k, v []byte
	if s.first != nil {
		k, v = s.behind(c)
	}
	for _, w := range writes {
		if err := s.tx.tick(); err != nil {
			return nil, err
		}
		_, name := w.Path.Parent()
		from := len(s.keys)
		s.keys = appendRowKey(s.keys, s.container, name)
		key := s.keys[from:len(s.keys):len(s.keys)]
		if s.first == nil {
			s.first = slices.Clone(key)
			k, v = c.Seek(key)
		}
		k, v = s.forward(c, key, k, v)
		r, err := s.rowAt(c, key, k, v)
		if err != nil {
			return nil, err
		}
		s.steps = append(s.steps, step{key: key, path: w.Path, row: r, now: r})
		if bytes.Equal(k, key) {
			k, v = c.Next()
		}
		s.unsure = s.unsure || c.Err() != nil
	}
	s.last = append(s.last[:0], s.steps[len(s.steps)-1].key...)
	return s.steps, nil
}

// forward goes on from where the cursor is to the first row that is not below the key.
func (s *siblingRows) forward(c kv.Cursor, key, k, v []byte) (_, _ []byte) {
	if c.Err() != nil {
		s.unsure = true
		return c.Seek(key)
	}
	for n := 0; k != nil && bytes.Compare(k, key) < 0; n++ {
		s.others = true
		if n == maxNext {
			return c.Seek(key)
		}
		k, v = c.Next()
	}
	return k, v
}

// rowAt returns the row with the key, which the cursor is at if there is one. The damaged row that
// ends a walk may be another one, which is not written here.
func (s *siblingRows) rowAt(c kv.Cursor, key, k, v []byte) (row, error) {
	switch {
	case c.Err() != nil:
		return s.tx.row(key)
	case !bytes.Equal(k, key):
		return row{}, nil
	}
	return decodeRow(v, !hasLongPriority(v))
}

// behind goes to the first row behind the last one that was read.
func (s *siblingRows) behind(c kv.Cursor) (k, v []byte) {
	if k, v = c.Seek(s.last); bytes.Equal(k, s.last) {
		k, v = c.Next()
	}
	return k, v
}

// none reports whether the container has no rows, when those that were read are gone. It passes
// what was removed around them, so it is for a container that is likely to be empty.
func (s *siblingRows) none() (bool, error) {
	if s.others {
		return false, nil
	}
	s.tx.stats.Read += 2
	prefix := idKey(s.container)
	c := read(s.tx).cursor(kv.Rows, prefix)
	if k, _ := s.behind(c); hasPrefix(k, prefix) || c.Err() != nil {
		return false, c.Err()
	}
	k, _ := seekBefore(c, s.first)
	return !hasPrefix(k, prefix), c.Err()
}
