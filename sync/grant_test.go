package sync

import (
	"fmt"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/tree"
)

// listenAs listens as a user, "" for nobody.
func listenAs(t testing.TB, db *Database, uid, path string) *audience.Listener {
	t.Helper()
	l, err := tryListen(t, db, uid, path)
	if err != nil {
		t.Fatalf("listen to %s as %q: %v", path, uid, err)
	}
	return l
}

func tryListen(t testing.TB, db *Database, uid, path string) (*audience.Listener, error) {
	t.Helper()
	r := Read{Path: tree.MustParsePath(path), Plain: true}
	if uid != "" {
		r.Caller, _, _ = testSignIn(t.Context(), Credential{Token: "user " + uid})
	}
	return db.Listen(t.Context(), r, "", outbox.New(outbox.EventStream, 0, func() {}))
}

// decisions returns how many decisions f takes.
func decisions(db *Database, f func()) uint64 {
	before := db.Stats().Decisions
	f()
	return db.Stats().Decisions - before
}

// TestOneDecisionForEqualCallers: listeners that are equal to the rules are
// decided once, when they come, when the data changes and when the rules do.
func TestOneDecisionForEqualCallers(t *testing.T) {
	many := tier.Pick(10_000, 20_000, 100_000)
	rs := parseRules(t, `{"rules":{".read":"auth != null && root.child('open').val() == true"}}`)
	db := openTest(t, Options{Rules: rs})
	set(t, db, "/open", "true")
	listeners := make([]*audience.Listener, 0, many)
	if n := decisions(db, func() {
		for i := range many {
			listeners = append(listeners, listenAs(t, db, fmt.Sprint("u", i), "/x"))
		}
	}); n != 1 {
		t.Errorf("%d listens took %d decisions, want 1", many, n)
	}
	for name, change := range map[string]func(){
		"a write elsewhere":           func() { set(t, db, "/y", "1") },
		"a write below what was read": func() { set(t, db, "/open/x", "null") },
		"a write above it":            func() { set(t, db, "/", `{"open":true,"x":1}`) },
		"rules":                       func() { _ = db.SetRules(t.Context(), rs) },
	} {
		most := uint64(1)
		if name == "a write elsewhere" {
			most = 0
		}
		if n := decisions(db, change); n > most {
			t.Errorf("%s took %d decisions, want %d", name, n, most)
		}
	}
	if n := db.Stats().Listeners; n != many {
		t.Errorf("%d listeners are left, want %d", n, many)
	}
	slices := uint64(many/audience.ReviewAtOnce + 1) // a write revokes no more than some of them
	if n := decisions(db, func() { set(t, db, "/open", "false"); allReviewed(t, db) }); n > slices {
		t.Errorf("revoking %d listeners took %d decisions, want at most %d", many, n, slices)
	}
	if n := db.Stats().Listeners; n != 0 {
		t.Errorf("%d listeners are left, want none", n)
	}
	checkAudience(t, db)
}

// checkAudience checks that nothing is kept of listeners that are gone, and the windows of
// the others.
func checkAudience(t testing.TB, db *Database) {
	t.Helper()
	db.audience.Lock()
	defer db.audience.Unlock()
	if err := db.store.View(db.audience.Check); err != nil {
		t.Error(err)
	}
}

// TestClasses: callers share a decision as far as the granting rule does not
// tell them apart.
func TestClasses(t *testing.T) {
	for _, c := range []struct {
		rule string
		want uint64 // decisions for two users, each twice, and two who are signed out
	}{
		{"true", 1},
		{"root.child('x').exists() || true", 1},
		{"auth == null || auth != null", 2},
		{"auth == null || auth.uid != 'x'", 3},
		{"now > 0", 6},
	} {
		t.Run(c.rule, func(t *testing.T) {
			db := openTest(t, Options{Rules: parseRules(t, fmt.Sprintf(`{"rules":{".read":%q}}`, c.rule))})
			var open []*audience.Listener
			n := decisions(db, func() {
				for _, uid := range []string{"", "ana", "ben", "ben", "ana", ""} {
					open = append(open, listenAs(t, db, uid, "/x"))
				}
			})
			if n != c.want {
				t.Errorf("%d decisions, want %d", n, c.want)
			}
			for _, l := range open {
				l.Close()
			}
			checkAudience(t, db)
		})
	}
}

// TestClassWidens: a grant that was the same for everybody is decided one by one
// when the reason for it goes away.
func TestClassWidens(t *testing.T) {
	db := openTest(t, Options{Rules: parseRules(t, `{"rules":{".read":"root.child('open').exists() || auth.uid == 'ana'"}}`)})
	set(t, db, "/open", "1")
	ana, ben := listenAs(t, db, "ana", "/x"), listenAs(t, db, "ben", "/x")
	set(t, db, "/open", "null")
	if ana.Ended() || !ben.Ended() {
		t.Errorf("closed: ana %v, ben %v; want only ben", ana.Ended(), ben.Ended())
	}
	if _, err := tryListen(t, db, "ben", "/x"); err == nil {
		t.Error("ben may listen again")
	}
	set(t, db, "/open", "1")
	listenAs(t, db, "ben", "/x").Close()
	ana.Close()
	checkAudience(t, db)
}
