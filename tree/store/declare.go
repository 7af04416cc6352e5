package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/used"
)

var indexesKey = []byte("indexes")

// storedIndex is a definition as bucket m keeps it.
type storedIndex struct {
	Pattern string `json:"pattern"`
	Order   string `json:"order"`
	ID      uint32 `json:"id"`
	Ready   bool   `json:"ready"`
	Since   int64  `json:"since,omitempty"` // from when Last is known, in milliseconds; 0 in files of earlier versions
	Last    int64  `json:"last,omitempty"`  // read; see SaveUses
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

// All returns the indexes that are kept, without the one by priority.
func (x Indexes) All() (list []Index, err error) {
	c, err := x.catalogue()
	if err != nil {
		return nil, err
	}
	for _, d := range c.all {
		list = append(list, d.Index)
	}
	return list, nil
}

// Use returns how often an index was read since the store was opened, by queries, the windows of
// listeners and lists that declared data bound, and when it was last. That is kept over restarts, and
// known once All or Usage was called.
func (x Indexes) Use(ix Index) *used.Count { return x.tx.store.reads.Of(ix) }

// noteRead notes that an index is read.
func (x Indexes) noteRead(ix Index) { x.Use(ix).Note(x.tx.store.options.Now()) }

// UsesEvery is how often the last use of indexes is stored.
const UsesEvery = time.Hour

// UntilSaveUses returns how long SaveUses has nothing to look at. Like SaveUses it is for the goroutine
// that writes.
func UntilSaveUses(s *Store) time.Duration { return max(UsesEvery-time.Since(s.saved), 0) }

// SaveUses stores when indexes were last read, if UntilSaveUses says so or this is the end, in a transaction of its
// own: at most once each UsesEvery for an index, however often it is read.
func SaveUses(s *Store, end bool) error {
	if !end && UntilSaveUses(s) > 0 {
		return nil
	}
	s.saved = time.Now() // also if it fails: the next attempt has time
	c := s.catalogue.Load()
	if c == nil || !slices.ContainsFunc(c.all, func(d definition) bool {
		u := s.reads.Of(d.Index)
		last, saved := u.Last.Load(), u.Saved.Load()
		return u.Since.Load() == 0 || last > 0 && (saved == 0 || last-saved >= UsesEvery.Milliseconds())
	}) {
		return nil
	}
	return s.Update(func(tx *Tx) error { return tx.Indexes().storeCatalogue(c.all) })
}

// catalogue returns the indexes as of the transaction's state. The store keeps
// the newest; a transaction that began before it changed reads its own. It is
// read lazily, because most transactions read by path and need no index.
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

// Declared reports whether the given indexes are the ones that are kept, so that
// Declare has nothing to change.
func (x Indexes) Declared(indexes []Index) (bool, error) {
	c, err := x.catalogue()
	return err == nil && c.keeps(indexes), err
}

// Declare is Store.Declare as part of a transaction.
//
// An index that stays declared keeps its id and its entries. One that is
// dropped goes to the reclaim queue at once, and transactions that began
// earlier still find it in their own catalogue and snapshot. To reuse the
// entries of a dropped index that is declared again was left out: writes do not
// maintain them while it is not declared.
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
			if err := x.setBuiltTo(d.id, tree.Root); err != nil {
				return err
			}
		}
	}
	return x.putCatalogue(next)
}

func (x Indexes) putCatalogue(all []definition) error {
	x.tx.work = true
	x.tx.state.catalogue++
	x.tx.dirty = true
	x.tx.known = newCatalogue(x.tx.state.catalogue, all)
	return x.storeCatalogue(all)
}

// storeCatalogue stores the indexes, and when they were last read.
func (x Indexes) storeCatalogue(all []definition) error {
	stored := make([]storedIndex, len(all))
	for i, d := range all {
		u := x.Use(d.Index)
		if u.Since.Load() == 0 {
			u.Since.Store(x.tx.store.options.Now().UnixMilli())
		}
		u.Saved.Store(u.Last.Load())
		stored[i] = storedIndex{d.Pattern, d.Order, d.id, d.ready, u.Since.Load(), u.Saved.Load()}
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	return setText(x.tx, indexesKey, text)
}

func (x Indexes) loadCatalogue() (*catalogue, error) {
	var stored []storedIndex
	text, err := getText(x.tx, indexesKey)
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
		if x.tx.store.catalogue.Load() == nil { // the store is being opened
			u := x.Use(all[i].Index)
			u.Since.CompareAndSwap(0, d.Since)
			u.Last.CompareAndSwap(0, d.Last)
			u.Saved.Store(d.Last)
		}
	}
	return newCatalogue(x.tx.state.catalogue, all), nil
}
