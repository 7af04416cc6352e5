package declared_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// concurrently calls f with the numbers below n, from as many goroutines.
func concurrently(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// Of a hundred clients that create one login at once, one gets it. The other places of the
// others are as before.
func TestOneLogin(t *testing.T) {
	d := openDB(t, open)
	d.deploy(first)
	var got, taken atomic.Int32
	concurrently(100, func(i int) {
		_, err := d.update(user(fmt.Sprint("u", i)), fmt.Sprintf(`users/u%d {"login": "Newcomer", "name": "n"}`, i), fmt.Sprintf(`seen/u%d true`, i))
		conflict := (*fault.TakenError)(nil)
		switch {
		case err == nil:
			got.Add(1)
		case errors.As(err, &conflict) && conflict.Text == "logins/newcomer is taken":
			taken.Add(1)
		default:
			t.Error(err)
		}
	})
	if got.Load() != 1 || taken.Load() != 99 {
		t.Errorf("%d got it, %d were told that it is taken", got.Load(), taken.Load())
	}
	for _, path := range []string{"users", "seen", "logins"} {
		n, err := d.Count(t.Context(), dsync.Read{Caller: dsync.Admin, Path: tree.MustParsePath(path)})
		if err != nil || n != 1 {
			t.Errorf("%s has %d children, %v", path, n, err)
		}
	}
}

// A count with one .validate is a quota without a race.
func TestQuota(t *testing.T) {
	d := openDB(t, `{"rules": {"groups": {".write": true}, "stats": {"$u": {"ownedGroups": {".validate": "newData.val() <= 3"}}}}}`)
	d.deploy(first)
	concurrently(200, func(i int) {
		owner := fmt.Sprint("o", i%10)
		if _, err := d.update(user(owner), fmt.Sprintf(`groups/g%d/owner %q`, i, owner)); err != nil && !errors.Is(err, fault.ErrDenied) {
			t.Error(err)
		}
	})
	d.want("stats", numberedBy(10, "o", func(int) string { return `{"ownedGroups":3}` }))
	n, err := d.Count(t.Context(), dsync.Read{Caller: dsync.Admin, Path: tree.MustParsePath("groups")})
	if err != nil || n != 30 {
		t.Errorf("%d groups, %v", n, err)
	}
}

func numberedBy(n int, prefix string, child func(i int) string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%s%d":%s`, prefix, i, child(i))
	}
	return "{" + b.String()[1:] + "}"
}

// A list of a thousand never has one more, whenever it is read, and a child that is older than all is
// not stored.
func TestKeepThousand(t *testing.T) {
	tier.Unraced(t)
	d := openDB(t, open)
	d.deploy(`"home": {"keep": 1000, "at": "/home/$u", "by": ".value"}`)
	count := func() int {
		n, err := d.Count(t.Context(), dsync.Read{Caller: dsync.Admin, Path: tree.MustParsePath("home/ann")})
		if err != nil {
			t.Error(err)
		}
		return n
	}
	end := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
			}
			if n := count(); n > 1000 {
				t.Errorf("%d children", n)
			}
		}
	})
	concurrently(15, func(w int) {
		for i := range 100 {
			if _, err := d.update(user("ann"), fmt.Sprintf(`home/ann/p%d %d`, w*100+i, w*100+i+1)); err != nil {
				t.Error(err)
			}
		}
	})
	close(end)
	reader.Wait()
	if n := count(); n != 1000 {
		t.Errorf("%d children", n)
	}
	d.set(`home/ann/old 0`)
	d.want("home/ann/old", "null")
	d.want("home/ann/p499", "null")
	d.want("home/ann/p500", "501")
}

// Removing an ancestor removes all places in one revision, or none if there are too many.
func TestAncestor(t *testing.T) {
	tier.Need(t, tier.Full) // with the race detector it takes a minute
	d := openDB(t, open)
	d.deploy(`"inverse": {"map": "/groups/$g/members/$u", "to": "/users/$u/$g"}`)
	members := func(n int) string { return numbered(n, func(int) string { return "true" }) }
	d.set(`groups/nine/members ` + members(9000))
	_, err := d.update(dsync.Admin, `groups/eleven/members `+members(11000))
	if err != nil {
		t.Fatal(err)
	}
	before := d.revision()
	d.set(`groups/nine null`)
	if after := d.revision(); after != before+1 {
		t.Errorf("revision %d became %d", before, after)
	}
	_, err = d.update(user("ann"), `groups/eleven null`)
	if follows := (*fault.FollowsError)(nil); !errors.As(err, &follows) || !errors.Is(err, fault.ErrTooBig) ||
		follows.Text != "removing /groups/eleven would change 11,000 places kept by inverse; remove its children in parts" {
		t.Error(err)
	}
	n, err := d.Count(t.Context(), dsync.Read{Caller: dsync.Admin, Path: tree.MustParsePath("users")})
	if err != nil || n != 11000 {
		t.Errorf("%d users, %v", n, err)
	}
	if _, err := d.update(dsync.Admin, `groups/eleven null`); err != nil {
		t.Error(err)
	}
	d.want("", "null")
	d.anew()
}

func (d *db) revision() uint64 {
	d.Helper()
	e, err := d.Explain(d.Context(), dsync.Read{Caller: dsync.Admin, Plain: true})
	if err != nil {
		d.Fatal(err)
	}
	return e.Revision
}

// dataOf returns the data document of a database as it is stored.
func dataOf(d *db) *declared.Data {
	d.Helper()
	d.close()
	defer d.open()
	s, err := store.Open(d.dir+"/db", store.Options{ReadOnly: true})
	if err != nil {
		d.Fatal(err)
	}
	defer s.Close()
	var data *declared.Data
	if err := s.View(func(tx *store.Tx) (err error) { data, err = declared.Load(tx); return err }); err != nil {
		d.Fatal(err)
	}
	return data
}

// A write that meets no definition pays a walk in the trie and no memory.
func TestUnmetAllocatesNothing(t *testing.T) {
	d := openDB(t, open)
	d.deploy(first)
	data := dataOf(d)
	writes := []tree.ResolvedWrite{{Target: tree.Target{Path: tree.MustParsePath("messages/r1/m1")}}}
	if n := testing.AllocsPerRun(100, func() {
		if data.Meets(writes) {
			t.Error("it meets a definition")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkUnmet(b *testing.B) {
	d := openDB(b, open)
	d.deploy(first)
	data := dataOf(d)
	writes := []tree.ResolvedWrite{{Target: tree.Target{Path: tree.MustParsePath("messages/r1/m1")}}}
	b.ReportAllocs()
	for b.Loop() {
		if data.Meets(writes) {
			b.Fatal("it meets a definition")
		}
	}
}

// Small writes and removals of many nodes, which are prepared outside of the committer, by
// clients at once and while definitions are built anew.
func TestManyWriters(t *testing.T) {
	d := openDB(t, open)
	d.deploy(first)
	concurrently(8, func(w int) {
		rnd := rand.New(rand.NewPCG(3, uint64(w)))
		for i := range 60 {
			lines := []string{
				fmt.Sprintf(`tagged/k%04d "x%d"`, rnd.IntN(150), rnd.IntN(3)),
				fmt.Sprintf(`tagged/k%04d null`, rnd.IntN(150)),
				fmt.Sprintf(`groups/g%d/members/k%04d true`, rnd.IntN(3), rnd.IntN(150)),
				`tagged null`,
				`tagged ` + numbered(150, func(i int) string { return fmt.Sprintf(`"x%d"`, i%3) }),
				fmt.Sprintf(`groups/g%d null`, rnd.IntN(3)),
				fmt.Sprintf(`groups/g%d/members `, rnd.IntN(3)) + numbered(150, func(int) string { return "true" }),
			}
			if _, err := d.update(user("ann"), lines[rnd.IntN(len(lines))]); err != nil && !errors.Is(err, fault.ErrBusy) {
				t.Error(err)
			}
			if i%20 == 10 && w == 0 {
				if err := d.ControlData(t.Context(), []string{"tags", "members", "groupsOfUser"}[rnd.IntN(3)], declared.Rebuild); err != nil {
					t.Error(err)
				}
			}
		}
	})
	d.ready()
}
