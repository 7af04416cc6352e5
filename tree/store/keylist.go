package store

import (
	"iter"
	"math"
	"slices"
)

// A KeyList is keys in order. It keeps them in one piece, since there may be very many of
// them: so they are no work for the garbage collector. The zero KeyList is empty. A
// []string of a million keys would cost 16 bytes for each header and a pointer that every
// collection follows. Here it is two allocations.
type KeyList struct {
	text []byte
	ends []uint32 // of each key in the text
}

// Len returns the number of keys.
func (l KeyList) Len() int { return len(l.ends) }

// Size returns the length of all keys together.
func (l KeyList) Size() int { return len(l.text) }

// All yields the keys.
func (l KeyList) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		text, from := string(l.text), uint32(0)
		for _, end := range l.ends {
			if !yield(text[from:end]) {
				return
			}
			from = end
		}
	}
}

// add appends a key. It fails if the list takes gigabytes.
func (l *KeyList) add(key []byte) error {
	if len(l.text)+len(key) > math.MaxUint32 {
		return ErrTooBig
	}
	l.text = append(l.text, key...)
	l.ends = append(l.ends, uint32(len(l.text)))
	return nil
}

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
