package store

import (
	"errors"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// largeValue is from where on a read asks for the memory that it takes, and a value is
// measured before it is read: to let its text grow would take twice the memory.
const largeValue = 1 << 20

// errLarge is returned for a value that has to be measured first.
var errLarge = errors.New("the value is large")

// hold notes that n more bytes are about to be held by what the transaction reads, and
// asks Hold in steps of largeValue. What is read without Hold does not count.
func (tx *Tx) hold(n int) error {
	if tx.Hold == nil {
		return nil
	}
	if tx.holds += int64(n); tx.holds < tx.asked+largeValue {
		return nil
	}
	tx.asked = tx.holds
	return tx.Hold(tx.holds)
}

// large returns the whole node of a row, whose text is made in memory of its size.
func (tx *Tx) large(r row, limit int64) (tree.Node, error) {
	size, err := tx.textSize(r, limit)
	if err != nil {
		return tree.Empty, err
	}
	if err := tx.hold(size); err != nil {
		return tree.Empty, err
	}
	l := loader{tx: tx, limit: limit}
	l.buf.Grow(size)
	if err := l.row(r); err != nil {
		return tree.Empty, err
	}
	return tree.FromCanonical(l.buf.String()), nil
}

// textSize returns how long the text of a row's node is, less what is escaped in long
// strings.
func (tx *Tx) textSize(r row, limit int64) (size int, err error) {
	switch r.tag {
	case tagPacked:
		return len(r.node.Text()), nil
	case tagBlob:
		return int(r.size) + len(r.priority.Text()) + len(`{".priority":,".value":""}`), nil
	}
	size = len(`{".priority":,}`) + len(r.priority.Text())
	for child, err := range tx.children(r.id) {
		if err != nil {
			return 0, err
		}
		n, err := tx.textSize(child.row, limit)
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
func (tx *Tx) holdEntry(e tree.Entry) error {
	const each = 64 // bytes beside the texts
	return tx.hold(each + len(e.Key) + len(e.Value.Text()))
}

// grown is hold for a text that grows to size, and takes as much again while it does.
func (tx *Tx) grown(size, before int) error {
	if size < largeValue {
		return nil
	}
	return tx.hold(2 * (size - before))
}

// owned returns a text of its own length: that of a builder may have room to grow.
func owned(b *strings.Builder) string { return strings.Clone(b.String()) }

// grow makes room for n more bytes of keys, and asks for it before.
func (l *KeyList) grow(tx *Tx, n int) error {
	if cap(l.text)-len(l.text) >= n {
		return nil
	}
	more := max(len(l.text)/2, n, 4<<10)
	if err := tx.hold(more); err != nil {
		return err
	}
	l.text = slices.Grow(l.text, more)
	return nil
}
