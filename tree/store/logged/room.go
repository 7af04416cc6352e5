package logged

import "context"

// A room is what commits have taken of a store's memory that are still to come. The mu of
// the store guards it.
type room struct {
	coming  int64         // bytes
	changed chan struct{} // closed when there may be more room
}

// tell has those go on that wait.
func (r *room) tell() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// wait returns what is closed when there may be more room.
func (r *room) wait() <-chan struct{} {
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

// Room waits until a commit of about so many bytes can come without those behind it having to
// wait for its being applied, or until applying fails. left must be called when it has come,
// or does not come. The error is that of the context.
//
// Those that are let in are counted until they have come. Otherwise all that wait would come
// at the same moment, and leave no room for small commits.
func (s *Store) Room(ctx context.Context, bytes int64) (left func(), err error) {
	for {
		s.mu.Lock()
		if !s.crowded() {
			s.room.coming += bytes
			s.mu.Unlock()
			return func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.room.coming -= bytes
				s.room.tell()
			}, nil
		}
		changed := s.room.wait()
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// crowded reports whether large commits have to wait: until a quarter of a layer is all that
// has come, or is coming, while one is applied; and a whole one otherwise, which the next
// commit has applied. If that failed they come, and get the error. mu is held.
func (s *Store) crowded() bool {
	ahead, most := s.active.Bytes()+s.room.coming, s.speed.full()
	switch {
	case s.frozen == nil:
		return s.room.coming > 0 && ahead >= most
	case s.applied == nil:
		return false
	}
	return ahead >= most/4
}
