package sync

import (
	"testing"

	"github.com/dogwooddb/dogwood/rules"
)

// A writeWatcher counts decisions about writes, by whether they were made under the lock that
// readers and writers wait for.
type writeWatcher struct {
	db               *Database
	locked, unlocked int
}

func (w *writeWatcher) Wants(_ *rules.Ruleset, q *rules.Request, _ rules.Decision) bool {
	switch {
	case w.db == nil || q.Op != rules.OpWrite:
	case w.db.audience.TryLock():
		w.db.audience.Unlock()
		w.unlocked++
	default:
		w.locked++
	}
	return false
}

func (w *writeWatcher) Decided(*rules.Ruleset, *rules.Request, *rules.Trace) string { return "" }

// TestVisitsOutsideOfTheCommitter: writes and operations for the disconnect are decided outside of
// the committer if the rules are asked about what is stored below them, however short they are.
func TestVisitsOutsideOfTheCommitter(t *testing.T) {
	w := new(writeWatcher)
	db := openTest(t, Options{Observer: w, Rules: parseRules(t, `{"rules":{".write":true,".read":true,"list":{"$k":{"note":{".validate":"newData.isString()"}}}}}`)})
	w.db = db
	set(t, db, "/list", `{"a":{"note":"x"},"b":1}`)
	c := connect(t, db, "c", 0)
	c.send(`{"r":1,"a":"p","b":{"p":"/list/.priority","d":1}}`)
	c.send(`{"r":2,"a":"o","b":{"p":"/list/.priority","d":2}}`)
	c.settle()
	if got := get(t, db, "/list"); got != `{".priority":1,"a":{"note":"x"},"b":1}` {
		t.Errorf("the list is %s", got)
	}
	c.session.Close()
	if got := get(t, db, "/list"); got != `{".priority":2,"a":{"note":"x"},"b":1}` {
		t.Errorf("after the disconnect the list is %s", got)
	}
	if w.locked != 0 || w.unlocked != 3 {
		t.Errorf("%d decisions under the lock, and %d without, want 0 and 3", w.locked, w.unlocked)
	}
	if _, err := db.Write(t.Context(), asUser(putOf(t, "/list/.priority", "3"))); err != nil {
		t.Fatal(err)
	}
	if w.locked != 0 || w.unlocked != 4 {
		t.Errorf("%d decisions under the lock, and %d without, want 0 and 4", w.locked, w.unlocked)
	}
}
