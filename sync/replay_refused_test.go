package sync

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/entry"
)

const sharedTags = `"tag": {"map": "/x/$k", "to": "/tag/{data.val()}"}`

// TestReplayRows: the log has rows of a definition, and no states, since it was built by an earlier version and
// written to by a later one. The replica gives none of the numbers of such rows again, neither to the
// definition that is built again nor to another one.
func TestReplayRows(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	h := newHistory(t)
	set(t, h.db, "/x", numbered(1500, func(i int) string { return fmt.Sprintf(`"t%d"`, i%7) }))
	deploy(t, h.db, sharedTags)
	eventually(t, h.db, isReady(t, h.db))
	upgraded := revisionOf(t, h.db)
	set(t, h.db, "/x/last", `"t3"`)
	h.close()
	for name, deploys := range map[string]bool{"built again": false, "another document": true} {
		t.Run(name, func(t *testing.T) {
			file, to := h.copied()
			rows := 0
			h.replayAs(to, func(op entry.Operation, revision uint64, _ int) entry.Operation {
				_, isRow := op.(*entry.Kept)
				if isBeside(op) && (revision <= upgraded || !isRow) {
					return nil
				}
				if isRow {
					rows++
				}
				return op
			})
			if err := to.Close(); err != nil || rows == 0 {
				t.Fatalf("%d rows, %v", rows, err)
			}
			db := h.promote(file)
			if deploys {
				deploy(t, db, strings.Replace(sharedTags, `"tag"`, `"label"`, 1)+`, "other": {"map": "/y/$k", "to": "/z/{data.val()}"}`)
			}
			eventually(t, db, isReady(t, db))
			h.checkDeclared(db)
			set(t, db, "/x", "null")
			want(t, db, "/tag", "null")
			eventually(t, db, func() bool { return !db.data.Load().Working() })
			err := db.snapshot(func(tx *store.Tx) error {
				ids, err := store.Kept(tx).IDs()
				if len(ids) > 0 {
					t.Errorf("there are rows of %v", ids)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestReplayRefused: a replica follows a later version, whose document it refuses. It keeps states, rows and
// indexes, so in that later version the file goes on as the original would.
func TestReplayRefused(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	h := newHistory(t)
	set(t, h.db, "/x", numbered(1500, func(i int) string { return fmt.Sprintf(`"t%d"`, i%7) }))
	const first = sharedTags + `, "n": {"count": "/x/$k", "to": "/n"}, "off": {"map": "/p/$k", "to": "/q/$k"}, "order": {"index": "/x", "by": ["a", "b"]}`
	deploy(t, h.db, first)
	eventually(t, h.db, isReady(t, h.db))
	second := strings.Replace(first, `"/q/$k"`, `"/q/$k", "value": 1`, 1) + `, "m": {"map": "/x/$k", "to": "/m/{data.val()}"}`
	deploy(t, h.db, second)
	eventually(t, h.db, isReady(t, h.db))
	if err := h.db.ControlData(t.Context(), "off", declared.Pause); err != nil {
		t.Fatal(err)
	}
	set(t, h.db, "/x/last", `"t3"`)
	states, text := statesOf(t, h.db), h.db.Data().Source()
	h.close()

	file, to := h.copied()
	h.replayAs(to, func(op entry.Operation, _ uint64, _ int) entry.Operation {
		if d, ok := op.(*entry.Data); ok && d.Source == text {
			return &entry.Data{Version: d.Version, Source: strings.Replace(text, `"count"`, `"tally"`, 1)}
		}
		return op
	})
	refusedReplica(t, to, len(states))
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	withStored(t, file, text, versions.PutData) // as it is in the later version
	db := h.promote(file)
	for i, s := range statesOf(t, db) {
		if s.Kind != derive.Index && !reflect.DeepEqual(s, states[i]) { // a replica builds indexes by itself
			t.Errorf("state %+v, want %+v", s, states[i])
		}
	}
	h.checkDeclared(db)
	set(t, db, "/x", "null")
	want(t, db, "/tag", "null")
	want(t, db, "/m", "null")
	eventually(t, db, func() bool { return statesOf(t, db)[3].State == declared.Ready })
}

// refusedReplica checks that a store has the index, and the states of that many definitions that are refused.
func refusedReplica(t *testing.T, s *store.Store, definitions int) {
	t.Helper()
	order, err := tree.ListOrder([]string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	err = s.View(func(tx *store.Tx) error {
		all, err := tx.Indexes().All()
		if err != nil {
			return err
		}
		if !slices.Contains(all, store.Index{Pattern: "x", Order: order}) {
			t.Errorf("the indexes are %v", all)
		}
		data, err := declared.Load(tx)
		if err != nil {
			return err
		}
		list, err := data.Status(tx, time.Now())
		if len(list) != definitions || list[0].State != declared.Refused {
			t.Errorf("the replica has %+v", list)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestReplayOlderRefused: the original deploys the document again that it has refused. A replica that has no rows of a
// definition does not take it for one that is built.
func TestReplayOlderRefused(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	h := newHistory(t)
	set(t, h.db, "/x", numbered(1500, func(i int) string { return fmt.Sprintf(`"t%d"`, i%7) }))
	const document = sharedTags + `, "gone": {"expire": "/x/$k", "after": "1h"}`
	deploy(t, h.db, document)
	eventually(t, h.db, isReady(t, h.db))
	upgraded := revisionOf(t, h.db)
	h.close()
	withStored(t, filepath.Join(h.dir, "db"), laterDocument, versions.PutData)
	h.open()
	if h.db.Data().Refused() == nil {
		t.Error("the document is accepted")
	}
	deploy(t, h.db, document)
	eventually(t, h.db, isReady(t, h.db))
	set(t, h.db, "/x/last", `"t3"`)
	h.close()
	file, to := h.copied()
	h.replayAs(to, func(op entry.Operation, revision uint64, _ int) entry.Operation {
		if isBeside(op) && revision <= upgraded {
			return nil
		}
		return op
	})
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	db := h.promote(file)
	eventually(t, db, isReady(t, db))
	h.checkDeclared(db)
	h.now.Add(2 * time.Hour.Milliseconds())
	eventually(t, db, func() bool { return get(t, db, "/x") == "null" })
	want(t, db, "/tag", "null")
}
