package store

import (
	"sync"
	"sync/atomic"
	"time"
)

// An IndexUse says how often an index was read since the store was opened: by queries, the windows
// of listeners, and lists that declared data bound.
type IndexUse struct {
	Reads uint64
	Last  time.Time // zero: never
}

// indexUses are those of all indexes.
type indexUses struct{ all sync.Map } // Index → *usesOfIndex

type usesOfIndex struct{ reads, last atomic.Int64 }

// note counts a read through an index.
func (u *indexUses) note(ix Index) {
	v, ok := u.all.Load(ix)
	if !ok {
		v, _ = u.all.LoadOrStore(ix, new(usesOfIndex))
	}
	of := v.(*usesOfIndex)
	of.reads.Add(1)
	of.last.Store(time.Now().UnixMilli())
}

// keep forgets indexes that are no longer declared, so that they are not more than those.
func (u *indexUses) keep(all []definition) {
	kept := make(map[Index]bool, len(all))
	for _, d := range all {
		kept[d.Index] = true
	}
	u.all.Range(func(ix, _ any) bool {
		if !kept[ix.(Index)] {
			u.all.Delete(ix)
		}
		return true
	})
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

// Use returns how often an index was read.
func (x Indexes) Use(ix Index) (use IndexUse) {
	if v, ok := x.tx.store.uses.all.Load(ix); ok {
		of := v.(*usesOfIndex)
		use.Reads = uint64(of.reads.Load())
		if last := of.last.Load(); last > 0 {
			use.Last = time.UnixMilli(last)
		}
	}
	return use
}
