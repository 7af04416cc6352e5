package store

import "sync/atomic"

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
