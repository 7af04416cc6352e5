package store

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// Query returns the entries of the query's window over the node at p, in query
// order. With an index it costs the rows of the window; without one, those of
// all children.
func (tx *Tx) Query(p tree.Path, q tree.Query) ([]tree.Entry, error) {
	r, rest, err := found(tx, p, false)
	if err != nil {
		return nil, err
	}
	return read(tx).entries(r, rest, p, q)
}

// entries is Query for what find found at p.
//
// Every walk that is used here yields entries in query order, or exactly
// reversed for limitToLast. So a limit ends the walk early, and only scan has
// to sort.
func (rd reader) entries(r row, rest, p tree.Path, q tree.Query) ([]tree.Entry, error) {
	switch {
	case !r.exists() || r.tag == tagBlob:
		return nil, nil
	case q.Order() == tree.ByKey && r.tag != tagPacked:
		return rd.take(p, q, rd.byKey(r.id, q))
	}
	ix, ok, err := definition{}, false, error(nil)
	if q.Order() != tree.ByKey && q.Order() != tree.ByPriority {
		if ix, ok, err = rd.tx.Indexes().ready(p, q.Order()); ok { // of a packed node, too: it is for more children
			rd.tx.Indexes().noteRead(ix.Index)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case r.tag == tagPacked:
		return rd.among(r.node.Get(rest), p, q)
	case q.Order() == tree.ByPriority:
		return rd.take(p, q, rd.byPriority(r.id, p, q))
	case !ok:
		return rd.scan(r.id, p, q)
	}
	return rd.take(p, q, rd.byIndex(ix, r.id, p, q))
}

// collect makes the node of a window of what find found, with its own priority.
// It sorts the entries by key. Entries are in query order and a node has its
// children in key order: hence the sort.
func (rd reader) collect(r row, rest tree.Path, entries []tree.Entry, limit int64) (tree.Node, error) {
	if len(entries) == 0 {
		return tree.Empty, nil
	}
	tree.SortEntries(entries, func(a, b tree.Entry) int { return tree.CompareKeys(a.Key, b.Key) })
	var b tree.Builder
	b.Priority(r.priorityAt(rest))
	for _, e := range entries {
		n, err := rd.childOf(r, rest, e.Key, limit)
		if err != nil {
			return tree.Empty, err
		}
		before := b.Len()
		b.Child(e.Key, n)
		if err := rd.grown(b.Len(), before); err != nil {
			return tree.Empty, err
		}
		if limit > 0 && int64(b.Len()) > limit {
			return tree.Empty, ErrTooBig
		}
	}
	return b.Node(), nil
}

// childOf returns a child of what find found.
func (rd reader) childOf(r row, rest tree.Path, key string, limit int64) (tree.Node, error) {
	if r.tag == tagPacked {
		return r.node.Get(rest).Child(key), nil
	}
	child, err := rd.tx.rowAt(r.id, key, true)
	if err != nil || !child.exists() {
		return tree.Empty, err
	}
	return rd.load(child, limit)
}

// looks returns those of a read through the filter of a query, if it has one.
func (rd reader) looks(p tree.Path, q tree.Query) tree.Looks {
	return tree.Looks{Data: rd.tx, Path: p, Filter: q.Filter, Shared: rd.tx.Looked}
}

// look looks at a child. A read that is brief ends with ErrLong if looks take long.
func (rd reader) look(l *tree.Looks, key string) (bool, error) {
	ok, err := l.At(key)
	return ok, cmp.Or(err, rd.lookedBriefly(l))
}

// among returns the entries of a query among the children of a node that is at hand.
func (rd reader) among(n tree.Node, p tree.Path, q tree.Query) ([]tree.Entry, error) {
	looks := rd.looks(p, q)
	entries, err := q.EntriesBy(n, &looks)
	return entries, cmp.Or(err, rd.lookedBriefly(&looks))
}

func (rd reader) lookedBriefly(l *tree.Looks) error {
	if rd.tx.brief > 0 && l.Filter != nil && l.Total().Spent > briefLooked {
		return ErrLong
	}
	return nil
}

// take collects the entries of a walk at p up to the query's limit. The walk goes
// backwards if the limit counts from the end.
func (rd reader) take(p tree.Path, q tree.Query, walk iter.Seq2[tree.Entry, error]) ([]tree.Entry, error) {
	var entries []tree.Entry
	looks := rd.looks(p, q)
	for e, err := range walk {
		if err != nil {
			return nil, err
		}
		if ok, err := rd.look(&looks, e.Key); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		if err := rd.holdEntry(e); err != nil {
			return nil, err
		}
		if entries = append(entries, e); len(entries) == q.Limit {
			break
		}
	}
	if q.FromLast {
		slices.Reverse(entries)
	}
	return entries, nil
}

// inRange passes on the entries of a walk that are inside the query's range
// and ends the walk at its far end.
func inRange(q tree.Query, walk iter.Seq2[tree.Entry, error]) iter.Seq2[tree.Entry, error] {
	return func(yield func(tree.Entry, error) bool) {
		for e, err := range walk {
			switch {
			case err != nil:
				yield(e, err)
				return
			case q.InRange(e):
				if !yield(e, nil) {
					return
				}
			case isPast(q, e):
				return
			}
		}
	}
}

// isPast reports whether an entry lies behind the far end of the range.
func isPast(q tree.Query, e tree.Entry) bool {
	if q.FromLast {
		return !q.AfterStart(e)
	}
	return !q.BeforeEnd(e)
}

// byKey walks a container's rows in key order.
func (rd reader) byKey(container uint64, q tree.Query) iter.Seq2[tree.Entry, error] {
	rd.cut = true
	from, end := idKey(container), idKey(container+1)
	if q.Start.Set {
		key, _ := q.Start.Value.StringValue()
		from = boundKey(container, key)
	}
	if q.End.Set {
		key, _ := q.End.Value.StringValue()
		end = append(boundKey(container, key), 0) // the key itself may be inside
	}
	rows := rd.childrenFrom(container, from)
	if q.FromLast {
		rows = rd.childrenBefore(container, end)
	}
	return inRange(q, func(yield func(tree.Entry, error) bool) {
		for ch, err := range rows {
			if !yield(tree.Entry{Key: ch.key}, err) {
				return
			}
		}
	})
}

// byPriority walks the children in priority order: first those without one, in
// key order, from the rows; then those with one, from the index. Backwards it
// is the other way round.
func (rd reader) byPriority(container uint64, p tree.Path, q tree.Query) iter.Seq2[tree.Entry, error] {
	first, second := rd.withoutPriority(container, q), rd.byIndex(priorityIndex, container, p, q)
	if q.FromLast {
		first, second = second, first
	}
	return func(yield func(tree.Entry, error) bool) {
		for _, walk := range []iter.Seq2[tree.Entry, error]{first, second} {
			for e, err := range walk {
				if !yield(e, err) {
					return
				}
			}
		}
	}
}

// withoutPriority walks the children that have no priority, from the near end of the range to
// its far end. It passes the others that lie between.
func (rd reader) withoutPriority(container uint64, q tree.Query) iter.Seq2[tree.Entry, error] {
	rd.cut = true
	from, end := idKey(container), idKey(container+1)
	if q.Start.Set && q.Start.KeyRank == tree.AtKey {
		from = boundKey(container, q.Start.Key)
	}
	if q.End.Set && q.End.Value.IsEmpty() && q.End.KeyRank == tree.AtKey {
		end = append(boundKey(container, q.End.Key), 0) // the key itself may be inside
	}
	rows := rd.childrenFrom(container, from)
	if q.FromLast {
		rows = rd.childrenBefore(container, end)
	}
	if onlyPriorities(q) || q.End.Set && q.End.Value.IsEmpty() && q.End.KeyRank == tree.BeforeKeys {
		rows = func(func(child, error) bool) {}
	}
	return inRange(q, func(yield func(tree.Entry, error) bool) {
		for ch, err := range rows {
			e := tree.Entry{Key: ch.key}
			if err == nil && ch.row.hasPriority() {
				if isPast(q, e) {
					return
				}
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	})
}

// onlyPriorities reports whether a range by priority has no children without one.
func onlyPriorities(q tree.Query) bool {
	return q.Start.Set && (!q.Start.Value.IsEmpty() || q.Start.KeyRank == tree.AfterKeys)
}

// byIndex walks the entries of an index in order.
func (rd reader) byIndex(ix definition, container uint64, p tree.Path, q tree.Query) iter.Seq2[tree.Entry, error] {
	w := indexWalk{tx: rd.tx, ix: ix, path: p, query: q, prefix: indexPrefix(ix.id, container), back: q.FromLast, values: 1}
	if tree.IsListOrder(ix.Order) {
		w.values = 0
		for range tree.OrderPaths(ix.Order) {
			w.values++
		}
	}
	from := w.start(q)
	return inRange(q, func(yield func(tree.Entry, error) bool) { w.run(from, yield) })
}

// The walk is over keys alone. The value of an entry is decoded from its key, except
// where a string was cut at maxIndexed: entries that agree so far are read with their
// whole values and sorted, because their order in the bucket is by key only. A run is as long
// as the number of children whose strings share their first 512 bytes. All of it is read, and
// of a query with a limit no more than twice that is in memory. Of several values, what
// follows behind the first that was cut says nothing, so a run has all entries that agree up
// to there.
type indexWalk struct {
	tx     *Tx
	ix     definition
	path   tree.Path // of the container
	query  tree.Query
	prefix []byte
	back   bool // from the end to the start
	values int  // that an entry has
}

// start returns where the walk begins: the near end of the range. A walk back
// begins with the last entry below it.
func (w *indexWalk) start(q tree.Query) []byte {
	near := q.Start
	if w.back {
		near = q.End
	}
	k := bytes.Clone(w.prefix)
	switch {
	case near.Set:
		return w.bound(k, near)
	case w.back:
		return append(k, 0xFF)
	}
	return k
}

// bound appends a bound's place among the entries to k. 0xFF is above all
// ordered keys. A bound with a cut string is placed in front of all entries
// that agree with it, or behind them for a walk back. inRange then compares the
// whole values.
func (w *indexWalk) bound(k []byte, b tree.Bound) []byte {
	cut := false
	for v := range b.Value.List() {
		size := len(k)
		k = appendValue(k, v)
		if _, _, cut, _ = splitValue(k[size:]); cut {
			break
		}
	}
	switch {
	case cut && w.back, !cut && b.KeyRank == tree.AfterKeys:
		return append(k, 0xFF)
	case cut || b.KeyRank == tree.BeforeKeys:
		return k
	case w.back:
		return append(appendBound(k, b.Key), 0) // the key itself may be inside
	}
	return appendBound(k, b.Key)
}

func (w *indexWalk) run(from []byte, yield func(tree.Entry, error) bool) {
	c := read(w.tx).cursor(kv.Index, w.prefix)
	k, _ := w.first(c, from)
	for hasPrefix(k, w.prefix) {
		e, cut, err := w.entry(k)
		switch {
		case err == nil && cut:
			var run []tree.Entry
			if run, k, err = w.cutRun(c, k); err != nil {
				yield(e, err)
				return
			}
			for _, e := range run {
				if !yield(e, nil) {
					return
				}
			}
			continue
		case !yield(e, err) || err != nil:
			return
		}
		k = w.step(c)
	}
	if err := c.Err(); err != nil {
		yield(tree.Entry{}, err)
	}
}

func (w *indexWalk) first(c kv.Cursor, from []byte) (k, v []byte) {
	if w.back {
		return seekBefore(c, from)
	}
	return c.Seek(from)
}

func (w *indexWalk) step(c kv.Cursor) []byte {
	if w.back {
		k, _ := c.Prev()
		return k
	}
	k, _ := c.Next()
	return k
}

func (w *indexWalk) entry(k []byte) (e tree.Entry, cut bool, err error) {
	w.tx.stats.Visited++
	if err := w.tx.tick(); err != nil {
		return e, false, err
	}
	tail := k[len(w.prefix):]
	v, size, part, ok := splitValues(tail, w.values)
	if ok {
		e.Value = v
		e.Key, ok = decodeKey(tail[size:])
	}
	if !ok {
		return e, false, fmt.Errorf("%w: unreadable index entry", ErrDamaged)
	}
	return e, part > 0, nil
}

// cutRun reads the entries of strings that agree in the bytes the index holds,
// puts them in order by their whole values, and returns the key behind them.
//
// They are held while they are gathered, and no more when the reader holds those that it
// takes. Entries in front of the range are left out, or they could push others out of the
// limit. Those behind it come last and end the walk.
func (w *indexWalk) cutRun(c kv.Cursor, k []byte) (run []tree.Entry, next []byte, err error) {
	_, _, size, _ := splitValues(k[len(w.prefix):], w.values)
	same, limit := bytes.Clone(k[:len(w.prefix)+size]), w.query.Limit
	for ; hasPrefix(k, same); k = w.step(c) {
		e, err := w.whole(k)
		if err == nil && !w.query.InRange(e) && !isPast(w.query, e) {
			continue
		}
		if err == nil {
			err = w.tx.hold(entryBytes(e))
		}
		if run = append(run, e); err == nil && w.query.Filter == nil && limit > 0 && len(run) == 2*limit {
			w.sort(run)
			err = w.giveBack(run[limit:])
			clear(run[limit:])
			run = run[:limit]
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if err := c.Err(); err != nil {
		return nil, nil, err
	}
	w.sort(run)
	return run, k, w.giveBack(run)
}

// giveBack holds entries no more.
func (w *indexWalk) giveBack(run []tree.Entry) error {
	total := 0
	for _, e := range run {
		total += entryBytes(e)
	}
	return w.tx.hold(-total)
}

// whole is entry for one whose string was cut. It keeps no row in memory, and what reading it
// has held counts no more: the caller holds the entry.
func (w *indexWalk) whole(k []byte) (tree.Entry, error) {
	held := w.tx.holds
	e, _, err := w.entry(k)
	if err == nil {
		e.Value, err = w.tx.Indexes().valueAt(w.path.Child(e.Key), w.ix.Order)
	}
	if err == nil {
		err = w.tx.hold(int(held - w.tx.holds))
	}
	if len(e.Value.Text()) <= PackLimit {
		e.Value = e.Value.Clone()
	}
	return e, err
}

// sort puts entries in the order of the walk.
func (w *indexWalk) sort(run []tree.Entry) {
	tree.SortEntries(run, w.query.Compare)
	if w.back {
		slices.Reverse(run)
	}
}

// scan answers a query without an index: it looks at every child.
//
// It costs a row for each child. The layer above decides which callers may ask
// for that (REST §5.3).
func (rd reader) scan(container uint64, p tree.Path, q tree.Query) ([]tree.Entry, error) {
	var entries []tree.Entry
	looks := rd.looks(p, q)
	for ch, err := range rd.tx.children(container) {
		if err != nil {
			return nil, err
		}
		e := tree.Entry{Key: ch.key}
		if ch.row.tag == tagPacked {
			e.Value = shallowIndexValue(q.IndexValue(ch.row.node))
		} else if e.Value, err = rd.tx.Indexes().valueAt(p.Child(ch.key), q.Order()); err != nil {
			return nil, err
		}
		if !q.InRange(e) {
			continue
		}
		if ok, err := rd.look(&looks, e.Key); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		if ch.row.tag == tagPacked {
			e.Value = e.Value.Clone() // or it would keep the row in memory
		}
		if err := rd.holdEntry(e); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	tree.SortEntries(entries, q.Compare)
	return slices.Clone(q.Cut(entries)), nil
}
