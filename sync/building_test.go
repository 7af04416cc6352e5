package sync

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/versions"
)

// declare puts definitions in force.
func declare(t *testing.T, db *Database, define string) {
	t.Helper()
	doc, err := derive.Parse(`{"format": "dogwood-data/1", "define": {` + define + `}}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ChangeData(t.Context(), versions.DataChange{Document: doc}); err != nil {
		t.Fatal(err)
	}
}

// TestExpiryIsTriedAgain: nodes that were due when a commit failed go when commits work again, also if
// others are due much later.
func TestExpiryIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(faultyLog)
		db, err := Open(Options{Rules: rules.Open(), ScrubEvery: -1, Change: log})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		declare(t, db, `"gone": {"expire": "/sessions/$s", "at": "= data.val()"}`)
		now := time.Now().UnixMilli()
		set(t, db, "/sessions", fmt.Sprintf(`{"soon":%d,"then":%d}`, now+5_000, now+1_000_000_000))
		log.set(true)
		time.Sleep(7 * time.Second)
		log.set(false)
		if failed := db.Stats().Failed; failed == 0 {
			t.Error("no commit has failed")
		}
		time.Sleep(2 * maxUntilDue)
		synctest.Wait()
		want(t, db, "/sessions", fmt.Sprintf(`{"then":%d}`, now+1_000_000_000))
	})
}
