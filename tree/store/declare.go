package store

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

var indexesKey = []byte("indexes")

// storedIndex is a definition as bucket m keeps it.
type storedIndex struct {
	Pattern string `json:"pattern"`
	Order   string `json:"order"`
	ID      uint32 `json:"id"`
	Ready   bool   `json:"ready"`
}

// at returns the indexes that order the children of p, the one by
// priority first.
func (x Indexes) at(p tree.Path) ([]definition, error) {
	c, err := x.catalogue()
	if err != nil {
		return nil, err
	}
	return c.at(p), nil
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
			if ix.matches(p) && !yield(ix) {
				return
			}
		}
	}
}

// has reports whether there is an index with the given id.
func (c *catalogue) has(id uint32) bool {
	return id == priorityIndex.id || slices.ContainsFunc(c.all, func(d definition) bool { return d.id == id })
}

// ready returns the index that can answer a query at p in the given order.
func (x Indexes) ready(p tree.Path, order string) (ix definition, ok bool, err error) {
	list, err := x.at(p)
	for _, ix := range list {
		if ix.Order == order && ix.ready {
			return ix, true, err
		}
	}
	return definition{}, false, err
}

// catalogue returns the indexes as of the transaction's state. The store keeps
// the newest; a transaction that began before it changed reads its own.
func (x Indexes) catalogue() (*catalogue, error) {
	if x.tx.known == nil {
		if x.tx.known = x.tx.store.catalogue.Load(); x.tx.known == nil || x.tx.known.version != x.tx.state.catalogue {
			var err error
			if x.tx.known, err = x.loadCatalogue(); err != nil {
				return nil, err
			}
		}
	}
	return x.tx.known, nil
}

// A catalogue is the set of declared indexes. It is immutable.
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

// Declare makes the given indexes the ones that are kept. New ones are built by
// Build, in the background; those no longer declared are reclaimed.
func (s *Store) Declare(indexes []Index) error {
	tx, err := s.Begin(true)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := tx.Indexes().Declare(indexes); err != nil {
		return err
	}
	return tx.Commit()
}

// Declared reports whether the given indexes are the ones that are kept, so that
// Declare has nothing to change.
func (x Indexes) Declared(indexes []Index) (bool, error) {
	c, err := x.catalogue()
	return err == nil && c.keeps(indexes), err
}

// keeps reports whether a catalogue has the given indexes and no others.
func (c *catalogue) keeps(indexes []Index) bool {
	kept := func(ix Index) bool {
		return slices.ContainsFunc(c.all, func(d definition) bool { return d.Index == ix })
	}
	for _, d := range c.all {
		if !slices.Contains(indexes, d.Index) {
			return false
		}
	}
	return !slices.ContainsFunc(indexes, func(ix Index) bool { return !kept(ix) })
}

// Declare is Store.Declare as part of a transaction.
func (x Indexes) Declare(indexes []Index) error {
	c, err := x.catalogue()
	if err != nil || c.keeps(indexes) {
		return err
	}
	var next []definition
	old := c.all
	for _, want := range indexes {
		if slices.ContainsFunc(next, func(d definition) bool { return d.Index == want }) {
			continue
		}
		i := slices.IndexFunc(old, func(d definition) bool { return d.Index == want })
		if i >= 0 {
			next = append(next, old[i])
			continue
		}
		x.tx.state.nextIndex++
		next = append(next, definition{Index: want, id: x.tx.state.nextIndex})
	}
	for _, d := range old {
		if !slices.ContainsFunc(next, func(n definition) bool { return n.id == d.id }) {
			if err := edits(x.tx).enqueue(reclaimIndex, uint64(d.id)); err != nil {
				return err
			}
		}
	}
	return x.putCatalogue(next)
}

func (x Indexes) putCatalogue(all []definition) error {
	stored := make([]storedIndex, len(all))
	for i, d := range all {
		stored[i] = storedIndex{d.Pattern, d.Order, d.id, d.ready}
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	x.tx.work = true
	x.tx.state.catalogue++
	x.tx.dirty = true
	x.tx.known = newCatalogue(x.tx.state.catalogue, all)
	return textsOf(x.tx).set(indexesKey, text)
}

func (x Indexes) loadCatalogue() (*catalogue, error) {
	var stored []storedIndex
	text, err := textsOf(x.tx).get(indexesKey)
	if err != nil {
		return nil, err
	}
	if text != nil {
		if err := json.Unmarshal(text, &stored); err != nil {
			return nil, fmt.Errorf("%w: unreadable list of indexes", ErrDamaged)
		}
	}
	all := make([]definition, len(stored))
	for i, d := range stored {
		all[i] = definition{Index{d.Pattern, d.Order}, d.ID, d.Ready}
	}
	return newCatalogue(x.tx.state.catalogue, all), nil
}

// Build works for one turn on an index that is not ready: it adds the entries
// of about batch rows. It reports whether there is more to do. Where it stopped
// is only kept in memory; after a restart it begins again, which does no harm,
// because adding an entry twice is adding it once.
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
	b := builder{tx: tx, ix: c.all[i], budget: batch, from: s.builds[c.all[i].id]}
	if err := b.run(); err != nil {
		return false, err
	}
	next := slices.Clone(c.all)
	if b.budget > 0 { // reached the end
		next[i].ready = true
		if err := tx.Indexes().putCatalogue(next); err != nil {
			return false, err
		}
	}
	if err := tx.Commit(); err != nil {
		return false, err
	}
	s.builds[b.ix.id] = b.at
	return slices.ContainsFunc(next, unfinished), nil
}

func unfinished(d definition) bool { return !d.ready }

// A builder walks the nodes that match an index's pattern and adds an entry for
// each child.
type builder struct {
	tx     *Tx
	ix     definition
	budget int       // rows it may still visit
	from   tree.Path // the child it stopped at last time; the root: from the start
	at     tree.Path // the child it is at
	found  []entry
}

type entry struct {
	container uint64
	key       string
	value     tree.Node
}

func (b *builder) run() error {
	r, err := b.tx.row(rootKey)
	if err == nil {
		err = b.visit(r, tree.Root, patternKeys(b.ix.Pattern), b.from)
	}
	if err != nil {
		return err
	}
	for _, e := range b.found { // not before: writing invalidates cursors
		if err := b.tx.Indexes().putEntry(b.ix, e.container, e.key, indexed{e.value, true}); err != nil {
			return err
		}
	}
	return nil
}

// visit handles the node at p, whose remaining pattern is given. from is the
// way below p to where the last turn stopped.
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
		child, err := b.tx.row(rowKey(r.id, pattern[0]))
		if err != nil {
			return err
		}
		return b.visit(child, p.Child(pattern[0]), pattern[1:], below)
	}
	first := idKey(r.id)
	if resume != "" {
		first = rowKey(r.id, resume)
	}
	for ch, err := range read(b.tx).childrenFrom(r.id, first) {
		if err != nil {
			return err
		}
		if b.budget--; b.budget <= 0 {
			b.at = p.Child(ch.key)
			return nil
		}
		if len(pattern) == 0 {
			err = b.add(r.id, p, ch)
		} else {
			err = b.visit(ch.row, p.Child(ch.key), pattern[1:], below)
			below = tree.Root
		}
		if err != nil || b.budget <= 0 {
			return err
		}
	}
	return nil
}

func (b *builder) add(container uint64, p tree.Path, ch child) error {
	v, err := b.tx.Indexes().valueAt(p.Child(ch.key), b.ix.Order)
	b.found = append(b.found, entry{container, ch.key, v})
	return err
}
