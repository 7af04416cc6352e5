package sync

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/tree"
)

// TestReviewIsSliced: a write that touches what the grants of many listens read has a
// bounded number of them decided in one batch. The listens that are not allowed any more
// get nothing of it and end; the others get what is written meanwhile.
func TestReviewIsSliced(t *testing.T) {
	tier.Unraced(t)
	const many = 3000
	db, w := openWatched(t, `{"rules":{"rooms":{"$r":{".read":"root.child('state').child(auth.uid).val() != $r"}}}}`)
	set(t, db, "/state", `{"ana":"none"}`)
	m := newMirror(connect(t, db, "m", 64<<20))
	defer m.session.Close()
	m.send(`{"r":1,"a":"auth","b":{"cred":"user ana"}}`)
	for i := range many {
		m.follow(fmt.Sprintf(`{"r":2,"a":"q","b":{"p":"/rooms/r%d","h":""}}`, i))
	}
	m.read()
	locked, _ := w.counts(func() {
		set(t, db, "/state/ana", `"r7"`)
		set(t, db, "/rooms/r7", "1")
		set(t, db, "/rooms/r8", "1")
		set(t, db, "/rooms/r9/x", "1")
		m.read() // has those decided that have events
		allReviewed(t, db)
	})
	most := slices.Max(slices.Collect(maps.Values(w.batches)))
	t.Logf("%d decisions, %d in one batch", locked, most)
	if locked != many || most > audience.ReviewAtOnce {
		t.Errorf("%d decisions, %d of them in one batch, want %d and at most %d", locked, most, many, audience.ReviewAtOnce)
	}
	m.read()
	r7 := listenKey{path: tree.MustParsePath("/rooms/r7")}
	if v := m.views[r7]; !v.node.IsEmpty() || !m.session.listens.at(r7).Ended() {
		t.Errorf("the listen of r7 goes on, or was sent %s", v.node.JSON())
	}
	delete(m.views, r7)
	compareViews(t, db, m, "after all were decided")
	if n := db.Stats().Listeners; n != many-1 {
		t.Errorf("%d listeners are left, want %d", n, many-1)
	}
	resyncs := db.Stats().Resyncs
	set(t, db, "/rooms/r10", "1")
	m.read()
	compareViews(t, db, m, "after another write")
	if db.Stats().Resyncs != resyncs || resyncs > 3 {
		t.Errorf("%d views were sent again, and then %d, want 2 and 0", resyncs, db.Stats().Resyncs-resyncs)
	}
}

// TestReviewOfWhatIsUnchanged: a write above what rules read, which leaves that as it was,
// has nothing decided; nor has one below a place of which they only asked whether anything
// is there.
func TestReviewOfWhatIsUnchanged(t *testing.T) {
	db, w := openWatched(t, `{"rules":{"rooms":{"$r":{".read":"root.child('members').child($r).child(auth.uid).val() == true && data.exists()"}}}}`)
	set(t, db, "/", `{"members":{"r":{"ana":true}},"rooms":{"r":1}}`)
	l := listenAs(t, db, "ana", "/rooms/r")
	for _, c := range []struct {
		path, value string
		want        int
		open        bool
	}{
		{"/members/r/ben", "true", 0, true},
		{"/members", `{"r":{"ana":true,"cleo":true}}`, 0, true},
		{"/", `{"members":{"r":{"ana":true},"q":1},"rooms":{"r":2}}`, 0, true},
		{"/rooms/r/a", "1", 0, true},
		{"/rooms/r/b", "2", 0, true},
		{"/rooms/r/a", "null", 0, true},
		{"/members/r", `{"ana":{".value":true,".priority":1}}`, 1, true},
		{"/rooms/r/b", "null", 1, false},
	} {
		locked, _ := w.counts(func() { set(t, db, c.path, c.value) })
		if locked != c.want || l.Ended() == c.open {
			t.Errorf("%s: %d decisions, want %d; open %v, want %v", c.value, locked, c.want, !l.Ended(), c.open)
		}
	}
}

// TestReviewSpends: of few grants, too, only those are decided with a write for which the rules do
// not look at much text. The others are decided between the batches that follow.
func TestReviewSpends(t *testing.T) {
	tier.Unraced(t)
	const many = 40
	db, w := openWatched(t, `{"rules":{"rooms":{"$r":{".read":"root.child('gate').val() != $r && root.child('big').val().contains('y')"}}}}`)
	set(t, db, "/big", `"`+strings.Repeat("x", 8<<20)+`y"`)
	set(t, db, "/gate", `"none"`)
	m := newMirror(connect(t, db, "m", 64<<20))
	defer m.session.Close()
	for i := range many {
		m.follow(fmt.Sprintf(`{"r":2,"a":"q","b":{"p":"/rooms/r%d","h":""}}`, i))
	}
	m.read()
	w.counts(func() {
		set(t, db, "/gate", `"r7"`)
		set(t, db, "/rooms/r7", "1")
		set(t, db, "/rooms/r8", "1")
		m.read()
		allReviewed(t, db)
	})
	if most := slices.Max(slices.Collect(maps.Values(w.batches))); most > many/4 {
		t.Errorf("%d of %d decisions in one batch", most, many)
	}
	m.read()
	r7 := listenKey{path: tree.MustParsePath("/rooms/r7")}
	if v := m.views[r7]; !v.node.IsEmpty() || !m.session.listens.at(r7).Ended() {
		t.Errorf("the listen of r7 goes on, or was sent %s", v.node.JSON())
	}
	delete(m.views, r7)
	compareViews(t, db, m, "after all were decided")
}

// TestReviewBelow: a write above what the rules of very many listens read, of each its own, ends those
// that lose their permission by it, before they get any of it. The others follow.
func TestReviewBelow(t *testing.T) {
	tier.Unraced(t)
	const many = 3000
	db, w := openWatched(t, `{"rules":{"talk":{"$m":{".read":"data.child('hidden').val() !== true"}}}}`)
	m := newMirror(connect(t, db, "m", 64<<20))
	defer m.session.Close()
	for i := range many {
		m.follow(fmt.Sprintf(`{"r":2,"a":"q","b":{"p":"/talk/m%d","h":""}}`, i))
	}
	m.read()
	locked, _ := w.counts(func() {
		set(t, db, "/talk", `{"m7":{"hidden":true,"x":1},"m8":{"x":1}}`)
		set(t, db, "/talk/m7/x", "2")
		set(t, db, "/talk/m8/x", "2")
		m.read()
		allReviewed(t, db)
	})
	most := slices.Max(slices.Collect(maps.Values(w.batches)))
	if t.Logf("%d decisions, %d in one batch", locked, most); locked < many || locked > many+3 || most > audience.ReviewAtOnce {
		t.Errorf("%d decisions, %d of them in one batch, want %d and at most %d", locked, most, many, audience.ReviewAtOnce)
	}
	m.read()
	m7 := listenKey{path: tree.MustParsePath("/talk/m7")}
	if v := m.views[m7]; !v.node.IsEmpty() || !m.session.listens.at(m7).Ended() {
		t.Errorf("the listen of m7 goes on, or was sent %s", v.node.JSON())
	}
	delete(m.views, m7)
	compareViews(t, db, m, "after all were decided")
	if n := db.Stats().Listeners; n != many-1 {
		t.Errorf("%d listeners are left, want %d", n, many-1)
	}
	resyncs := db.Stats().Resyncs
	set(t, db, "/talk/m9/x", "1")
	m.read()
	compareViews(t, db, m, "after another write")
	if n := db.Stats().Resyncs - resyncs; n != 0 {
		t.Errorf("after another write %d views were sent again, want 0", n)
	}
}
