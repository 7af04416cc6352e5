package sync

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
)

// A lockWatcher observes decisions about reads and counts those that are made while the
// database's mu is held. Tests with one use the database from one goroutine.
type lockWatcher struct {
	db       *Database
	locked   int
	unlocked int
	batches  map[uint64]int // decisions under the lock of each batch
	between  func()         // called within each decision that is made without the lock
}

func (w *lockWatcher) Wants(_ *rules.Ruleset, q *rules.Request, _ rules.Decision) bool {
	switch {
	case w.db == nil || q.Op != rules.OpRead:
	case !w.db.mu.TryLock():
		w.locked++
		if w.batches == nil {
			w.batches = make(map[uint64]int)
		}
		w.batches[w.db.stats.batches.Load()]++
	default:
		w.db.mu.Unlock()
		w.unlocked++
		if w.between != nil {
			w.between()
		}
	}
	return false
}

func (w *lockWatcher) Decided(*rules.Ruleset, *rules.Request, *rules.Trace) string { return "" }

// counts returns how many decisions f took with the lock and without.
func (w *lockWatcher) counts(f func()) (locked, unlocked int) {
	w.locked, w.unlocked, w.batches = 0, 0, nil
	f()
	return w.locked, w.unlocked
}

func openWatched(t testing.TB, ruleset string) (*Database, *lockWatcher) {
	t.Helper()
	w := new(lockWatcher)
	w.db = openTest(t, Options{Rules: parseRules(t, ruleset), Observer: w})
	return w.db, w
}

const memberRules = `{"rules":{"rooms":{"$r":{".read":"root.child('members').child($r).child(auth.uid).val() == true"}}}}`

// TestListensAreDecidedWithoutTheLock: no rule is evaluated under the database's mu when
// clients listen, are refused, and sign in and out with many listens.
func TestListensAreDecidedWithoutTheLock(t *testing.T) {
	const many = 300
	db, w := openWatched(t, memberRules)
	for i := range many {
		set(t, db, fmt.Sprintf("/members/r%d", i), `{"ana":true,"ben":true}`)
	}
	c := connect(t, db, "c", 0)
	defer c.session.Close()
	c.send(`{"r":1,"a":"auth","b":{"cred":"user ana"}}`)
	for _, step := range []struct {
		name     string
		do       func()
		unlocked int    // at most
		answers  string // of which there are so many
		count    int
	}{
		{"listens", func() {
			for i := range many {
				c.send(fmt.Sprintf(`{"r":2,"a":"q","b":{"p":"/rooms/r%d","h":""}}`, i))
			}
		}, many, `"s":"ok"`, many + 1},
		{"the same listens again", func() {
			for i := range many {
				c.send(fmt.Sprintf(`{"r":2,"a":"q","b":{"p":"/rooms/r%d","t":7,"h":""}}`, i))
			}
		}, 0, `"s":"ok"`, many},
		{"denied listens", func() {
			for range many {
				c.send(`{"r":3,"a":"q","b":{"p":"/rooms/none","h":""}}`)
			}
		}, many, `"s":"permission_denied"`, many},
		{"another user", func() { c.send(`{"r":4,"a":"auth","b":{"cred":"user ben"}}`) }, many, `"a":"c"`, 0},
		{"nobody", func() { c.send(`{"r":5,"a":"unauth","b":{}}`) }, 2 * many, `"a":"c"`, 2 * many},
	} {
		var frames []string
		locked, unlocked := w.counts(func() { step.do(); frames = c.frames() })
		if locked != 0 || unlocked > step.unlocked {
			t.Errorf("%s: %d decisions under the lock and %d without, want 0 and at most %d", step.name, locked, unlocked, step.unlocked)
		}
		if n := strings.Count(strings.Join(frames, "\n"), step.answers); n != step.count {
			t.Errorf("%s: %d times %s, want %d", step.name, n, step.answers, step.count)
		}
		if step.name == "nobody" && frames[len(frames)-1] != `{"r":5,"b":{"s":"ok","d":""}}` {
			t.Errorf("the answer to unauth is followed by %s", frames[len(frames)-1])
		}
	}
	if n := db.Stats().Listeners; n != 0 {
		t.Errorf("%d listeners are left", n)
	}
	grantsAreEmpty(t, db)
}

// TestDecisionIsCurrent: what is written while a listen is decided counts for it, however
// often that happens.
func TestDecisionIsCurrent(t *testing.T) {
	for _, c := range []struct {
		name    string
		writes  []string // one in each decision that is made without the lock: of the permission
		allowed bool
		locked  int
	}{
		{"nothing", nil, true, 0},
		{"revoked", []string{"false"}, false, 0},
		{"revoked and granted", []string{"false", "true"}, false, 0}, // it was refused in between
		{"the same again", []string{`{"x":1}`, "true"}, false, 0},
		{"touched all the time", slices.Repeat([]string{"true"}, 10), true, 1},
	} {
		for _, by := range []string{"listen", "auth"} {
			t.Run(c.name+"/"+by, func(t *testing.T) { decideMeanwhile(t, by, c.writes, c.allowed, c.locked) })
		}
	}
}

func decideMeanwhile(t *testing.T, by string, writes []string, allowed bool, locked int) {
	db, w := openWatched(t, memberRules)
	set(t, db, "/members/r", `{"ana":true,"ben":true}`)
	c := connect(t, db, "c", 0)
	defer c.session.Close()
	listen := `{"r":1,"a":"q","b":{"p":"/rooms/r","h":""}}`
	user := "ana"
	c.send(`{"r":0,"a":"auth","b":{"cred":"user ana"}}`)
	if by == "auth" {
		c.send(listen)
		user = "ben"
	}
	n := 0
	w.between = func() {
		if n++; n <= len(writes) {
			value := writes[n-1]
			if value == "true" { // what is touched is as it was in the end
				set(t, db, "/members/r/"+user, "false")
			}
			set(t, db, "/members/r/"+user, value)
		}
	}
	got, _ := w.counts(func() {
		if by == "auth" {
			c.send(`{"r":2,"a":"auth","b":{"cred":"user ben"}}`)
		} else {
			c.send(listen)
		}
	})
	w.between = nil
	if got > locked {
		t.Errorf("%d decisions under the lock, want %d", got, locked)
	}
	if is := db.Stats().Listeners == 1; is != allowed {
		t.Errorf("the listen goes on: %v, want %v", is, allowed)
	}
	c.frames()
	set(t, db, "/rooms/r", "1")
	if told := len(c.frames()) > 0; told != allowed {
		t.Errorf("the client is told what is written: %v, want %v", told, allowed)
	}
}

// TestAdmittedUnderNewRules: a listen that the committer decides in the batch that changes
// the rules is decided under the new ones.
func TestAdmittedUnderNewRules(t *testing.T) {
	db := openTest(t, Options{})
	l := &Listener{db: db, out: outbox.New(outbox.Realtime, 0, func() {}), read: Read{Path: tree.MustParsePath("/x"), Plain: true}}
	var denied error
	admit := &admitTask{open: []*candidate{{listener: l, read: l.read}}, settled: func(l *Listener, g *grant, err error) {
		if denied = err; err == nil {
			denied = db.enroll(l, g)
		}
	}}
	change := &rulesTask{change: versions.Change{Rules: rules.Locked()}}
	admit.start()
	change.start()
	g := closeGate(t, db)
	for _, task := range []task{admit, change} {
		if err := db.add(t.Context(), task); err != nil {
			t.Fatal(err)
		}
	}
	close(g.open)
	if err := errors.Join(admit.wait(t.Context()), change.wait(t.Context())); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(denied, fault.ErrDenied) || db.Stats().Listeners != 0 {
		t.Errorf("the listen is answered %v, and %d go on, want %v", denied, db.Stats().Listeners, fault.ErrDenied)
	}
}

// TestSignInDuringWrites: however sign-ins, listens and revocations meet, the listens that
// are left in the end are those that the rules allow, and they miss nothing.
func TestSignInDuringWrites(t *testing.T) {
	db := openTest(t, Options{Rules: parseRules(t, memberRules)})
	const rooms, clients, rounds = 100, 4, 30
	var all sync.WaitGroup
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			set(t, db, fmt.Sprintf("/members/r%d/%s", i%rooms, []string{"ana", "ben"}[i/rooms%2]), fmt.Sprint(i%3 > 0))
		}
	})
	list := make([]*client, clients)
	for i := range list {
		list[i] = connect(t, db, fmt.Sprint("c", i), 0)
		all.Go(func() {
			for round := range rounds {
				list[i].send(fmt.Sprintf(`{"r":1,"a":"auth","b":{"cred":"user %s"}}`, []string{"ana", "ben"}[round%2]))
				for r := range rooms {
					list[i].send(fmt.Sprintf(`{"r":2,"a":"q","b":{"p":"/rooms/r%d","h":""}}`, r))
				}
				list[i].frames()
			}
			list[i].send(`{"r":3,"a":"auth","b":{"cred":"user ana"}}`)
		})
	}
	all.Wait()
	close(stop)
	writing.Wait()
	for _, c := range list {
		for key, l := range c.session.listens {
			room := strings.TrimPrefix(key.path.Clean(), "rooms/")
			may := get(t, db, "/members/"+room+"/ana") == "true"
			if !l.shown.Ended() && (!may || l.read.Caller.Auth.UID != "ana") {
				t.Errorf("%s follows %s as %s, allowed: %v", c.name, key.path, l.read.Caller.Auth.UID, may)
			}
		}
		c.session.Close()
	}
	grantsAreEmpty(t, db)
}

// TestWindowIsReadWithoutTheLock: a window that takes a scan is read on a snapshot. What
// is written meanwhile costs a few rows under the lock, or another scan without it.
func TestWindowIsReadWithoutTheLock(t *testing.T) {
	const children = 3000
	db := openTest(t, Options{})
	var b strings.Builder
	for i := range children {
		fmt.Fprintf(&b, `,"k%05d":{"n":%d,"pad":"%s"}`, i, i, strings.Repeat("x", 20))
	}
	set(t, db, "/l", "{"+b.String()[1:]+"}")
	for _, c := range []struct {
		name   string
		query  string
		writes [][2]string // path and value, while the window is read
		want   string      // "" if it has to be read again
	}{
		{"nothing", `{"i":"n","l":2,"vf":"r"}`, nil, "k02998 k02999"},
		{"elsewhere", `{"i":"n","l":2,"vf":"r"}`, [][2]string{{"/other", "1"}}, "k02998 k02999"},
		{"enters", `{"i":"n","l":2,"vf":"r"}`, [][2]string{{"/l/a", `{"n":2998.5}`}}, "a k02999"},
		{"leaves", `{"i":"n","l":2,"vf":"r"}`, [][2]string{{"/l/k02999", "null"}, {"/l/k02997/n", "-1"}}, "k02996 k02998"},
		{"moves", `{"i":"n","l":2,"vf":"l"}`, [][2]string{{"/l/k00002/n", "0.5"}, {"/l/k00000/n", "9000"}}, "k00002 k00001"},
		{"beyond", `{"i":"n","l":2,"vf":"l"}`, [][2]string{{"/l/b", `{"n":500}`}}, "k00000 k00001"},
		{"range", `{"i":"n","sp":2990,"l":50,"vf":"l"}`, [][2]string{{"/l/b", `{"n":9999}`}, {"/l/k02991", "null"}}, "k02990 k02992 k02993 k02994 k02995 k02996 k02997 k02998 k02999 b"},
		{"replaced", `{"i":"n","l":2,"vf":"r"}`, [][2]string{{"/l/.priority", "1"}}, ""},
		{"too much", `{"i":"n","l":2,"vf":"l"}`, removals(300), ""},
		{"too much leaves", `{"i":"n","l":2,"vf":"l"}`, removals(joinSpare + 2), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			undo := get(t, db, "/l")
			defer set(t, db, "/l", undo)
			q, err := parseQuery(c.query)
			if err != nil {
				t.Fatal(err)
			}
			l := &Listener{db: db, out: outbox.New(outbox.Realtime, 0, func() {}), read: Read{Path: tree.MustParsePath("/l"), Query: q}}
			if err := db.attach(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			early, err := l.lookAhead(joinSpare)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range c.writes {
				set(t, db, w[0], w[1])
			}
			v, err := l.joinWith(early)
			if err != nil {
				t.Fatal(err)
			}
			if v.tx == nil {
				if c.want != "" || l.group.live {
					t.Errorf("the window is read again, want %s", c.want)
				}
				if v, err = l.join(); err != nil {
					t.Fatal(err)
				}
			}
			tx, window := v.tx, v.window
			defer tx.Rollback()
			if read := tx.Stats().Read + tx.Stats().Visited; read > 8*len(c.writes) {
				t.Errorf("%d rows were read under the lock for %d writes", read, len(c.writes))
			}
			now, err := tx.Query(l.read.Path, q)
			if err != nil || !slices.Equal(window, now) || !slices.Equal(l.group.window, now) {
				t.Errorf("the window is %v, want %v", window, now)
			}
			var keys []string
			for _, e := range window {
				keys = append(keys, e.Key)
			}
			if got := strings.Join(keys, " "); c.want != "" && got != c.want {
				t.Errorf("the window is %s, want %s", got, c.want)
			}
			if len(db.watches) != 0 {
				t.Errorf("%d watches are left", len(db.watches))
			}
		})
	}
}

func removals(n int) (list [][2]string) {
	for i := range n {
		list = append(list, [2]string{fmt.Sprintf("/l/k%05d", i), "null"})
	}
	return list
}
