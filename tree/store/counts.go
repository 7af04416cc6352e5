package store

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// The store keeps the number of children of containers in bucket c, so that a count
// of a million costs one row. What a transaction changes about them is noted, and
// written when it is committed: once for each container, in the order of ids.
//
// Containers of files of the first versions have no number. It is not made up from
// changes, so they have none until [Store.KeepCount] counts their children.

// childCounts are the numbers of children as a transaction sees and changes them.
//
// Changes gather in the write cache and are written by Commit. To update the row at each
// write would rewrite it once for each of the many children that a batch adds to the same
// container.
//
// A number that is missing stays missing: changes are added to a number that is known,
// and dropped otherwise. So a container without one is correct, only slower to count.
type childCounts struct{ tx *Tx }

func countsOf(tx *Tx) childCounts { return childCounts{tx} }

// A countChange is what becomes of the number of a container's children. A set
// wins over what was added before it, and what comes after it is added to it.
type countChange struct {
	n   int64 // is added, or the number itself
	set bool  // n is the number; 0 if the container is gone
}

// changed notes that children of a container were added or removed.
func (cc childCounts) changed(container uint64, by int64) {
	c := cc.tx.cache.counts[container]
	c.n += by
	cc.tx.cache.counts[container] = c
}

// set notes the number of a container's children; 0 if it is gone.
func (cc childCounts) set(container uint64, n int64) {
	cc.tx.cache.counts[container] = countChange{n, true}
}

// noteSteps notes which containers on the way of a write have got or lost a child,
// and which were pruned. Those before step from are left out.
func (cc childCounts) noteSteps(steps []step, from int) {
	for i := from; i < len(steps); i++ {
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
	if cc.tx.cache == nil || len(cc.tx.cache.counts) == 0 {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(cc.tx.cache.counts)) {
		if err := cc.put(id, cc.tx.cache.counts[id]); err != nil {
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
	if cc.tx.cache != nil {
		if c = cc.tx.cache.counts[container]; c.set {
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

// committed tells those who count what was committed.
func (cc childCounts) committed() {
	if cc.tx.cache == nil || len(cc.tx.store.counting) == 0 {
		return
	}
	for id, c := range cc.tx.cache.counts {
		if _, counting := cc.tx.store.counting[id]; counting && c.set {
			delete(cc.tx.store.counting, id) // it is gone, or known
		} else if counting {
			cc.tx.store.counting[id] += c.n
		}
	}
}
