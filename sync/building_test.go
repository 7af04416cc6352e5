package sync

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
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

// built reports whether all definitions are ready.
func built(t *testing.T, db *Database) bool {
	t.Helper()
	list, err := db.DataStatus()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.State != declared.Ready {
			return false
		}
	}
	return true
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

// TestLastUseIsSaved: when an index was last read is in the file within hours, also if nothing is written and
// the process ends without closing it.
func TestLastUseIsSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file, copied := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "db")
		db, err := Open(Options{File: file, Rules: rules.Open(), ScrubEvery: -1, Store: store.Options{NoSync: true}})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		declare(t, db, `"byOwner": {"index": "/groups", "by": ["owner", "at"]}`)
		set(t, db, "/groups", `{"g":{"owner":"ann","at":1}}`)
		time.Sleep(24 * time.Hour)
		read := time.Now().UnixMilli()
		q := tree.Query{OrderBy: `["owner","at"]`, Limit: 1}
		if _, err := db.Get(t.Context(), Read{Caller: Admin, Path: tree.MustParsePath("groups"), Query: q}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(store.UsesEvery + time.Second)
		synctest.Wait()
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(copied, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(copied, store.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		err = s.View(func(tx *store.Tx) error {
			_, err := tx.Indexes().All()
			u := tx.Indexes().Use(store.Index{Pattern: "groups", Order: q.OrderBy})
			if last, since := u.Last.Load(), u.Since.Load(); last != read || since == 0 || since > read-23*3600_000 {
				t.Errorf("last read at %d, known since %d; want %d", last, since, read)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// A buildObserver has each decision of a removal at /tagged wait for a step of building, unless
// building waits for it.
type buildObserver struct{ db *Database }

func (o *buildObserver) Wants(_ *rules.Ruleset, q *rules.Request, _ rules.Decision) bool {
	if q.Op == rules.OpWrite && q.Path.Len() == 2 && q.Writes[0].Node.IsEmpty() {
		for before := o.db.data.Load(); before.Working() && o.db.data.Load() == before && o.db.holds.Load() == 0; {
			time.Sleep(10 * time.Microsecond)
		}
	}
	return false
}

func (*buildObserver) Decided(*rules.Ruleset, *rules.Request, *rules.Trace) string { return "" }

// TestBuildingWaits: a large write that is decided while a definition is built that it touches takes
// effect, however fast building goes on.
func TestBuildingWaits(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	observer := new(buildObserver)
	db := openTest(t, Options{Observer: observer, Rules: parseRules(t, `{"rules":{".read":true,".write":"now > 0"}}`)})
	observer.db = db
	const groups, each = 20, 1000
	for g := range groups {
		set(t, db, fmt.Sprintf("/tagged/g%02d", g), manyValues(each))
	}
	declare(t, db, `"tags": {"map": "/tagged/$g/$i", "to": "/tags/{data.val()}"}`)
	if built(t, db) {
		t.Fatal("the definition is built already")
	}
	if _, err := db.Write(t.Context(), asUser(putOf(t, "/tagged/g19", "null"))); err != nil {
		t.Error(err)
	}
	want(t, db, "/tagged/g19", "null")
	for deadline := time.Now().Add(time.Minute); !built(t, db); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(db.DataStatus())
		}
	}
	if n, err := db.Count(t.Context(), Read{Caller: Admin, Path: tree.MustParsePath("tags")}); n != each || err != nil {
		t.Errorf("%d tags, %v", n, err)
	}
}

// TestBuildingGoesOn: large writes that come all the time do not keep building from its end.
func TestBuildingGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := Open(Options{Rules: rules.Open(), ScrubEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		set(t, db, "/tagged", manyValues(1200))
		db.holds.Add(1)
		defer db.holds.Add(-1)
		declare(t, db, `"copies": {"map": "/tagged/$i", "to": "/copies/$i"}`)
		time.Sleep(2 * holdMost)
		synctest.Wait()
		if built(t, db) {
			t.Error("building has not waited")
		}
		time.Sleep(40 * holdMost)
		synctest.Wait()
		if !built(t, db) {
			list, _ := db.DataStatus()
			t.Errorf("%+v", list)
		}
	})
}

// TestBothSidesWhileBuilding: clients that keep both sides are not refused while definitions are built,
// and in the end all places are right.
func TestBothSidesWhileBuilding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := Open(Options{Rules: rules.Open(), ScrubEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		set(t, db, "/groups/g/members", manyValues(1200))
		db.holds.Add(1)
		declare(t, db, `"inverse": {"map": "/groups/$g/members/$u", "to": "/users/$u/groups/$g"}, "members": {"count": "/groups/$g/members/$u", "to": "/sizes/$g", "where": "data.val() != 'no'"}`)
		if built(t, db) {
			t.Fatal("the definitions are built already")
		}
		for _, text := range []string{
			`{"groups/g/members/zz": true, "users/zz/groups/g": true, "sizes/g": {".sv": {"increment": 1}}}`,
			`{"groups/g/members/zzz": true, "users/zzz/groups/g": true, "sizes/g": {".sv": {"increment": 1}}}`,
			`{"groups/g/members/zz": null, "users/zz/groups/g": null, "sizes/g": {".sv": {"increment": -1}}}`,
		} {
			if _, err := db.Write(t.Context(), asUser(updateOf(t, "/", text))); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		db.holds.Add(-1)
		for i := 0; i < 100 && !built(t, db); i++ {
			time.Sleep(holdMost)
			synctest.Wait()
		}
		want(t, db, "/sizes", `{"g":1201}`)
		want(t, db, "/users/zz", "null")
		want(t, db, "/users/zzz", `{"groups":{"g":true}}`)
		if _, err := db.Write(t.Context(), asUser(updateOf(t, "/", `{"sizes/g": {".sv": {"increment": 1}}}`))); !errors.Is(err, fault.ErrDenied) {
			t.Error(err)
		}
	})
}
