package store

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/piecewise"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

func hasPrefix(k, prefix []byte) bool { return k != nil && bytes.HasPrefix(k, prefix) }

// A child is one row of a container with its key.
type child struct {
	key string
	row row
}

// children yields a container's rows in key order.
func (tx *Tx) children(container uint64) iter.Seq2[child, error] {
	return read(tx).childrenFrom(container, idKey(container))
}

// childrenFrom yields a container's rows from the given row key on, in key
// order.
func (rd reader) childrenFrom(container uint64, from []byte) iter.Seq2[child, error] {
	prefix := idKey(container)
	return func(yield func(child, error) bool) {
		c := rd.cursor(kv.Rows, prefix)
		for k, v := c.Seek(from); hasPrefix(k, prefix); k, v = c.Next() {
			ch, err := rd.child(k, v)
			if !yield(ch, err) || err != nil {
				return
			}
		}
		if err := c.Err(); err != nil {
			yield(child{}, err)
		}
	}
}

// childrenBefore yields a container's rows with row keys below end, from the
// last to the first.
func (rd reader) childrenBefore(container uint64, end []byte) iter.Seq2[child, error] {
	prefix := idKey(container)
	return func(yield func(child, error) bool) {
		c := rd.cursor(kv.Rows, prefix)
		for k, v := seekBefore(c, end); hasPrefix(k, prefix); k, v = c.Prev() {
			ch, err := rd.child(k, v)
			if !yield(ch, err) || err != nil {
				return
			}
		}
		if err := c.Err(); err != nil {
			yield(child{}, err)
		}
	}
}

// boundKey is rowKey for the bound of a range, which need not be a valid key.
func boundKey(container uint64, key string) []byte { return appendBound(idKey(container), key) }

// appendBound is appendKey for bounds. Text that is empty or begins with a
// control character sorts behind the integers and before all other keys.
func appendBound(dst []byte, key string) []byte {
	if key == "" || key[0] < 0x20 {
		return append(dst, markInteger+1)
	}
	return appendKey(dst, key)
}

// seekBefore returns the last entry below end.
func seekBefore(c kv.Cursor, end []byte) (k, v []byte) {
	if p, ok := c.(kv.Passer); ok {
		return p.Before(end)
	}
	if k, _ := c.Seek(end); k == nil {
		if c.Err() != nil {
			return nil, nil
		}
		return c.Last()
	}
	return c.Prev()
}

func (rd reader) child(k, v []byte) (child, error) {
	rd.tx.stats.Visited++
	if err := rd.tx.tick(); err != nil {
		return child{}, err
	}
	key, ok := decodeKey(k[8:])
	if !ok {
		return child{}, fmt.Errorf("%w: unreadable key of a row", ErrDamaged)
	}
	r, err := decodeRow(v, !rd.cut)
	return child{key, r}, err
}

// A reader reads what is below rows of a transaction: nodes, long strings, and the
// children that queries select.
//
// Two things bound a read: limit, which is the caller's and makes it fail with ErrTooBig,
// and Tx.Hold, which asks for memory as it is taken. A text below largeValue is built in
// a growing buffer and copied once to its length. Above it the text is measured first, in
// a second pass over the rows, and built in memory of its size: a buffer that grows has
// its old and its new memory for a moment.
type reader struct {
	tx  *Tx
	cut bool // children are only looked at: their rows may lack their priority, see row.cut
}

func read(tx *Tx) reader { return reader{tx: tx} }

// cursor returns a cursor for keys with a prefix. Its steps over deleted entries are counted and
// can be interrupted, as those over others are by their reader.
func (rd reader) cursor(b kv.Bucket, prefix []byte) kv.Cursor {
	c := rd.tx.kv.Cursor(b)
	if p, ok := c.(kv.Passer); ok {
		p.OnPass(rd.tx.tick)
		p.Within(prefix)
	}
	return c
}

// errLarge is returned for a value that has to be measured first.
var errLarge = errors.New("the value is large")

// load returns the whole node of a row.
func (rd reader) load(r row, limit int64) (tree.Node, error) {
	if r.tag == tagPacked {
		return r.node, nil
	}
	l := loader{tx: rd.tx, limit: limit, most: largeValue}
	if r.tag == tagBlob {
		if err := rd.tx.hold(int(r.size)); err != nil {
			return tree.Empty, err
		}
		return l.blob(r) // may be large, and is not copied once more
	}
	err := l.row(r)
	if err == errLarge {
		return rd.large(r, limit)
	}
	if err != nil {
		return tree.Empty, err
	}
	return tree.FromCanonical(owned(&l.buf)), rd.tx.hold(l.buf.Len())
}

// A loader puts the text of a node together from its rows.
type loader struct {
	tx    *Tx
	buf   strings.Builder
	limit int64
	most  int // bytes, beyond which the error is errLarge; 0: none
}

func (l *loader) row(r row) error {
	switch r.tag {
	case tagPacked:
		l.buf.WriteString(r.node.Text())
	case tagBlob:
		n, err := l.blob(r)
		if err != nil {
			return err
		}
		piecewise.Write(&l.buf, n.Text())
	default:
		return l.container(r)
	}
	switch {
	case l.limit > 0 && int64(l.buf.Len()) > l.limit:
		return ErrTooBig
	case l.most > 0 && l.buf.Len() > l.most:
		return errLarge
	}
	return nil
}

// blob returns the leaf of a long string. Its text may exceed the limit by what is
// escaped in it: then the error is ErrTooBig, too.
func (l *loader) blob(r row) (tree.Node, error) {
	if l.exceeds(r.size) {
		return tree.Empty, ErrTooBig // without reading it
	}
	s, err := read(l.tx).blob(r)
	if err != nil {
		return tree.Empty, err
	}
	n := tree.String(s).WithPriority(r.priority)
	if l.exceeds(uint64(len(n.Text()))) {
		return tree.Empty, ErrTooBig
	}
	return n, nil
}

func (l *loader) exceeds(size uint64) bool { return l.limit > 0 && size > uint64(l.limit) }

func (l *loader) container(r row) error {
	sep := byte('{')
	if !r.priority.IsEmpty() {
		l.buf.WriteString(`{".priority":`)
		l.buf.WriteString(r.priority.Text())
		sep = ','
	}
	for child, err := range l.tx.children(r.id) {
		if err != nil {
			return err
		}
		l.buf.WriteByte(sep)
		l.buf.WriteString(tree.String(child.key).Text())
		l.buf.WriteByte(':')
		if err := l.row(child.row); err != nil {
			return err
		}
		sep = ','
	}
	l.buf.WriteByte('}')
	return nil
}

// blob reads a long string.
func (rd reader) blob(r row) (string, error) {
	if err := rd.long(int(min(r.size, tree.MaxStringBytes))); err != nil {
		return "", err
	}
	buf := make([]byte, 0, min(r.size, tree.MaxStringBytes))
	for chunk, err := range rd.chunks(r.id) {
		if err != nil {
			return "", err
		}
		buf = append(buf, chunk...)
	}
	if uint64(len(buf)) != r.size {
		return "", wrongSize(r, uint64(len(buf)))
	}
	return piecewise.Own(buf), nil
}

// start returns a leaf with the beginning of a long string: as much as entries of indexes hold, and
// a character more, which tells that the string goes on.
func (rd reader) start(r row) (tree.Node, error) {
	most := int(min(r.size, maxIndexed+utf8.UTFMax))
	text := make([]byte, 0, most)
	for chunk, err := range rd.chunks(r.id) {
		if err != nil {
			return tree.Empty, err
		}
		if text = append(text, chunk[:min(len(chunk), most-len(text))]...); len(text) == most {
			break
		}
	}
	if len(text) < most {
		return tree.Empty, wrongSize(r, uint64(len(text)))
	}
	return tree.String(string(text)), nil
}

// long counts a long string before it is read. Interrupt is asked as often as if it were in rows.
func (rd reader) long(size int) error {
	const step = 1024 * PackLimit
	before := rd.tx.stats.Long
	rd.tx.stats.Long += size
	if rd.tx.Interrupt != nil && rd.tx.stats.Long/step > before/step {
		return rd.tx.Interrupt()
	}
	return nil
}

// chunks yields the chunks of a blob, each valid until the next.
func (rd reader) chunks(blob uint64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		c := rd.tx.kv.Cursor(kv.Blobs)
		prefix := idKey(blob)
		for k, v := c.Seek(prefix); hasPrefix(k, prefix); k, v = c.Next() {
			err := rd.tx.tick()
			if !yield(v, err) || err != nil {
				return
			}
		}
		if err := c.Err(); err != nil {
			yield(nil, err)
		}
	}
}

func wrongSize(r row, size uint64) error {
	return fmt.Errorf("%w: blob %d has %d bytes, should have %d", ErrDamaged, r.id, size, r.size)
}

// large returns the whole node of a row, whose text is made in memory of its size.
func (rd reader) large(r row, limit int64) (tree.Node, error) {
	size, err := rd.textSize(r, limit)
	if err != nil {
		return tree.Empty, err
	}
	if err := rd.tx.hold(size); err != nil {
		return tree.Empty, err
	}
	l := loader{tx: rd.tx, limit: limit}
	l.buf.Grow(size)
	if err := l.row(r); err != nil {
		return tree.Empty, err
	}
	return tree.FromCanonical(l.buf.String()), nil
}

// textSize returns how long the text of a row's node is, less what is escaped in long
// strings.
func (rd reader) textSize(r row, limit int64) (size int, err error) {
	switch r.tag {
	case tagPacked:
		return len(r.node.Text()), nil
	case tagBlob:
		return int(r.size) + len(r.priority.Text()) + len(`{".priority":,".value":""}`), nil
	}
	size = len(`{".priority":,}`) + len(r.priority.Text())
	for child, err := range rd.tx.children(r.id) {
		if err != nil {
			return 0, err
		}
		n, err := rd.textSize(child.row, limit)
		if err != nil {
			return 0, err
		}
		if size += n + len(child.key) + len(`"":,`); limit > 0 && int64(size) > limit+largeValue {
			return 0, ErrTooBig
		}
	}
	return size, nil
}

// holdEntry is hold for one more entry of a query.
func (rd reader) holdEntry(e tree.Entry) error { return rd.tx.hold(entryBytes(e)) }

// entryBytes is about how much memory an entry takes.
func entryBytes(e tree.Entry) int {
	const each = 64 // in addition to the texts
	return each + len(e.Key) + len(e.Value.Text())
}

// grown is hold for a text that grows to size, and takes as much again while it does.
func (rd reader) grown(size, before int) error {
	if size < largeValue {
		return nil
	}
	return rd.tx.hold(2 * (size - before))
}

// owned returns a text of its own length: that of a builder may have room to grow.
func owned(b *strings.Builder) string { return strings.Clone(b.String()) }
