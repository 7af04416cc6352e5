package store

import (
	"fmt"
	"iter"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// Count returns how many children the query selects at p; a limit bounds what it
// costs, too. All children of a container cost one row. A range costs the keys or
// index entries in it, and none of the rows below, unless it needs an index that
// there is not.
//
// The count of a range cannot be kept, since ranges are the client's choice. Its cost
// grows with the range and is bounded by Interrupt and Brief as that of any read is.
func (tx *Tx) Count(p tree.Path, q tree.Query) (int, error) {
	r, rest, err := found(tx, p, false)
	switch {
	case err != nil || !r.exists() || r.tag == tagBlob:
		return 0, err
	case r.tag == tagPacked && q.IsAll():
		return r.node.Get(rest).NumChildren(), nil
	case r.tag == tagPacked, q.Filter != nil:
		entries, err := read(tx).entries(r, rest, p, q)
		return len(entries), err
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
	tx.Indexes().noteRead(ix.Index)
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
		c := rd.cursor(kv.Rows, prefix)
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

// keyOfRow returns the key of a row's child.
func keyOfRow(k []byte) (string, error) {
	key, ok := decodeKey(k[8:])
	if !ok {
		return "", fmt.Errorf("%w: unreadable key of a row", ErrDamaged)
	}
	return key, nil
}
