package store

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// A reader reads what is below rows of a transaction: nodes, long strings, and the
// children that queries select.
type reader struct{ tx *Tx }

func read(tx *Tx) reader { return reader{tx} }

// largeValue is from where on a read asks for the memory that it takes, and a value is
// measured before it is read: to let its text grow would take twice the memory.
const largeValue = 1 << 20

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
		l.buf.WriteString(n.Text())
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
	return string(buf), nil
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
func (rd reader) holdEntry(e tree.Entry) error {
	const each = 64 // bytes beside the texts
	return rd.tx.hold(each + len(e.Key) + len(e.Value.Text()))
}

// grown is hold for a text that grows to size, and takes as much again while it does.
func (rd reader) grown(size, before int) error {
	if size < largeValue {
		return nil
	}
	return rd.tx.hold(2 * (size - before))
}
