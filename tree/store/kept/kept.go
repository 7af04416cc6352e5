// Package kept has the rows that declared data needs and that are not in the tree, in bucket e of a store:
// how many source nodes of a map share a place, which places have a source while a map is
// built, and when nodes expire. They are the store's half of package derive,
// and know nothing of documents: a definition is a number here.
//
// storage §5.6 describes the rows. A caller changes them in the transaction of the write that they
// follow from. Every change is noted for the log, since a replica cannot derive it: times
// depend on the clock, and marks on when a place was built.
package kept

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/entry"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// An ID is the number of a definition. It is never given again, so rows of one that was taken out
// mean nothing to a later one of the same name. 0 is the number of none. Package declared gives
// them.
type ID uint32

// Keys of bucket e begin with one of these.
const (
	shared = 's' // definition, place → number of source nodes
	marked = 'm' // definition, place → its source, 1 for one that was not noted
	timer  = 't' // definition, path → when the node expires, in milliseconds since 1970
	due    = 'd' // time, definition, path → where its removal in parts has come to, 1 for nowhere
)

// kinds are those whose keys go on with the definition. Keys of due go on with the time, so that
// timers are in the order in which nodes expire: such a row is found and deleted by its timer row.
var kinds = []byte{shared, marked, timer}

// Rows are those of a transaction, and are valid as long as it is. A transaction that reads may
// use them, too, but not change them.
type Rows struct {
	entries kv.Entries
	note    func(*entry.Kept) // gets each change, for the log; nil: nothing does
}

// Of returns the rows as of a transaction. note gets each change; nil: nothing does.
func Of(e kv.Entries, note func(*entry.Kept)) Rows { return Rows{e, note} }

// Do makes a change that was noted of another store. The same changes in the same order make the same
// rows. KeptUnmark and KeptForget say how many rows go and not which: they are the first ones.
func (r Rows) Do(k *entry.Kept) error {
	id := ID(k.Definition)
	var err error
	switch k.Kind {
	case entry.KeptDue:
		_, err = r.SetTimer(Timer{ID: id, Path: k.Path, Due: k.N, At: k.At})
	case entry.KeptSources:
		err = r.SetSources(id, k.Path, int(k.N))
	case entry.KeptMark:
		err = r.Mark(id, k.Path, k.At)
	case entry.KeptUnmark:
		_, err = r.Unmark(id, int(k.N))
	case entry.KeptForget:
		_, err = r.Drop(id, int(k.N))
	}
	return err
}

// noted notes a change.
func (r Rows) noted(kind string, id ID, p tree.Path, n int64, at tree.Path) {
	if r.note != nil {
		r.note(&entry.Kept{Kind: kind, Definition: uint32(id), Path: p, N: n, At: at})
	}
}

// keyOf returns the key of a row: "m", the definition in 4 bytes, "users/ann/groups/g1".
func keyOf(kind byte, id ID, rest string) []byte {
	k := make([]byte, 0, 5+len(rest))
	k = binary.BigEndian.AppendUint32(append(k, kind), uint32(id))
	return append(k, rest...)
}

// Sources returns how many source nodes of a definition share a place, 0 without a row.
func (r Rows) Sources(id ID, place tree.Path) (int, error) {
	v, err := r.entries.Get(kv.Declared, keyOf(shared, id, place.Clean()))
	if err != nil || v == nil {
		return 0, err
	}
	n, size := binary.Uvarint(v)
	if size != len(v) {
		return 0, fmt.Errorf("%w: unreadable number of sources of %s", kv.ErrDamaged, place)
	}
	return int(n), nil
}

// SetSources stores how many source nodes share a place.
func (r Rows) SetSources(id ID, place tree.Path, n int) error {
	k := keyOf(shared, id, place.Clean())
	r.noted(entry.KeptSources, id, place, int64(n), tree.Root)
	if n == 0 {
		return r.entries.Delete(kv.Declared, k)
	}
	return r.entries.Put(kv.Declared, k, binary.AppendUvarint(nil, uint64(n)))
}

// none is a value that has no path. No path is like it, since keys have no control characters.
// Versions before there were paths in values wrote this byte, so their rows can be read.
const none = "\x01"

// valueOf returns the value that has a path, or none of the root.
func valueOf(p tree.Path) []byte {
	if p.IsRoot() {
		return []byte(none)
	}
	return []byte(p.Clean())
}

func pathOf(v []byte) (tree.Path, error) {
	if string(v) == none {
		return tree.Root, nil
	}
	p, err := tree.ParsePath(string(v))
	if err != nil {
		err = fmt.Errorf("%w: unreadable path %.50q of declared data", kv.ErrDamaged, v)
	}
	return p, err
}

// Mark notes that a place has a source, and which one, unless that is the root.
func (r Rows) Mark(id ID, place, source tree.Path) error {
	r.noted(entry.KeptMark, id, place, 1, source)
	return r.entries.Put(kv.Declared, keyOf(marked, id, place.Clean()), valueOf(source))
}

// Marked reports whether a place has a source, and which one if that was noted.
func (r Rows) Marked(id ID, place tree.Path) (source tree.Path, ok bool, err error) {
	v, err := r.entries.Get(kv.Declared, keyOf(marked, id, place.Clean()))
	if err != nil || v == nil {
		return tree.Root, false, err
	}
	source, err = pathOf(v)
	return source, true, err
}

// A Timer says when a node expires.
type Timer struct {
	ID   ID
	Path tree.Path
	Due  int64 // in milliseconds since 1970; 0: never

	At tree.Path // of a node that is removed in parts: what it has in front of this path stays; the root: nothing is known to
}

func (t Timer) dueKey() []byte {
	k := binary.BigEndian.AppendUint64([]byte{due}, uint64(t.Due))
	return append(binary.BigEndian.AppendUint32(k, uint32(t.ID)), t.Path.Clean()...)
}

// SetTimer stores when a node expires, and reports whether that is new. It keeps both rows of the
// timer alike: by the node, to find the time that a new one replaces, and by the time. A Due of 0
// deletes both. A time that stays as it is costs no write and no record in the log.
func (r Rows) SetTimer(t Timer) (changed bool, err error) {
	k := keyOf(timer, t.ID, t.Path.Clean())
	v, err := r.entries.Get(kv.Declared, k)
	if err != nil || v == nil && t.Due == 0 {
		return false, err
	}
	if len(v) == 8 {
		old := Timer{ID: t.ID, Path: t.Path, Due: int64(binary.BigEndian.Uint64(v))}.dueKey()
		if bytes.Equal(old, t.dueKey()) {
			at, err := r.entries.Get(kv.Declared, old)
			if err != nil || bytes.Equal(at, valueOf(t.At)) {
				return false, err
			}
		}
		if err := r.entries.Delete(kv.Declared, old); err != nil {
			return false, err
		}
	}
	r.noted(entry.KeptDue, t.ID, t.Path, t.Due, t.At)
	if t.Due == 0 {
		return true, r.entries.Delete(kv.Declared, k)
	}
	if err := r.entries.Put(kv.Declared, k, binary.BigEndian.AppendUint64(nil, uint64(t.Due))); err != nil {
		return false, err
	}
	return true, r.entries.Put(kv.Declared, t.dueKey(), valueOf(t.At))
}

// Timer returns that of a node. Its time is 0 if there is none. It has no At: only Timers reads
// that.
func (r Rows) Timer(id ID, p tree.Path) (t Timer, err error) {
	t = Timer{ID: id, Path: p}
	v, err := r.entries.Get(kv.Declared, keyOf(timer, id, p.Clean()))
	if len(v) == 8 {
		t.Due = int64(binary.BigEndian.Uint64(v))
	}
	return t, err
}

// Timers returns the first timers, in the order of their times, of all definitions. A timer may
// be of one that is not in force any more, and its node may be gone.
func (r Rows) Timers(most int) (list []Timer, err error) {
	c := r.entries.Cursor(kv.Declared)
	for k, v := c.Seek([]byte{due}); len(k) >= 13 && k[0] == due && len(list) < most; k, v = c.Next() {
		p, err := tree.ParsePath(string(k[13:]))
		if err != nil {
			return nil, fmt.Errorf("%w: unreadable timer %x", kv.ErrDamaged, k)
		}
		at, err := pathOf(v)
		if err != nil {
			return nil, err
		}
		list = append(list, Timer{ID(binary.BigEndian.Uint32(k[9:])), p, int64(binary.BigEndian.Uint64(k[1:])), at})
	}
	return list, c.Err()
}

// Below returns the first timers of a definition below a path and behind another one, in the order of
// the bytes of paths. Root is behind none. The timer of the path itself is not among them.
func (r Rows) Below(id ID, p, after tree.Path, most int) (list []Timer, err error) {
	prefix := keyOf(timer, id, "")
	if !p.IsRoot() {
		prefix = keyOf(timer, id, p.Clean()+"/")
	}
	from := prefix
	if !after.IsRoot() {
		from = keyOf(timer, id, after.Clean()+"\x00")
	}
	c := r.entries.Cursor(kv.Declared)
	for k, v := c.Seek(from); bytes.HasPrefix(k, prefix) && len(list) < most; k, v = c.Next() {
		p, err := tree.ParsePath(string(k[5:]))
		if err != nil || len(v) != 8 {
			return nil, fmt.Errorf("%w: unreadable timer %x", kv.ErrDamaged, k)
		}
		list = append(list, Timer{ID: id, Path: p, Due: int64(binary.BigEndian.Uint64(v))})
	}
	return list, c.Err()
}

// Drop deletes rows of a definition, at most a number of them. It returns how many: there may be more if
// these are as many as that. A timer counts as one, though it has two rows.
func (r Rows) Drop(id ID, rows int) (deleted int, err error) {
	r.noted(entry.KeptForget, id, tree.Root, int64(rows), tree.Root)
	return r.drop(kinds, id, rows)
}

// Unmark is Drop for marks alone.
func (r Rows) Unmark(id ID, rows int) (deleted int, err error) {
	r.noted(entry.KeptUnmark, id, tree.Root, int64(rows), tree.Root)
	return r.drop([]byte{marked}, id, rows)
}

// drop deletes the first rows of some kinds. It collects the keys of a kind before it deletes
// them, since a cursor is lost at each write.
func (r Rows) drop(kinds []byte, id ID, rows int) (deleted int, err error) {
	r.note = nil // how many it was is noted
	for _, kind := range kinds {
		prefix := keyOf(kind, id, "")
		var keys [][]byte
		c := r.entries.Cursor(kv.Declared)
		k, _ := c.Seek(prefix)
		for ; k != nil && bytes.HasPrefix(k, prefix) && deleted+len(keys) < rows; k, _ = c.Next() {
			keys = append(keys, bytes.Clone(k))
		}
		if err := c.Err(); err != nil {
			return deleted, err
		}
		for _, k := range keys {
			if kind == timer {
				err := r.dropTimer(id, k)
				if err != nil {
					return deleted, err
				}
				continue
			}
			if err := r.entries.Delete(kv.Declared, k); err != nil {
				return deleted, err
			}
		}
		if deleted += len(keys); deleted == rows {
			break
		}
	}
	return deleted, nil
}

// dropTimer deletes the timer with a key.
func (r Rows) dropTimer(id ID, key []byte) error {
	p, err := tree.ParsePath(string(key[5:]))
	if err != nil {
		return fmt.Errorf("%w: unreadable timer %x", kv.ErrDamaged, key)
	}
	_, err = r.SetTimer(Timer{ID: id, Path: p})
	return err
}

// IDs returns the numbers of all definitions that have rows. It reads about one row for each.
func (r Rows) IDs() (list []ID, err error) {
	c := r.entries.Cursor(kv.Declared)
	for _, kind := range kinds {
		for k, _ := c.Seek([]byte{kind}); len(k) >= 5 && k[0] == kind; {
			id := ID(binary.BigEndian.Uint32(k[1:]))
			list = append(list, id)
			if id == math.MaxUint32 {
				break
			}
			k, _ = c.Seek(keyOf(kind, id+1, ""))
		}
	}
	return list, c.Err()
}

// Check reports rows that cannot be read, and timers that are not in both orders. These it
// counts, in one walk without memory: it finds a row that lacks its other one, unless there is
// one too many elsewhere.
func (r Rows) Check(report func(format string, args ...any)) {
	timers := 0
	c := r.entries.Cursor(kv.Declared)
	k, v := c.Seek(nil)
	for ; k != nil; k, v = c.Next() {
		switch {
		case k[0] == due && len(k) >= 13:
			if timers--; len(v) > 0 {
				if _, err := pathOf(v); err != nil {
					report("declared data: unreadable part at %x", k)
				}
			}
		case len(k) < 5 || bytes.IndexByte(kinds, k[0]) < 0:
			report("declared data: unreadable key %x", k)
		case k[0] == timer && len(v) == 8:
			timers++
		case k[0] == timer:
			report("declared data: unreadable time at %x", k)
		case k[0] == marked:
			if _, err := pathOf(v); err != nil {
				report("declared data: unreadable source at %x", k)
			}
		case k[0] == shared:
			if n, size := binary.Uvarint(v); size != len(v) || n == 0 {
				report("declared data: unreadable number of sources at %x", k)
			}
		}
	}
	if err := c.Err(); err != nil {
		report("declared data: %w", err)
	}
	if timers != 0 {
		report("declared data: nodes and times of expiry differ by %d", timers)
	}
}
