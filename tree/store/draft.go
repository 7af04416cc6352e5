package store

import "github.com/dogwooddb/dogwood/tree/store/kv"

// Draft begins a transaction that can write and is never committed. It is a snapshot,
// as that of a read transaction. Its writes stay in memory, in front of the snapshot,
// so a draft holds up no other transaction, and does not wait for the write transaction.
// Its memory grows with the rows that it writes. Interrupt is asked during writes, too.
//
// It is for writes that are explained and not made: the rules see them as if they were
// made. A write transaction that is rolled back would do the same, but all writes of the
// database would wait for it.
func (s *Store) Draft() (*Tx, error) {
	if s.options.ReadOnly {
		return nil, ErrReadOnly
	}
	base, err := s.Begin(false)
	if err != nil {
		return nil, err
	}
	tx := &Tx{store: s, state: base.state, cache: newWriteCache(), snapshot: base}
	tx.kv = kv.NewDraft(base.kv, func() error {
		if tx.Interrupt == nil {
			return nil
		}
		return tx.Interrupt()
	})
	return tx, nil
}
