package org

import (
	"context"
	"errors"
	"iter"
	"sync"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

// A Change is what became of one of a user's groups.
type Change struct {
	Group string // its key
	Value *Group // nil: the user is no longer in it
}

// WatchGroups yields the groups that this user is in and then each change in one
// of them, until ctx ends. It listens to the index of the user and to each group
// in it. So a user who is removed from a group sees the removal and nothing after it.
func (o *Org) WatchGroups(ctx context.Context) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel()
		w := &watch{org: o, changes: make(chan Change)}
		failed := make(chan error, 1)
		all.Go(func() { failed <- w.index(ctx, &all) })
		for {
			select {
			case c := <-w.changes:
				if !yield(c, nil) {
					return
				}
			case err := <-failed:
				yield(Change{}, err)
				return
			}
		}
	}
}

// A watch follows groups as they come and go.
type watch struct {
	org     *Org
	changes chan Change
}

// index follows the user's index, with one goroutine for each group in it.
func (w *watch) index(ctx context.Context, all *sync.WaitGroup) error {
	stops := make(map[string]context.CancelFunc)
	defer func() {
		for _, stop := range stops {
			stop()
		}
	}()
	for ev, err := range w.org.user().Child("groups").Events(ctx) {
		switch {
		case err != nil:
			return err
		case ev.Type == dogwood.ChildAdded:
			ctx, stop := context.WithCancel(ctx)
			stops[ev.Key] = stop
			all.Go(func() { w.group(ctx, ev.Key) })
		case ev.Type == dogwood.ChildRemoved:
			stops[ev.Key]()
			delete(stops, ev.Key)
			w.tell(ctx, Change{Group: ev.Key})
		}
	}
	return nil
}

// group follows one group until the user is no longer in it.
func (w *watch) group(ctx context.Context, key string) {
	for g, err := range dogwood.Values[Group](ctx, w.org.group(key)) {
		switch {
		case errors.Is(err, dogwood.ErrPermissionDenied): // the index says so, too
			return
		case err != nil || g.Owner == "":
			continue
		}
		g.Key = key
		w.tell(ctx, Change{key, &g})
	}
}

func (w *watch) tell(ctx context.Context, c Change) {
	select {
	case w.changes <- c:
	case <-ctx.Done():
	}
}
