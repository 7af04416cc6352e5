package store

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/piecewise"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// A layout is the rows of a value that is more than one row. They are made as the
// value is walked, children inside of their parents, and put in the order of
// keys, container after container: see [SortWrites] for why.
//
// All rows are in memory until the value is laid out. That is bounded by the largest
// write that is not a load. Index entries are put on the way, because kv sorts those
// itself.
type layout struct {
	tx   *Tx
	rows []layoutRow
	room []byte // for keys and values
}

type layoutRow struct{ key, value []byte }

// write stores a node that is not empty in the row with the given key.
func (e editor) write(key []byte, path tree.Path, n tree.Node) error {
	if len(n.Text()) <= PackLimit {
		return e.tx.putRow(key, packedRow(n))
	}
	l := layout{tx: e.tx}
	if err := l.node(key, path, "", n); err != nil {
		return err
	}
	return l.put()
}

// node lays out a node that goes to a path, or to the child there with a name unless that
// is "".
func (l *layout) node(key []byte, at tree.Path, name string, n tree.Node) error {
	switch {
	case len(n.Text()) <= PackLimit:
		l.add(key, packedRow(n))
		return nil
	case n.IsLeaf():
		r, err := edits(l.tx).writeBlob(n)
		l.add(key, r)
		return err
	}
	return l.container(key, below(at, name), n)
}

func (l *layout) container(key []byte, path tree.Path, n tree.Node) error {
	r := row{tag: tagContainer, id: l.tx.newID(), priority: n.Priority()}
	l.add(key, r)
	indexes, err := l.tx.Indexes().at(path)
	if err != nil {
		return err
	}
	count := int64(0)
	defer func() { countsOf(l.tx).set(r.id, count) }()
	for name, child := range n.Children() {
		count++
		key := l.key(r.id, name)
		if err := l.node(key, path, name, child); err != nil {
			return err
		}
		for _, ix := range indexes {
			v := shallowIndexValue(tree.IndexValue(ix.Order, child))
			if err := l.tx.Indexes().putEntry(ix, r.id, name, indexed{v, true}); err != nil {
				return err
			}
		}
	}
	return nil
}

// roomBytes is how much is allocated at a time for many rows.
const roomBytes = 64 << 10

// fit makes room for n bytes and returns where they begin.
func (l *layout) fit(n int) int {
	if cap(l.room)-len(l.room) < n {
		l.room = make([]byte, 0, max(roomBytes, n))
	}
	return len(l.room)
}

// made returns what was appended to the room.
func (l *layout) made(from int) []byte { return l.room[from:len(l.room):len(l.room)] }

func (l *layout) key(container uint64, key string) []byte {
	from := l.fit(maxRowKey(key))
	l.room = appendRowKey(l.room, container, key)
	return l.made(from)
}

func (l *layout) add(key []byte, r row) {
	from := l.fit(r.maxSize())
	l.room = r.append(l.room)
	l.rows = piecewise.Add(l.rows, layoutRow{key, l.made(from)})
}

func (l *layout) put() error {
	sort.Slice(l.rows, func(i, j int) bool {
		a, b := l.rows[i], l.rows[j]
		return bytes.Compare(a.key, b.key) < 0
	})
	for _, r := range l.rows {
		if err := l.tx.put(kv.Rows, r.key, r.value); err != nil {
			return err
		}
	}
	return nil
}

// chunkBytes is the size of a blob's chunks: large enough to be few, small
// enough that pages are reused well. A chunk takes eight pages or so. One value
// of bbolt as long as the string would need as many pages in a row, which a
// file in use rarely has free, so the file would grow.
const chunkBytes = 32 << 10

// An editor changes the rows of a transaction so that the tree changes.
type editor struct{ tx *Tx }

func edits(tx *Tx) editor { return editor{tx} }

// writeBlob stores a long string and returns its row.
func (e editor) writeBlob(n tree.Node) (row, error) {
	s, _ := n.StringValue()
	r := row{tag: tagBlob, id: e.tx.newID(), size: uint64(len(s)), priority: n.Priority()}
	chunk := uint32(0)
	for part := range slices.Chunk([]byte(s), chunkBytes) {
		k := binary.BigEndian.AppendUint32(idKey(r.id), chunk)
		if err := e.tx.put(kv.Blobs, k, part); err != nil {
			return row{}, err
		}
		chunk++
	}
	return r, nil
}
