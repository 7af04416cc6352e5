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
// An error is the last thing that it yields: that of ctx, or why the index or a group
// in it cannot be followed.
func (o *Org) WatchGroups(ctx context.Context) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) { watchGroups(ctx, o, o.follow, yield) }
}

// follow yields a group after each change.
func (o *Org) follow(ctx context.Context, group string) iter.Seq2[Group, error] {
	return dogwood.Values[Group](ctx, o.group(group))
}

func watchGroups(ctx context.Context, o *Org, follow func(context.Context, string) iter.Seq2[Group, error], yield func(Change, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	w := &watch{org: o, follow: follow, changes: make(chan Change), failed: make(chan error)}
	ended := make(chan error, 1)
	all.Go(func() { ended <- w.index(ctx) })
	for {
		select {
		case c := <-w.changes:
			if !yield(c, nil) {
				return
			}
		case err := <-w.failed:
			yield(Change{}, err)
			return
		case err := <-ended:
			yield(Change{}, err)
			return
		}
	}
}

// A watch follows groups as they come and go.
type watch struct {
	org     *Org
	follow  func(context.Context, string) iter.Seq2[Group, error] // yields a group, and waits for changes
	changes chan Change
	failed  chan error // of a group
}

// index follows the user's index, with one goroutine for each group in it.
func (w *watch) index(ctx context.Context) error {
	stops := make(map[string]func())
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
			stops[ev.Key] = w.start(ctx, ev.Key)
		case ev.Type == dogwood.ChildRemoved:
			stops[ev.Key]()
			delete(stops, ev.Key)
			w.tell(ctx, Change{Group: ev.Key})
		}
	}
	return nil
}

// start follows a group until stop is called. Nothing is told of the group when stop has
// returned.
func (w *watch) start(ctx context.Context, key string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.group(ctx, key)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// group follows one group until the user is no longer in it.
func (w *watch) group(ctx context.Context, key string) {
	for g, err := range w.follow(ctx, key) {
		switch {
		case errors.Is(err, dogwood.ErrPermissionDenied), err != nil && ctx.Err() != nil: // the index says so, too
			return
		case err != nil:
			select {
			case w.failed <- err:
			case <-ctx.Done():
			}
			return
		case g.Owner == "":
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
