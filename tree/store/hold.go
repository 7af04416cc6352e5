package store

import (
	"slices"
	"strings"
)

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
