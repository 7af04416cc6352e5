package sync

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
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
	case !w.db.audience.TryLock():
		w.locked++
		if w.batches == nil {
			w.batches = make(map[uint64]int)
		}
		w.batches[w.db.stats.batches.Load()]++
	default:
		w.db.audience.Unlock()
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
	checkAudience(t, db)
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

// TestSignInDuringWrites: however sign-ins, listens and revocations meet, the listens that
// are left in the end are those that the rules allow, and they miss nothing.
func TestSignInDuringWrites(t *testing.T) {
	db := openTest(t, Options{Rules: parseRules(t, memberRules)})
	const rooms, clients = 100, 4
	rounds := tier.Pick(8, 30, 30)
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
		for l := range c.session.listens.all() {
			room := strings.TrimPrefix(l.key.path.Clean(), "rooms/")
			may := get(t, db, "/members/"+room+"/ana") == "true"
			if !l.Ended() && (!may || l.Follows().Caller.Auth.UID != "ana") {
				t.Errorf("%s follows %s as %s, allowed: %v", c.name, l.key.path, l.Follows().Caller.Auth.UID, may)
			}
		}
		c.session.Close()
	}
	checkAudience(t, db)
}
