package store

import (
	"bytes"
	"errors"
	"sync/atomic"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// A damageCount counts damaged entries that were come by.
type damageCount struct {
	found atomic.Uint64
}

// Damaged returns how often something read an entry that is damaged, since the store
// was opened. Each was an error for its reader.
func (s *Store) Damaged() uint64 { return s.damage.found.Load() }

func (s *Store) noteDamage(err error) {
	s.damage.found.Add(1)
	if s.options.OnDamage != nil {
		s.options.OnDamage(err)
	}
}

// openJournal measures the journal. If it is damaged it is dropped, as one that was
// trimmed: it only repeats what the rows say, and should not keep a database closed.
func (tx *Tx) openJournal() (size journalSize, err error) {
	size, err = tx.measureJournal()
	t, ok := kv.FileOf(tx.kv)
	if !ok || !errors.Is(err, ErrDamaged) {
		return size, err
	}
	var keys [][]byte
	err = t.Scan(kv.Journal, func(k, _ []byte, _ bool) { keys = append(keys, bytes.Clone(k)) })
	if err != nil {
		return journalSize{}, err
	}
	for _, k := range keys {
		if err := t.Delete(kv.Journal, k); err != nil {
			return journalSize{}, err
		}
	}
	return journalSize{}, nil
}
