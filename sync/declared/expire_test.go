package declared_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

const expiring = `"typing": { "expire": "/typing/$room/$u", "after": "10s" },
	"invites": { "expire": "/invites/$i", "at": "= data.child('expires').val()" },
	"sessions": { "expire": "/sessions/$i", "after": "1m", "from": "= data.child('created').val()" },
	"open": { "count": "/invites/$i", "to": "/open" }`

// Nodes go when they are due, by the clock of the server, with what follows from that. Those that
// are written again stay.
func TestExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, err := dsync.Open(dsync.Options{Rules: rules.Open(), ScrubEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer base.Close()
		d := &db{TB: t, Database: base}
		now := time.Now().UnixMilli()
		d.set(`typing/r/old true`, fmt.Sprintf(`invites/i0 {"expires": %d}`, now+4_000))
		d.deploy(expiring)
		d.set(`typing/r/ann true`, `typing/r/bob true`, fmt.Sprintf(`invites/i1 {"expires": %d}`, now+20_000), `invites/never {"expires": "no"}`,
			fmt.Sprintf(`sessions/s {"created": %d}`, now-30_000))
		d.want("open", "3")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		d.want("invites/i0", "null")
		d.want("open", "2")
		d.set(`typing/r/ann 2`)
		time.Sleep(6 * time.Second)
		synctest.Wait()
		d.want("typing", `{"r":{"ann":2}}`)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		d.want("", `{"invites":{"never":{"expires":"no"}},"open":1}`)
		if findings, err := d.Check(); len(findings) > 0 || err != nil {
			t.Error(findings, err)
		}
	})
}

// A write of the value that is there renews the time of a node, as a client does that says again and again
// that it is still there.
func TestExpireRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, err := dsync.Open(dsync.Options{Rules: rules.Open(), ScrubEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer base.Close()
		d := &db{TB: t, Database: base}
		d.deploy(expiring)
		for range 4 {
			d.set(`typing/r/ann true`)
			time.Sleep(6 * time.Second)
			synctest.Wait()
			d.want("typing", `{"r":{"ann":true}}`)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		d.want("typing", "null")
	})
}

// Nodes that were due while the database was closed go when it is open again: more than one
// commit removes, too.
func TestExpireAfterStop(t *testing.T) {
	d := openDB(t, open)
	d.deploy(expiring)
	d.set(`invites ` + numbered(2*declared.MaxExpired+7, func(i int) string { return `{"expires": 9000000000000}` }))
	d.want("open", fmt.Sprint(2*declared.MaxExpired+7))
	d.set(`invites/stays {"expires": 9000000005000}`)
	d.close()
	d.now = func() time.Time { return time.UnixMilli(9000000001000) }
	d.open()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		n, err := d.Get(t.Context(), dsync.Read{Caller: dsync.Admin, Path: tree.MustParsePath("open")})
		if err != nil {
			t.Fatal(err)
		}
		if n.JSON() == "1" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(n.JSON())
		}
	}
	d.want("invites", `{"stays":{"expires":9000000005000}}`)
	d.set(`invites/stays null`)
	d.anew()
}

// Clients choose when nodes expire and how much follows from that. One commit does a bounded part
// of it, also of one node. After each commit what follows is right, and the time of the node stays
// until the rest of it goes.
func TestExpireInParts(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	due := time.UnixMilli(9000000000000)
	d := openDB(t, open)
	d.deploy(`"gone": { "expire": "/groups/$g", "at": "= data.child('at').val()" },
		"soon": { "expire": "/groups/$g", "after": "100d" },
		"groupsOfUser": { "map": "/groups/$g/members/$u", "to": "/users/$u/groups/$g" },
		"members": { "count": "/groups/$g/members/$u", "to": "/sizes/$g" }`)
	all := 0
	for i, members := range []int{300, 300, 300, 300, 300, 300, 300, 300, 9500, 10, 10} {
		users := numbered(members, func(int) string { return "true" })
		d.set(fmt.Sprintf(`groups/g%02d {"at": %d, "members": %s}`, i, due.UnixMilli()+int64(i), users))
		all += members
	}
	removed, commits := 0, 0
	d.expiring(due.Add(time.Minute), func(tx *store.Tx, f *declared.Follows) {
		commits++
		for _, x := range f.Derived {
			if x.Path.Len() == 4 {
				removed++
			}
		}
		if n := len(f.Derived); n > 2000 {
			t.Errorf("a commit changes %d places", n)
		}
		members, err := tx.Count(tree.MustParsePath("groups/g08/members"), tree.Query{OrderBy: tree.ByKey})
		if err != nil {
			t.Fatal(err)
		}
		at, err := tx.Has(tree.MustParsePath("groups/g08/at"))
		if err != nil || at != (members > 0) {
			t.Fatalf("%d members, a time: %t, %v", members, at, err)
		}
	})
	if removed != all || commits > 20 {
		t.Errorf("%d of %d places are removed in %d commits", removed, all, commits)
	}
	d.want("", "null")
}

// Parts of a node also go if nothing follows from them, and places that other definitions keep stay.
func TestExpireOddParts(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	due := time.UnixMilli(9000000000000)
	d := openDB(t, open)
	d.deploy(`"gone": { "expire": "/users/$u", "at": "= data.child('at').val()" },
		"groupsOfUser": { "map": "/groups/$g/members/$u", "to": "/users/$u/groups/$g" },
		"walked": { "count": "/users/$u/vain/$v/n", "to": "/n" }`)
	for g := range 9 { // more than one commit looks at
		lines := make([]string, 1000)
		for i := range lines {
			lines[i] = fmt.Sprintf(`groups/k%d%03d/members/ann true`, g, i)
		}
		d.set(lines...)
	}
	n, err := d.Get(t.Context(), dsync.Read{Caller: dsync.Admin, Path: tree.MustParsePath("users/ann/groups")})
	if err != nil {
		t.Fatal(err)
	}
	d.set(fmt.Sprintf(`users/ann/at %d`, due.UnixMilli()), `users/ann/name "Ann"`,
		fmt.Sprintf(`users/bob {"at": %d, "vain": %s}`, due.UnixMilli(), numbered(9000, func(int) string { return "1" })))
	d.expiring(due.Add(time.Minute), func(_ *store.Tx, f *declared.Follows) {
		if len(f.Writes) > 2000 {
			t.Errorf("a commit has %d writes", len(f.Writes))
		}
	})
	d.want("users", `{"ann":{"groups":`+n.JSON()+`}}`)
}

// A place that another definition keeps is tried once, also if it has a time that has passed. It does
// not keep others from expiring.
func TestExpireKeptPlaces(t *testing.T) {
	due := time.UnixMilli(9000000000000)
	d := openDB(t, open)
	d.deploy(`"due": { "map": "/jobs/$j/at", "to": "/byTime/$j", "value": "= data.val()" },
		"gone": { "expire": "/byTime/$j", "at": "= data.val()" },
		"invites": { "expire": "/invites/$i", "at": "= data.val()" }`)
	jobs := declared.MaxExpired + 100
	d.set(`jobs ` + numbered(jobs, func(int) string { return fmt.Sprintf(`{"at":%d}`, due.UnixMilli()) }))
	d.set(fmt.Sprintf(`invites/i %d`, due.UnixMilli()+1))
	commits := 0
	d.expiring(due.Add(time.Minute), func(*store.Tx, *declared.Follows) {
		if commits++; commits > 20 {
			t.Fatal("it never ends")
		}
	})
	d.want("invites", "null")
	n, err := d.Count(t.Context(), dsync.Read{Caller: dsync.Admin, Path: tree.MustParsePath("byTime")})
	if err != nil || n != jobs {
		t.Errorf("%d of %d places stay, %v", n, jobs, err)
	}
}

// expiring closes the database, removes what is due commit by commit, and opens it again.
func (d *db) expiring(now time.Time, each func(*store.Tx, *declared.Follows)) {
	d.Helper()
	d.close()
	s, err := store.Open(filepath.Join(d.dir, "db"), store.Options{})
	if err != nil {
		d.Fatal(err)
	}
	for next := int64(1); next != 0 && next <= now.UnixMilli(); {
		tx, err := s.Begin(true)
		if err != nil {
			d.Fatal(err)
		}
		data, err := declared.Load(tx)
		if err != nil {
			d.Fatal(err)
		}
		var f *declared.Follows
		if f, next, err = data.Expire(tx, now); err != nil {
			d.Fatal(err)
		}
		if f != nil {
			for _, w := range f.Writes {
				if _, err := tx.Put(w.Path, w.Node); err != nil {
					d.Fatal(err)
				}
			}
			if err := f.Store(tx); err != nil {
				d.Fatal(err)
			}
			each(tx, f)
		}
		if err := declared.Check(d.Context(), tx, now, func(name, text string) { d.Errorf("%s: %s", name, text) }); err != nil {
			d.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			d.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		d.Error(err)
	}
	d.open()
}
