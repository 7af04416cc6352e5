package org

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
)

// manyGroups opens the model with a user in many groups.
func manyGroups(t *testing.T) (db modeltest.DB, groups map[string]any) {
	db = modeltest.Open("org")
	t.Cleanup(db.Close)
	groups = make(map[string]any)
	for i := range 20 {
		groups[fmt.Sprint("users/solo/groups/g", i)] = true
	}
	modeltest.Check(db.Update(t.Context(), groups))
	return db, groups
}

// A value that arrives as the user is removed comes before the removal or not at all.
func TestNothingAfterRemoval(t *testing.T) {
	db, groups := manyGroups(t)
	var begun, ended, writer sync.WaitGroup
	begun.Add(len(groups))
	ended.Add(len(groups))
	late := func(ctx context.Context, key string) iter.Seq2[Group, error] {
		return func(yield func(Group, error) bool) {
			if key != "end" {
				begun.Done()
				defer ended.Done()
				<-ctx.Done()
				for range 100 {
					runtime.Gosched() // time for a removal that does not wait
				}
			}
			yield(Group{Owner: "rin"}, nil)
		}
	}
	defer writer.Wait()
	writer.Go(func() {
		begun.Wait()
		modeltest.Check(db.Ref("users/solo/groups").Remove(context.Background()))
		ended.Wait()
		modeltest.Check(db.Ref("users/solo/groups/end").Set(context.Background(), true))
	})
	removed := make(map[string]bool)
	watchGroups(t.Context(), New(db.Client, "solo"), late, func(c Change, err error) bool {
		modeltest.Check(err)
		if removed[c.Group] {
			t.Errorf("%s comes after its removal", c.Group)
		}
		removed[c.Group] = c.Value == nil
		return c.Group != "end"
	})
	if len(removed) != len(groups)+1 {
		t.Errorf("changes of %d groups, want %d", len(removed), len(groups)+1)
	}
}

// A group that cannot be followed is an error and no gap.
func TestWatchFails(t *testing.T) {
	db, _ := manyGroups(t)
	for err, want := range map[error]error{
		dogwood.ErrTooBig:           dogwood.ErrTooBig,
		dogwood.ErrPermissionDenied: context.Canceled, // the index says whether the user is in the group
	} {
		ctx, cancel := context.WithCancel(t.Context())
		failing := func(_ context.Context, key string) iter.Seq2[Group, error] {
			return func(yield func(Group, error) bool) {
				if key == "g7" {
					yield(Group{}, err)
					return
				}
				yield(Group{Owner: "rin"}, nil)
			}
		}
		var got error
		n := 0
		watchGroups(ctx, New(db.Client, "solo"), failing, func(c Change, err error) bool {
			if got = err; c.Value != nil {
				n++
			}
			if n == 19 && want == context.Canceled {
				cancel()
			}
			return true
		})
		cancel()
		if !errors.Is(got, want) {
			t.Errorf("%v: the watch ends with %v, want %v", err, got, want)
		}
	}
}
