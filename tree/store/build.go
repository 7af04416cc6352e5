package store

import (
	"encoding/binary"
	"slices"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// Declare makes the given indexes the ones that are kept. New ones are built by
// Build, in the background; those no longer declared are reclaimed.
func (s *Store) Declare(indexes []Index) error {
	return s.Update(func(tx *Tx) error { return tx.Indexes().Declare(indexes) })
}

// Build works for one turn on an index that is not ready: it adds the entries
// of about batch rows. It reports whether there is more to do. Where it stopped
// is stored with the entries, so it goes on from there after a restart.
//
// Build and writes share the work without a lock: from the moment that an index
// is declared, each write maintains its entries, whether or not the row was
// reached by the build. So the build may take its time, and only the flag
// ready, which is set in the transaction that reaches the end, lets queries use
// the index.
func (s *Store) Build(batch int) (more bool, err error) {
	tx, err := s.Begin(true)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	c, err := tx.Indexes().catalogue()
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(c.all, unfinished)
	if i < 0 {
		return false, nil
	}
	b := builder{tx: tx, ix: c.all[i], budget: batch}
	if b.from, err = tx.Indexes().builtTo(b.ix.id); err != nil {
		return false, err
	}
	if err := b.run(); err != nil {
		return false, err
	}
	next := slices.Clone(c.all)
	if b.budget > 0 { // reached the end
		next[i].ready = true
		if err := tx.Indexes().putCatalogue(next); err != nil {
			return false, err
		}
		b.at = tree.Root
	}
	if err := tx.Indexes().setBuiltTo(b.ix.id, b.at); err != nil {
		return false, err
	}
	if err := tx.Commit(); err != nil {
		return false, err
	}
	return slices.ContainsFunc(next, unfinished), nil
}

// buildKey is where the path of the child is that the build of an index stopped at.
func buildKey(index uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte("build "), index)
}

// builtTo returns the child that the build of an index stopped at; the root: it has not begun.
// Text that cannot be read is no place, and then the build begins again: to add an entry twice is to
// add it once.
func (x Indexes) builtTo(index uint32) (tree.Path, error) {
	v, err := x.tx.get(kv.Meta, buildKey(index))
	if err != nil || v == nil {
		return tree.Root, err
	}
	p, err := tree.ParsePath(string(v))
	if err != nil {
		return tree.Root, nil
	}
	return p, nil
}

func (x Indexes) setBuiltTo(index uint32, p tree.Path) error {
	if !p.IsRoot() {
		return x.tx.put(kv.Meta, buildKey(index), []byte(p.Clean()))
	}
	if v, err := x.tx.get(kv.Meta, buildKey(index)); err != nil || v == nil {
		return err
	}
	return x.tx.delete(kv.Meta, buildKey(index))
}

// An IndexUsage says how far an index is and what it takes.
type IndexUsage struct {
	Ready   bool
	At      tree.Path // the child that its build has come to; the root: none
	Entries int       // not more than were to be counted
	Bytes   int64     // of these entries, without those that the file needs to find them
	More    bool      // there are more entries
}

// Usage returns that of an index, and counts up to a number of entries for it. ok is false if
// there is no such index.
func (x Indexes) Usage(ix Index, most int) (u IndexUsage, ok bool, err error) {
	c, err := x.catalogue()
	if err != nil {
		return u, false, err
	}
	i := slices.IndexFunc(c.all, func(d definition) bool { return d.Index == ix })
	if i < 0 {
		return u, false, nil
	}
	d := c.all[i]
	u.Ready = d.ready
	if u.At, err = x.builtTo(d.id); err != nil {
		return u, false, err
	}
	prefix := binary.BigEndian.AppendUint32(nil, d.id)
	cursor := x.tx.kv.Cursor(kv.Index)
	for k, _ := cursor.Seek(prefix); hasPrefix(k, prefix); k, _ = cursor.Next() {
		if u.More = u.Entries == most; u.More {
			break
		}
		if err := x.tx.tick(); err != nil {
			return u, false, err
		}
		u.Entries++
		u.Bytes += int64(len(k))
	}
	return u, true, cursor.Err()
}

// A builder walks the nodes that match an index's pattern and adds an entry for
// each child.
//
// It stops anywhere and goes on from the path of the child it was at. If that
// child is gone by then, the walk begins with the next key, so nothing is
// missed: what was written meanwhile has its entry from the write.
type builder struct {
	tx     *Tx
	ix     definition
	budget int       // rows it may still visit
	from   tree.Path // the child it stopped at last time; the root: from the start
	at     tree.Path // the child it is at
	found  [][]byte  // keys of entries
}

func (b *builder) run() error {
	r, err := rowOf(b.tx, rootKey, false)
	if err == nil {
		err = b.visit(r, tree.Root, patternKeys(b.ix.Pattern), b.from)
	}
	if err != nil {
		return err
	}
	for _, key := range b.found { // not before: writing invalidates cursors
		if err := b.tx.put(kv.Index, key, nil); err != nil {
			return err
		}
	}
	return nil
}

// visit handles the node at p, whose remaining pattern is given. from is the
// way below p to where the last turn stopped. A fixed key of the pattern costs
// one row, however many siblings there are. Only a wildcard walks.
func (b *builder) visit(r row, p tree.Path, pattern []string, from tree.Path) error {
	if r.tag != tagContainer {
		return nil // packed rows are small enough to be searched
	}
	resume, below, _ := from.Cut()
	if len(pattern) > 0 && pattern[0][0] != '$' {
		resume, below = "", from
		if key, rest, ok := from.Cut(); ok && key == pattern[0] {
			below = rest
		}
		child, err := rowOf(b.tx, rowKey(r.id, pattern[0]), false)
		if err != nil {
			return err
		}
		return b.visit(child, p.Child(pattern[0]), pattern[1:], below)
	}
	first := idKey(r.id)
	if resume != "" {
		first = rowKey(r.id, resume)
	}
	for ch, err := range (reader{tx: b.tx, cut: true}).childrenFrom(r.id, first) {
		if err != nil {
			return err
		}
		if b.budget--; b.budget <= 0 {
			b.at = p.Child(ch.key)
			return nil
		}
		if ch.key != resume { // that one is gone, or was visited: the way leads into no other
			below = tree.Root
		}
		if len(pattern) == 0 {
			err = b.add(r.id, p, ch)
		} else {
			err = b.visit(ch.row, p.Child(ch.key), pattern[1:], below)
		}
		if err != nil || b.budget <= 0 {
			return err
		}
	}
	return nil
}

func (b *builder) add(container uint64, p tree.Path, ch child) error {
	v, err := b.tx.Indexes().forEntries().valueAt(p.Child(ch.key), b.ix.Order)
	b.found = append(b.found, entryKey(b.ix.id, container, v, ch.key))
	return err
}
