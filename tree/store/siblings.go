package store

import (
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// putSiblings carries out the first n writes, which are of children of the container of the last
// step.
//
// It is for updates of thousands of children, which hold the committer: the way to the container
// is gone once, rows that are neighbours are read by steps and not by searches, and whether the
// container is empty is looked up once.
func (e editor) putSiblings(steps []step, writes []tree.ResolvedWrite) (n int, changed bool, err error) {
	n = siblings(steps[len(steps)-1].path, writes)
	err = e.tx.Indexes().reindexed(steps, 1, func() error {
		changed, err = e.putChildren(steps, writes[:n])
		return err
	})
	return n, changed, err
}

// fewSiblings is below how many it is faster to put one after the other.
const fewSiblings = 8

// manySiblings reports whether it pays to put the first writes together. steps lead to the first.
func manySiblings(steps []step, rest tree.Path, writes []tree.ResolvedWrite) bool {
	if len(writes) < fewSiblings || len(steps) < 2 || !rest.IsRoot() {
		return false
	}
	return siblings(steps[len(steps)-2].path, writes[:fewSiblings]) == fewSiblings
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
	way := append(steps[:top:top], step{})
	for len(writes) > 0 {
		some := writes[:min(siblingsAtOnce, len(writes))]
		writes = writes[len(some):]
		children, err := rows.read(some)
		if err != nil {
			return false, err
		}
		for i, w := range some {
			stays = stays || !w.Node.IsEmpty()
			child := &way[top]
			*child = children[i]
			if child.row.cut {
				if child.row, err = e.tx.row(child.key); err != nil {
					return false, err
				}
				child.now = child.row
			}
			replaced, differs := replacement(child.row, tree.Root, w.Node)
			if !differs {
				continue
			}
			changed, removed = true, removed || w.Node.IsEmpty()
			err := e.tx.Indexes().reindexed(way, top, func() error { return e.replaceRow(child, replaced) })
			if err != nil {
				return false, err
			}
		}
	}
	if !removed || stays {
		return changed, nil
	}
	n, known, err := countsOf(e.tx).kept(container)
	if err != nil || known && n > 0 {
		return changed, err
	}
	empty, err := e.hasNoRows(container)
	if err != nil || !empty {
		return changed, err
	}
	countsOf(e.tx).set(container, 0)
	return changed, e.prune(steps)
}

// siblingsAtOnce is how many rows are read before they are changed: a finder does not survive
// a change.
const siblingsAtOnce = 256

// siblingRows reads rows of a container.
type siblingRows struct {
	tx        *Tx
	container uint64
	steps     []step
	keys      []byte
}

// read returns the rows of writes as they are, which may be absent, and may lack a long priority.
// The steps last until the next read.
func (s *siblingRows) read(writes []tree.ResolvedWrite) ([]step, error) {
	s.steps, s.keys = s.steps[:0], s.keys[:0]
	f := kv.NewFinder(s.tx.kv.Cursor(kv.Rows))
	for _, w := range writes {
		if err := s.tx.tick(); err != nil {
			return nil, err
		}
		_, name := w.Path.Parent()
		from := len(s.keys)
		s.keys = appendRowKey(s.keys, s.container, name)
		key := s.keys[from:len(s.keys):len(s.keys)]
		v, err := f.Find(key)
		if err != nil {
			v, err = s.tx.get(kv.Rows, key) // the damage may be behind it
		}
		if err != nil {
			return nil, err
		}
		r, err := decodeRow(v, !hasLongPriority(v))
		if err != nil {
			return nil, err
		}
		s.steps = append(s.steps, step{key: key, path: w.Path, row: r, now: r})
	}
	return s.steps, nil
}
