package social

import (
	"context"
	"iter"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

// An Event is a status that was posted or deleted.
type Event struct {
	Status  Status // as it was posted, also if it is deleted
	Deleted bool   // its author has deleted it
}

// Stream yields the statuses that match a filter, from now on until ctx ends, and
// deletions of those that it has yielded. The token must be one that may read the
// firehose.
func (s *Social) Stream(ctx context.Context, f Filter) iter.Seq2[Event, error] {
	now := s.db.ServerTime().UnixMilli()
	return func(yield func(Event, error) bool) {
		for ev, err := range s.db.Ref("statuses").OrderByChild("posted").StartAt(now).Events(ctx) {
			e := Event{Deleted: ev.Type == dogwood.ChildRemoved}
			if err == nil {
				err = ev.Value.Decode(&e.Status)
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			if ev.Type != dogwood.ChildAdded && !e.Deleted || !f.Match(e.Status) {
				continue
			}
			if e.Status.Key = ev.Key; !yield(e, nil) {
				return
			}
		}
	}
}
