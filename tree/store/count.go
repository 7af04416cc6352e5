package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// The store keeps the number of children of containers in bucket c, so that a count
// of a million costs one row. What a transaction changes about them is noted, and
// written when it is committed: once for each container, in the order of ids.
//
// Containers of files of the first versions have no number. It is not made up from
// changes, so they have none until [Store.KeepCount] counts their children.

// childCounts are the numbers of children as a transaction sees and changes them.
type childCounts struct{ tx *Tx }

func countsOf(tx *Tx) childCounts { return childCounts{tx} }

// A countChange is what becomes of the number of a container's children.
type countChange struct {
	n   int64 // is added, or the number itself
	set bool  // n is the number; 0 if the container is gone
}

// changed notes that children of a container were added or removed.
func (cc childCounts) changed(container uint64, by int64) {
	c := cc.tx.desk.counts[container]
	c.n += by
	cc.tx.desk.counts[container] = c
}

// set notes the number of a container's children; 0 if it is gone.
func (cc childCounts) set(container uint64, n int64) {
	cc.tx.desk.counts[container] = countChange{n, true}
}

// noteSteps notes which containers on the way of a write have got or lost a child,
// and which were pruned.
func (cc childCounts) noteSteps(steps []step) {
	for i := 1; i < len(steps); i++ {
		was, is := steps[i].row.exists(), steps[i].now.exists()
		if was == is {
			continue
		}
		by := int64(1)
		if was {
			by = -1
		}
		cc.changed(steps[i-1].row.id, by)
		if !steps[i-1].now.exists() {
			cc.set(steps[i-1].row.id, 0)
		}
	}
}

// write writes what was noted.
func (cc childCounts) write() error {
	if cc.tx.desk == nil || len(cc.tx.desk.counts) == 0 {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(cc.tx.desk.counts)) {
		if err := cc.put(id, cc.tx.desk.counts[id]); err != nil {
			return err
		}
	}
	return nil
}

func (cc childCounts) put(container uint64, c countChange) error {
	key := idKey(container)
	old, known, err := cc.stored(key)
	if err != nil {
		return err
	}
	switch {
	case !c.set && !known:
		return nil
	case !c.set:
		c.n += old
	}
	if c.n == 0 {
		if !known {
			return nil
		}
		return cc.tx.delete(kv.Counts, key)
	}
	return cc.tx.put(kv.Counts, key, binary.AppendUvarint(nil, uint64(c.n)))
}

// decodeCount reads a number of children. known is false if there is none.
func decodeCount(v []byte) (n int64, known bool, err error) {
	if v == nil {
		return 0, false, nil
	}
	u, size := binary.Uvarint(v)
	if size != len(v) || u == 0 || u > 1<<62 {
		return 0, false, fmt.Errorf("%w: unreadable number of children", ErrDamaged)
	}
	return int64(u), true, nil
}

// kept returns the number of a container's children, if it is kept.
func (cc childCounts) kept(container uint64) (n int64, known bool, err error) {
	var c countChange
	if cc.tx.desk != nil {
		if c = cc.tx.desk.counts[container]; c.set {
			return c.n, true, nil
		}
	}
	n, known, err = cc.stored(idKey(container))
	return n + c.n, known, err
}

func (cc childCounts) stored(key []byte) (n int64, known bool, err error) {
	v, err := cc.tx.get(kv.Counts, key)
	if err != nil {
		return 0, false, err
	}
	return decodeCount(v)
}

// Count returns how many children the query selects at p; a limit bounds what it
// costs, too. All children of a container cost one row. A range costs the keys or
// index entries in it, and none of the rows below, unless it needs an index that
// there is not.
func (tx *Tx) Count(p tree.Path, q tree.Query) (int, error) {
	r, rest, err := tx.find(p)
	switch {
	case err != nil || !r.exists() || r.tag == tagBlob:
		return 0, err
	case r.tag == tagPacked && q.IsAll():
		return r.node.Get(rest).NumChildren(), nil
	case r.tag == tagPacked:
		return len(q.Entries(r.node.Get(rest))), nil
	case !q.Start.Set && !q.End.Set:
		return read(tx).countAll(r.id, q.Limit)
	case q.Order() == tree.ByKey:
		return countWalk(q, read(tx).keysInRange(r.id, q))
	}
	ix, ok, err := tx.Indexes().ready(p, q.Order())
	switch {
	case err != nil:
		return 0, err
	case !ok:
		entries, err := read(tx).scan(r.id, p, q)
		return len(entries), err
	case ix.Order == tree.ByPriority:
		return countWalk(q, read(tx).byPriority(r.id, p, q))
	}
	return countWalk(q, read(tx).byIndex(ix, r.id, p, q))
}

// countAll counts the children of a container up to a limit, 0 for none.
func (rd reader) countAll(container uint64, limit int) (int, error) {
	n, known, err := countsOf(rd.tx).kept(container)
	switch {
	case err != nil:
		return 0, err
	case known && limit > 0:
		return min(int(n), limit), nil
	case known:
		return int(n), nil
	}
	q := tree.Query{OrderBy: tree.ByKey, Limit: limit}
	return countWalk(q, rd.keysInRange(container, q))
}

// countWalk counts the entries of a walk up to the query's limit.
func countWalk(q tree.Query, walk iter.Seq2[tree.Entry, error]) (n int, err error) {
	for _, err := range walk {
		if err != nil {
			return 0, err
		}
		if n++; n == q.Limit {
			break
		}
	}
	return n, nil
}

// keysInRange walks the keys of a container without decoding the rows, from the
// start of the range, whatever end the limit counts from.
func (rd reader) keysInRange(container uint64, q tree.Query) iter.Seq2[tree.Entry, error] {
	q.FromLast = false
	prefix := idKey(container)
	from := prefix
	if q.Start.Set {
		key, _ := q.Start.Value.StringValue()
		from = boundKey(container, key)
	}
	ranged := q.Start.Set || q.End.Set
	return inRange(q, func(yield func(tree.Entry, error) bool) {
		c := rd.tx.kv.Cursor(kv.Rows)
		for k, _ := c.Seek(from); hasPrefix(k, prefix); k, _ = c.Next() {
			rd.tx.stats.Visited++
			e, err := tree.Entry{}, rd.tx.tick()
			if ranged && err == nil {
				e.Key, err = keyOfRow(k)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
		if err := c.Err(); err != nil {
			yield(tree.Entry{}, err)
		}
	})
}

// KeepCount counts the children of the container at p, if it is one whose number is
// not kept yet, and keeps it from then on. Others can write meanwhile: what they
// change is added in the end.
func (s *Store) KeepCount(p tree.Path, interrupt func() error) error {
	id, reader, err := s.beginCount(p)
	if err != nil || reader == nil {
		return err
	}
	reader.Interrupt = interrupt
	n, err := read(reader).countAll(id, 0)
	reader.Rollback()
	return s.Update(func(tx *Tx) error {
		changed, wanted := s.counting[id]
		delete(s.counting, id)
		if err != nil || !wanted {
			return err
		}
		if n += int(changed); n > 0 {
			countsOf(tx).set(id, int64(n))
		}
		return nil
	})
}

// beginCount returns a transaction in which to count, and has those who write note
// what they change from that state on. There is none if there is nothing to count.
func (s *Store) beginCount(p tree.Path) (id uint64, reader *Tx, err error) {
	tx, err := s.Begin(true)
	if err != nil {
		return 0, nil, err
	}
	defer tx.Rollback()
	r, _, err := tx.find(p)
	if err != nil || r.tag != tagContainer {
		return 0, nil, err
	}
	_, known, err := countsOf(tx).kept(r.id)
	if _, counting := s.counting[r.id]; err != nil || known || counting {
		return 0, nil, err
	}
	if reader, err = s.Begin(false); err == nil {
		s.counting[r.id] = 0
	}
	return r.id, reader, err
}

// committed tells those who count what was committed.
func (cc childCounts) committed() {
	if cc.tx.desk == nil || len(cc.tx.store.counting) == 0 {
		return
	}
	for id, c := range cc.tx.desk.counts {
		if _, counting := cc.tx.store.counting[id]; counting && c.set {
			delete(cc.tx.store.counting, id) // it is gone, or known
		} else if counting {
			cc.tx.store.counting[id] += c.n
		}
	}
}

// keyOfRow returns the key of a row's child.
func keyOfRow(k []byte) (string, error) {
	key, ok := decodeKey(k[8:])
	if !ok {
		return "", fmt.Errorf("%w: unreadable key of a row", ErrDamaged)
	}
	return key, nil
}

// counts checks that no number of children is that of something else, or cannot be
// read. Those of live containers are compared when their children are.
func (c *checker) counts() {
	cur := c.tx.kv.Cursor(kv.Counts)
	for k, v := cur.Seek(nil); k != nil; k, v = cur.Next() {
		if len(k) != 8 {
			c.report("bucket c: unreadable key %x", k)
			continue
		}
		if id := binary.BigEndian.Uint64(k); !c.seen[id] && !c.loading(id) {
			c.report("a number of children belongs to no container: %d", id)
		}
		if _, _, err := decodeCount(bytes.Clone(v)); err != nil {
			c.report("container %x: %w", k, err)
		}
	}
	c.walked(kv.Counts, cur)
}

// count compares the number of children that is kept of a container, if one is.
func (c *checker) count(p tree.Path, id uint64, children int64) {
	n, known, err := countsOf(c.tx).kept(id)
	if err == nil && known && n != children {
		c.report("%s: container %d has %d children, %d are counted", p, id, children, n)
	}
}
