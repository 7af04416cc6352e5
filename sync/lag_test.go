package sync

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/tree"
)

// manyChildren returns an object of n children that are numbered in the child "n".
func manyChildren(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%05d":{"n":%d,"pad":"%s"}`, i, i, strings.Repeat("x", 20))
	}
	return "{" + b.String()[1:] + "}"
}

// TestWritesReadFewRowsForListeners: however many listeners see a write, and whatever their
// views take, the committer reads a bounded number of rows for them. They are sent what
// there is all the same.
func TestWritesReadFewRowsForListeners(t *testing.T) {
	tier.Unraced(t)
	tier.Need(t, tier.Full)
	const children = 6000
	for _, c := range []struct {
		name    string
		listens int
		listen  func(i int) string
		write   func(t *testing.T, db *Database)
		most    int
	}{
		{
			"a child leaves windows without an index",
			60,
			func(i int) string {
				return fmt.Sprintf(`{"p":"/l","q":{"i":"n","ep":%d,"l":20,"vf":"r"},"t":%d,"h":""}`, children+i, i+1)
			},
			func(t *testing.T, db *Database) { set(t, db, "/l/k05990", "null") },
			500,
		},
		{
			"a child leaves long windows",
			60,
			func(i int) string {
				return fmt.Sprintf(`{"p":"/l","q":{"i":".key","l":%d,"vf":"r"},"t":%d,"h":""}`, 500+i, i+1)
			},
			func(t *testing.T, db *Database) { set(t, db, "/l/k05990", "null") },
			audience.MaxPublishRows + 2000,
		},
		{
			"all are replaced",
			60,
			func(i int) string {
				return fmt.Sprintf(`{"p":"/l","q":{"i":"n","sp":%d},"t":%d,"h":""}`, children-10-i, i+1)
			},
			func(t *testing.T, db *Database) { set(t, db, "/l", manyChildren(children-5)) },
			audience.MaxPublishRows + 500,
		},
		{
			"a write far above",
			3000,
			func(i int) string { return fmt.Sprintf(`{"p":"/l/k%05d","h":""}`, i) },
			func(t *testing.T, db *Database) { set(t, db, "/", `{"l":`+manyChildren(children-1000)+`}`) },
			audience.MaxPublishRows + 500,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := openTest(t, Options{})
			set(t, db, "/l", manyChildren(children))
			var mirrors []*mirror
			for i := range c.listens {
				if i%20 == 0 && i < 60 {
					mirrors = append(mirrors, newMirror(connect(t, db, fmt.Sprint("m", i), 0)))
				}
				m := mirrors[min(i/20, len(mirrors)-1)]
				m.follow(`{"r":1,"a":"q","b":` + c.listen(i) + `}`)
				m.read()
			}
			rows := rowsReadBy(db, func() { c.write(t, db) })
			t.Logf("%d rows", rows)
			if rows > c.most {
				t.Errorf("the write read %d rows, want at most %d", rows, c.most)
			}
			for range 2 {
				for _, m := range mirrors {
					m.read()
					compareViews(t, db, m, "after the write")
				}
				set(t, db, "/l/k05000/n", "5.5") // events go on
			}
			for _, m := range mirrors {
				m.session.Close()
			}
		})
	}
}

// TestLagIsUndone: a batch that is not committed leaves the windows as they were.
func TestLagIsUndone(t *testing.T) {
	log := new(faultyLog)
	db := openTest(t, Options{Change: log})
	set(t, db, "/l", manyChildren(5000))
	m := newMirror(connect(t, db, "m", 0))
	defer m.session.Close()
	m.follow(`{"r":1,"a":"q","b":{"p":"/l","q":{"i":"n","l":2,"vf":"r"},"t":1,"h":""}}`)
	m.read()
	log.set(true)
	if _, err := db.Write(t.Context(), putOf(t, "/l/k04999", "null")); err == nil {
		t.Fatal("a write is committed that cannot be")
	}
	log.set(false)
	if window, live := m.session.listens.at(listenKey{tree.MustParsePath("/l"), 1}).Window(); !live || len(window) != 2 {
		t.Errorf("the group is live: %v, and shows %v", live, window)
	}
	set(t, db, "/l/k04998", "null")
	m.read()
	compareViews(t, db, m, "afterwards")
}
