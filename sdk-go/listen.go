package dogwood

import (
	"context"
	"iter"

	"github.com/dogwooddb/dogwood/sdk-go/internal/replica"
	"github.com/dogwooddb/dogwood/tree"
)

// Values yields the value, and the new one after every change, until ctx ends or
// the loop is left. An error is the last thing that it yields: that of ctx, or
// why the server does not let the client listen.
func (q Query) Values(ctx context.Context) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		seen, last := false, tree.Empty
		for s, err := range q.states(ctx) {
			switch {
			case err != nil:
				yield(Snapshot{ref: q.Ref()}, err)
				return
			case !s.Complete, seen && s.Node == last:
				continue
			}
			if seen, last = true, s.Node; !yield(q.snapshot(s.Node), nil) {
				return
			}
		}
	}
}

// Events yields the changes of the children, beginning with one ChildAdded for
// each that is there, until ctx ends or the loop is left. An error is the last
// thing that it yields, as for Values.
func (q Query) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		shown := tree.Empty
		for s, err := range q.states(ctx) {
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, ev := range q.events(shown, s.Node) {
				if !yield(ev, nil) {
					return
				}
			}
			shown = s.Node
		}
	}
}

func (q Query) snapshot(n tree.Node) Snapshot { return Snapshot{q.Ref(), q.query, n} }

// states yields what the view of a query shows. The error, which comes last,
// says what was tried.
func (q Query) states(ctx context.Context) iter.Seq2[replica.State, error] {
	return func(yield func(replica.State, error) bool) {
		if err := q.check(); err != nil {
			yield(replica.State{}, q.failed("listen", err))
			return
		}
		f, _, stop, err := q.client.follow(q.path, q.query)
		if err != nil {
			yield(replica.State{}, q.failed("listen", err))
			return
		}
		defer stop()
		for {
			s, err := q.client.next(ctx, f)
			if err != nil {
				yield(replica.State{}, q.failed("listen", err))
				return
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}
