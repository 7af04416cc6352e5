package declared_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// status returns how far the definitions are.
func (d *db) status() []declared.Status {
	d.Helper()
	list, err := d.DataStatus()
	if err != nil {
		d.Fatal(err)
	}
	return list
}

// settled waits until nothing is verified or built any more.
func (d *db) settled() []declared.Status {
	d.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
		working := false
		list := d.status()
		for _, s := range list {
			working = working || s.State != declared.Ready && s.State != declared.Failed && s.State != declared.Paused && s.State != declared.Off
		}
		if !working {
			return list
		}
		if time.Now().After(deadline) {
			d.Fatalf("still %v", list)
		}
	}
}

// ready waits until all definitions are ready, and derives everything anew.
func (d *db) ready() {
	d.Helper()
	for _, s := range d.settled() {
		if s.State != declared.Ready {
			d.Errorf("%+v", s)
		}
	}
	d.anew()
}

// anew closes the database, derives everything anew, and opens it again.
func (d *db) anew() {
	d.Helper()
	d.close()
	s, err := store.Open(d.dir+"/db", store.Options{ReadOnly: true})
	if err != nil {
		d.Fatal(err)
	}
	err = s.View(func(tx *store.Tx) error {
		return declared.Check(d.Context(), tx, time.Now(), func(name, text string) { d.Errorf("%s: %s", name, text) })
	})
	if err := errors.Join(err, s.Close()); err != nil {
		d.Fatal(err)
	}
	d.open()
}

// numbered returns an object of n children.
func numbered(n int, child func(i int) string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%04d":%s`, i, child(i))
	}
	return "{" + b.String()[1:] + "}"
}

// A document that is deployed over data is built in the background, with writes and restarts
// meanwhile.
func TestBuild(t *testing.T) {
	d := openDB(t, open)
	const groups = 300
	each, listed := tier.Pick(4, 20, 100), tier.Pick(1200, 2500, 10_000)
	members := func(int) string { return numbered(each, func(i int) string { return "true" }) }
	d.set(`groups ` + numbered(groups, func(i int) string { return fmt.Sprintf(`{"owner":"o%d","members":%s}`, i%7, members(i)) }))
	d.set(`home/ann `+numbered(listed, func(i int) string { return fmt.Sprint(i) }), `tagged `+numbered(900, func(i int) string { return fmt.Sprint(i % 10) }))
	d.set(`users ` + numbered(400, func(i int) string { return fmt.Sprintf(`{"login":"L%d"}`, i) }))
	d.deploy(first)
	if s := d.status(); s[0].State == declared.Ready {
		t.Errorf("%+v", s)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range tier.Pick(60, 100, 2000) {
		d.set(fmt.Sprintf(`groups/k%04d/members/k%04d %s`, rnd.IntN(groups), rnd.IntN(30), []string{"null", "true"}[rnd.IntN(2)]),
			fmt.Sprintf(`groups/k%04d/owner "o%d"`, rnd.IntN(groups), rnd.IntN(9)), fmt.Sprintf(`home/ann/new%d %d`, i, 9000+i),
			fmt.Sprintf(`tagged/k%04d %d`, rnd.IntN(900), rnd.IntN(12)), fmt.Sprintf(`users/k%04d/login "M%d"`, rnd.IntN(400), i))
		if i%50 == 20 {
			d.close()
			d.open()
		}
	}
	d.ready()
	n, err := d.Count(t.Context(), dsync.Read{Caller: dsync.Admin, Path: tree.MustParsePath("home/ann")})
	if err != nil || n != 3 {
		t.Errorf("a list of 3 has %d children, %v", n, err)
	}
	for _, name := range []string{"groupsOfUser", "members", "tags", "home", "ownedGroups"} {
		if err := d.ControlData(t.Context(), name, declared.Rebuild); err != nil {
			t.Fatal(err)
		}
		d.set(fmt.Sprintf(`groups/k%04d/members/new true`, rnd.IntN(groups)))
	}
	d.ready()
}

// Places that hold something else are conflicts. Nothing is written then.
func TestConflicts(t *testing.T) {
	d := openDB(t, open)
	d.set(`a {"x": 1, "y": 2}`, `b {"x": 1, "y": 3}`, `n 5`)
	d.deploy(`"copy": {"map": "/a/$k", "to": "/b/$k", "value": "= data.val()"}, "n": {"count": "/a/$k", "to": "/n"}`)
	for _, s := range d.settled() {
		if s.State != declared.Failed || s.Total != 1 || len(s.Conflicts) != 1 {
			t.Errorf("%+v", s)
		}
	}
	d.want("", `{"a":{"x":1,"y":2},"b":{"x":1,"y":3},"n":5}`)
	d.set(`a/z 4`, `n 7`) // they are not in force
	d.want("b", `{"x":1,"y":3}`)
	d.set(`b/y 2`, `n null`)
	for _, name := range []string{"copy", "n"} {
		if err := d.ControlData(t.Context(), name, declared.Resume); err != nil {
			t.Fatal(err)
		}
	}
	d.ready()
	d.want("", `{"a":{"x":1,"y":2,"z":4},"b":{"x":1,"y":2,"z":4},"n":3}`)
	d.deploy(``)
	d.set(`b {"x": 7}`, `n 9`)
	d.deploy(`"copy": {"map": "/a/$k", "to": "/b/$k", "value": "= data.val()", "onConflict": "replace"}, "n": {"count": "/a/$k", "to": "/n", "onConflict": "replace"}`)
	d.ready()
	d.want("", `{"a":{"x":1,"y":2,"z":4},"b":{"x":1,"y":2,"z":4},"n":3}`)
}

// Counts and sums that clients have kept until then, or that a definition left when it was taken
// out, are no conflicts.
func TestAgreed(t *testing.T) {
	d := openDB(t, open)
	d.set(`a {"x": 1, "y": 2}`, `n 2`, `b {"x": 1}`, `m 2`, `s 3`)
	both := `"n": {"count": "/a/$k", "to": "/n"}, "s": {"sum": "/a/$k", "of": "= data.val()", "to": "/s"}`
	for range 2 {
		d.deploy(both)
		d.ready()
		d.deploy(``)
	}
	d.want("", `{"a":{"x":1,"y":2},"b":{"x":1},"m":2,"n":2,"s":3}`)
	d.deploy(both + `, "m": {"count": "/b/$k", "to": "/m"}`)
	for _, s := range d.settled() {
		if failed := s.State == declared.Failed; failed != (s.Name == "m") {
			t.Errorf("%+v", s)
		}
	}
	d.set(`a/z 4`)
	d.want("", `{"a":{"x":1,"y":2,"z":4},"b":{"x":1},"m":2,"n":3,"s":7}`)
}

// Of many counters that are right and one that is wrong, that one is a conflict. When it is mended, the
// definition can be resumed.
func TestOneWrongCounter(t *testing.T) {
	for _, verb := range []string{declared.Resume, declared.Rebuild} {
		d := openDB(t, open)
		const groups = 300
		d.set(`groups `+numbered(groups, func(int) string { return `{"members":{"a":1,"b":1}}` }), `sizes `+numbered(groups, func(int) string { return "2" }))
		d.set(`sizes/k0007 3`)
		const members = `"members": {"count": "/groups/$g/members/$u", "to": "/sizes/$g"}`
		list, _ := d.preview(t, members)
		d.deploy(members)
		failed := func() {
			t.Helper()
			s := d.settled()[0]
			if s.State != declared.Failed || s.Total != 1 || s.Error == "" || fmt.Sprint(s.Conflicts) != "[/sizes/k0007 holds something else than follows]" || fmt.Sprint(s.Conflicts) != fmt.Sprint(list[0].Conflicts) {
				t.Errorf("%+v; the preview: %+v", s, list[0])
			}
		}
		control := func() {
			t.Helper()
			if err := d.ControlData(t.Context(), "members", verb); err != nil {
				t.Fatal(err)
			}
		}
		failed()
		control()
		failed()
		d.want("sizes/k0007", "3")
		d.set(`sizes/k0007 2`)
		control()
		d.ready()
		d.set(`groups/k0007/members/c 1`)
		d.want("sizes/k0007", "3")
	}
}

// Two nodes that are there already cannot have one place of a unique map. The status names both, also where
// the place holds what one of them has left, and to replace that is not advised.
func TestDuplicates(t *testing.T) {
	for _, replace := range []string{"", `, "onConflict": "replace"`} {
		d := openDB(t, open)
		failed := func() {
			t.Helper()
			s := d.settled()[0]
			if s.State != declared.Failed || !strings.Contains(fmt.Sprint(s.Conflicts), "/logins/x would have several sources") ||
				!strings.Contains(fmt.Sprint(s.Conflicts), ": /users/ann/login, /users/bob/login") || strings.Contains(s.Error, "replace") {
				t.Errorf("%+v", s)
			}
		}
		control := func(verb string) {
			if err := d.ControlData(t.Context(), "logins", verb); err != nil {
				t.Fatal(err)
			}
		}
		d.set(`users {"ann": {"login": "x"}, "bob": {"login": "X"}}`, `logins/x "bob"`)
		d.deploy(`"logins": {"map": "/users/$u/login", "to": "/logins/{data.val().toLowerCase()}", "value": "= $u", "unique": true` + replace + `}`)
		failed()
		d.set(`users/bob/login "y"`, `logins/x "ann"`)
		control(declared.Resume)
		d.ready()
		control(declared.Pause)
		d.set(`users/bob/login "x"`)
		control(declared.Rebuild)
		failed()
		control(declared.Resume)
		failed()
	}
}

// A definition that is paused lets writes pass, and is built anew when it is resumed.
func TestPause(t *testing.T) {
	d := openDB(t, open)
	d.deploy(first)
	d.set(`groups/g/members/ann true`)
	control := func(name, verb string) {
		t.Helper()
		if err := d.ControlData(t.Context(), name, verb); err != nil {
			t.Fatal(err)
		}
	}
	control("members", declared.Pause)
	d.close()
	d.open()
	d.set(`groups/g/members/bob true`)
	d.want("sizes", `{"g":1}`)
	control("members", declared.Resume)
	d.ready()
	d.want("sizes", `{"g":2}`)
	if err := d.ControlData(t.Context(), "no", declared.Pause); !errors.Is(err, dsync.ErrNoDefinition) {
		t.Error(err)
	}
}

// Random writes, imports, restarts, rebuilds and other documents leave what deriving anew gives.
func TestRandom(t *testing.T) {
	tier.Unraced(t)
	for seed := range tier.Pick(1, 2, 80) { // of 1,500 writes each
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomly(t, rand.New(rand.NewPCG(uint64(seed), 7))) })
	}
}

func randomly(t *testing.T, rnd *rand.Rand) {
	d := openDB(t, open)
	lines := strings.Split(strings.TrimSpace(first), "\n")[1:]
	lines = append(lines, `"second": { "count": "/users/$u/groups/$g", "to": "/second/$u" },`)
	document := func() string {
		var b strings.Builder
		for _, line := range lines {
			if rnd.IntN(4) > 0 {
				b.WriteString(line)
			}
		}
		return strings.ReplaceAll(b.String(), `/members/$u", "to": "/sizes/$g"`, fmt.Sprintf(`/members/$u", "to": "/sizes/$g", "where": "$u != 'u%d'"`, rnd.IntN(9)))
	}
	key := func(kind string) string { return fmt.Sprint(kind, rnd.IntN(5)) }
	value := func() string {
		return []string{"null", "true", "1", "2", `"x"`, `{"a":1}`, `{"total":3}`, `{"owner":"u1","members":{"u1":true,"u2":true}}`}[rnd.IntN(8)]
	}
	path := func() string {
		return []string{"groups/" + key("g") + "/members/" + key("u"), "groups/" + key("g"), "groups/" + key("g") + "/owner", "users/" + key("u") + "/login",
			"users/" + key("u"), "orders/" + key("u") + "/" + key("o"), "home/" + key("u") + "/" + key("p"), "home/" + key("u"), "tagged/" + key("t"), "tagged", "groups",
			"sizes/" + key("g"), "users/" + key("u") + "/groups/" + key("g"), "second"}[rnd.IntN(14)]
	}
	d.deploy(document())
	for i := range 1500 {
		caller := dsync.Admin
		if rnd.IntN(3) > 0 {
			caller = user("ann")
		}
		_, err := d.update(caller, path()+" "+value())
		var taken *fault.TakenError
		if err != nil && !errors.Is(err, fault.ErrDenied) && !errors.As(err, &taken) {
			t.Fatal(err)
		}
		switch rnd.IntN(150) {
		case 0:
			d.deploy(strings.ReplaceAll(document(), ` },`, ` /**/ },`))
		case 1:
			d.close()
			d.open()
		case 2:
			p := strings.Split(path(), "/")
			text := numbered(60, func(i int) string {
				return fmt.Sprintf(`{"owner":"u%d","login":"l%d","members":{"u1":true,"u2":"%s"}}`, i%5, i, strings.Repeat("long", 30))
			})
			if _, err := d.Import(t.Context(), tree.MustParsePath(p[0]), strings.NewReader(text), nil); err != nil {
				t.Fatal(err)
			}
		case 3:
			for _, s := range d.status() {
				if err := d.ControlData(t.Context(), s.Name, []string{declared.Rebuild, declared.Pause, declared.Resume}[rnd.IntN(3)]); err != nil {
					t.Fatal(err)
				}
			}
		}
		if i%300 == 299 {
			d.settled()
			d.anew()
		}
	}
}
