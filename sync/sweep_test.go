package sync

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/kept"
)

// TestTimersGoWithTheirNodes: the timers of nodes that went with a node above them are deleted long
// before they are due, also those that a file has when it is opened.
func TestTimersGoWithTheirNodes(t *testing.T) {
	options := Options{File: filepath.Join(t.TempDir(), "db"), Rules: rules.Open()}
	db := openTest(t, options)
	doc, err := derive.Parse(`{"format": "dogwood-data/1", "define": {
		"gone": {"expire": "/groups/$g/invites/$i", "at": "= data.val()"},
		"later": {"expire": "/groups/$g", "after": "100d"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ChangeData(t.Context(), versions.DataChange{Document: doc}); err != nil {
		t.Fatal(err)
	}
	var list []kept.Timer
	until := func(want int) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			err := db.snapshot(func(tx *store.Tx) (err error) {
				list, err = store.Kept(tx).Timers(1_000_000)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d timers, want %d", len(list), want)
			}
		}
	}
	var invites strings.Builder
	for i := range 700 {
		fmt.Fprintf(&invites, `,"k%04d":9000000000000`, i)
	}
	for i := range 3 {
		set(t, db, fmt.Sprintf("/groups/g%d", i), `{"invites":{`+invites.String()[1:]+`}}`)
	}
	until(3 * 701)
	set(t, db, "/groups/g1", "null")
	until(2 * 701)
	set(t, db, "/groups/g0/invites", `{"k0003": 9000000000001, "other": 9000000000002}`)
	until(701 + 3)
	set(t, db, "/groups", `{"g2": {"invites": {"k0699": 9000000000000}}}`)
	until(2)
	stale := &call{f: func(b *batch) error {
		b.dirty = true
		list[0].Path = tree.MustParsePath("groups/was/invites/there")
		_, err := store.Kept(b.Tx).SetTimer(list[0])
		return err
	}}
	stale.start()
	if err := db.do(t.Context(), stale); err != nil {
		t.Fatal(err)
	}
	until(3)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = openTest(t, options)
	until(2)
	set(t, db, "/groups", "null")
	until(0)
}
