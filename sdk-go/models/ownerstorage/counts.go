package ownerstorage

import (
	"context"
	"fmt"
	"iter"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

// An Owner is one that has fields, and how many.
type Owner struct {
	Key    string // of the owner
	Fields int64  // stored ones, without those that were removed
}

// Owners yields the owners of a kind that have fields, in the order of their keys. It reads them
// in pages, and none of their fields. Only a server that has the data document of the model lists
// them.
func (s *Storage) Owners(ctx context.Context, logic string) iter.Seq2[Owner, error] {
	return func(yield func(Owner, error) bool) {
		q := s.db.Ref("owners/" + s.at).Child(logic).OrderByKey().LimitToFirst(ownersPage)
		for last := ""; ; {
			page := q
			if last != "" {
				page = q.StartAfter(last)
			}
			snap, err := page.Snapshot(ctx)
			if err != nil {
				yield(Owner{}, err)
				return
			}
			for key, fields := range snap.Children() {
				n, err := dogwood.Decode[int64](fields)
				if err != nil {
					yield(Owner{}, fmt.Errorf("the owner %q: %w", key, err))
					return
				}
				if last = key; !yield(Owner{key, n}, nil) {
					return
				}
			}
			if snap.NumChildren() < ownersPage {
				return
			}
		}
	}
}

// ownersPage is how many owners are read at once.
const ownersPage = 1000

// A Backlog is how much the landing has to do.
type Backlog struct {
	Waiting int64 `json:"waiting"` // fields that have changed since they were landed
	Refused int64 `json:"refused"` // rows that SQL has refused, which Replay tries again
}

// Backlog yields how much the landing has to do, now and after every change, until ctx ends. Only a
// server that has the data document of the model counts it.
func (s *Storage) Backlog(ctx context.Context) iter.Seq2[Backlog, error] {
	return dogwood.Values[Backlog](ctx, s.db.Ref("backlog/"+s.at))
}
