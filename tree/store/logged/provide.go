package logged

import "github.com/dogwooddb/dogwood/tree/store/durable"

// A file grows by more than what commits take in memory: its pages are not full, and to change
// one takes another.
const (
	growth    = 2
	growthMin = 64 << 10
)

// provide makes sure that the file has room for what is not in it yet, and for a commit of so
// many bytes. Otherwise a full disk could have commits in the log that never get into the
// file: the log gets no smaller before they have. The error is one of durable.NoRoom if
// there is no such room, even after the log has given back what it does not need.
//
// Room is provided for twice as much, so that few commits have to ask for more. committing
// is held, or by Aside applying.
func provide(s *Store, size int64) error {
	s.mu.Lock()
	epoch, provided, aside := s.epoch, s.provided, s.aside
	s.mu.Unlock()
	pending := s.unapplied() + size + aside
	if pending <= provided {
		return nil
	}
	ask := func(bytes int64) error {
		err := s.file.Provide(growth*bytes + growthMin)
		if err == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.epoch == epoch {
				s.provided = bytes
			}
		}
		return err
	}
	err := ask(2 * pending)
	if durable.NoRoom(err) {
		err = ask(pending)
	}
	if durable.NoRoom(err) {
		if err := s.log.wal.Shrink(false); err != nil {
			return err
		}
		err = ask(pending)
	}
	return err
}
