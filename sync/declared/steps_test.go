package declared_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// An offline database is one transaction of a store in memory, without a committer: so a test decides
// between which steps of building a write comes.
type offline struct {
	testing.TB
	tx   *store.Tx
	data *declared.Data
}

func openOffline(t testing.TB) *offline {
	t.Helper()
	s, err := store.Open("", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := s.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		store.Kept(tx).Check(func(format string, args ...any) { t.Error(fmt.Errorf(format, args...)) })
		tx.Rollback()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &offline{TB: t, tx: tx}
}

// put makes an update, as the committer does.
func (o *offline) put(writes []tree.ResolvedWrite, f *declared.Follows) {
	o.Helper()
	if f != nil {
		writes = f.Writes
	}
	for _, w := range writes {
		if _, err := o.tx.Put(w.Path, w.Node); err != nil {
			o.Fatal(err)
		}
	}
	if f != nil {
		if err := f.Store(o.tx); err != nil {
			o.Fatal(err)
		}
	}
}

// write makes an update of a client: "path value". The error is a refusal.
func (o *offline) write(lines ...string) error {
	o.Helper()
	var writes []tree.ResolvedWrite
	for _, line := range lines {
		path, value, _ := strings.Cut(line, " ")
		writes = append(writes, tree.ResolvedWrite{Target: tree.Target{Path: tree.MustParsePath(path)}, Node: tree.MustParseNode(value)})
	}
	f, err := o.data.Derive(declared.Write{Tx: o.tx, Writes: writes, Now: time.UnixMilli(1000)})
	if err == nil {
		o.put(writes, f)
	}
	return err
}

func (o *offline) set(lines ...string) {
	o.Helper()
	if err := o.write(lines...); err != nil {
		o.Fatal(lines, err)
	}
}

func (o *offline) parse(define string) *derive.Document {
	o.Helper()
	doc, err := derive.Parse(documentOf(define))
	if err != nil {
		o.Fatal(err)
	}
	return doc
}

// deploy puts a document in force, and does nothing of the work.
func (o *offline) deploy(define string) {
	o.Helper()
	doc := o.parse(define)
	found, err := o.data.Totals(o.Context(), o.tx, doc)
	if err == nil {
		o.data, _, _, err = o.data.Deploy(o.tx, versions.DataChange{Document: doc}, found, time.UnixMilli(1000))
	}
	if err != nil {
		o.Fatal(err)
	}
}

func (o *offline) control(name, verb string) {
	o.Helper()
	found, err := o.data.TotalsOf(o.Context(), o.tx, name)
	if err != nil {
		o.Fatal(err)
	}
	next, ok, err := o.data.Control(o.tx, name, verb, found)
	if err != nil || !ok {
		o.Fatal(ok, err)
	}
	o.data = next
}

func (o *offline) step() declared.Step {
	o.Helper()
	step, err := o.data.Step(o.tx, time.UnixMilli(1000))
	if err != nil {
		o.Fatal(err)
	}
	if step.Follows != nil {
		o.put(nil, step.Follows)
	}
	o.data = step.Data
	return step
}

// status returns that of the first definition.
func (o *offline) status() declared.Status {
	o.Helper()
	list, err := o.data.Status(o.tx, time.Now())
	if err != nil {
		o.Fatal(err)
	}
	return list[0]
}

// until works until the first definition is in a state and has come to some nodes.
func (o *offline) until(state declared.Phase, nodes int64) {
	o.Helper()
	for o.data.Working() {
		if s := o.status(); s.State == state && s.Nodes >= nodes {
			return
		}
		o.step()
	}
	o.Fatalf("%+v", o.status())
}

// work works until there is nothing to be done, and derives everything anew.
func (o *offline) work() declared.Status {
	o.Helper()
	for o.data.Working() {
		o.step()
	}
	if err := declared.Check(o.Context(), o.tx, time.Now(), func(name, text string) { o.Errorf("%s: %s", name, text) }); err != nil {
		o.Fatal(err)
	}
	return o.status()
}

func (o *offline) want(path, value string) {
	o.Helper()
	if n, err := o.tx.Get(tree.MustParsePath(path)); err != nil || n.JSON() != value {
		o.Errorf("%s = %.200s, %v; want %s", path, n.JSON(), err, value)
	}
}

// To look what another document would do changes nothing, also while rows of a definition are deleted.
func TestPreviewBesideRebuild(t *testing.T) {
	const tags = `"tags": {"map": "/tagged/$i", "to": "/tags/{data.val()}"}`
	o := openOffline(t)
	o.set(`sessions/s 9000000000000`, `tagged {"a": "x", "b": "x"}`)
	o.deploy(`"gone": {"expire": "/sessions/$s", "at": "= data.val()"}, ` + tags)
	o.work()
	o.control("tags", declared.Rebuild)
	without := o.parse(tags)
	if _, err := o.data.Preview(o.Context(), o.tx, without); err != nil {
		t.Fatal(err)
	}
	if _, err := o.data.Totals(o.Context(), o.tx, without); err != nil {
		t.Fatal(err)
	}
	o.work()
	timers, err := store.Kept(o.tx).Timers(9)
	if err != nil || len(timers) != 1 {
		t.Errorf("%d timers are left of 1, %v", len(timers), err)
	}
}

// A definition that is paused before its places are compared has them compared later.
func TestPauseWhileVerifying(t *testing.T) {
	for _, verb := range []string{declared.Resume, declared.Rebuild} {
		o := openOffline(t)
		o.set(`groups `+numbered(300, func(int) string { return `{"members":{"u":true}}` }), `users/u/groups {"mine": "by hand"}`)
		o.deploy(`"groupsOfUser": {"map": "/groups/$g/members/$u", "to": "/users/$u/groups/$g"}`)
		o.step()
		o.control("groupsOfUser", declared.Pause)
		o.control("groupsOfUser", declared.Pause)
		o.control("groupsOfUser", verb)
		if s := o.work(); s.State != declared.Failed || s.Total != 1 {
			t.Errorf("%s: %+v", verb, s)
		}
		o.want("users", `{"u":{"groups":{"mine":"by hand"}}}`)
	}
}

// logins are two forms of a unique map.
var logins = []string{
	`"logins": {"map": "/users/$u/login", "to": "/logins/{data.val()}", "unique": true}`,
	`"logins": {"map": "/users/$u/login", "to": "/logins/{data.val()}", "value": "= $u", "unique": true}`,
}

// While a unique map is built, a place is that of one node, however far building is.
func TestUniqueWhileBuilding(t *testing.T) {
	const users = 300 // more than one step walks
	for name, c := range map[string]struct {
		before, meanwhile []string
		state             declared.Phase
	}{
		"two from the beginning":      {[]string{`users/k0000/login "l299"`}, nil, declared.Failed},
		"one comes before the other":  {nil, []string{`users/k0000/login "l299"`}, declared.Failed},
		"the other goes":              {nil, []string{`users/k0000/login "l299"`, `users/k0299 null`}, declared.Ready},
		"the other moves":             {nil, []string{`users/k0000/login "l299"`, `users/k0299/login "new"`}, declared.Ready},
		"a third takes what is freed": {nil, []string{`users/k0299 null`, `users/k0000/login "l299"`}, declared.Ready},
		"it is handed on":             {nil, []string{`users/k0000/login "l299"`, `users/k0000/login "l0"`}, declared.Ready},
		"the same is said again":      {nil, []string{`users/k0000/login "l299"`, `users/k0299/login "l299"`}, declared.Failed},
	} {
		for _, define := range logins {
			t.Run(name, func(t *testing.T) {
				o := openOffline(t)
				o.set(`users ` + numbered(users, func(i int) string { return fmt.Sprintf(`{"login":"l%d"}`, i) }))
				if c.before != nil {
					o.set(c.before...)
				}
				o.deploy(define)
				if c.before == nil { // else it fails while it is verified
					o.until(declared.Building, 100)
				}
				for _, line := range c.meanwhile {
					o.set(line)
				}
				if s := o.work(); s.State != c.state {
					t.Errorf("%+v", s)
				}
			})
		}
	}
}

// Nodes that share places and go before building has come to them do not leave their places.
func TestSharedWhileBuilding(t *testing.T) {
	for name, c := range map[string]struct {
		at    declared.Phase
		nodes [2]int // all that have the place
	}{
		"verified": {declared.Verifying, [2]int{0, 1}},
		"ahead":    {declared.Building, [2]int{298, 299}},
	} {
		t.Run(name, func(t *testing.T) {
			o := openOffline(t)
			o.set(`tagged `+numbered(300, func(i int) string { return fmt.Sprintf(`"t%d"`, i/2) }), `tags {"t0": true, "t148": true, "t149": true}`)
			o.deploy(`"tags": {"map": "/tagged/$i", "to": "/tags/{data.val()}"}`)
			o.until(c.at, 100)
			o.set(fmt.Sprintf(`tagged/k%04d null`, c.nodes[0]), fmt.Sprintf(`tagged/k%04d "other"`, c.nodes[1]), `tagged/k0297 null`)
			if s := o.work(); s.State != declared.Ready {
				t.Errorf("%+v", s)
			}
			o.want(fmt.Sprintf("tags/t%d", c.nodes[0]/2), "null")
			o.want("tags/t148", "true")
			o.want("tags/other", "true")
		})
	}
}

// Whatever is written between the steps, a map that gets ready agrees with deriving it anew.
func TestRandomSteps(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	states := make(map[declared.Phase]int)
	for seed := range tier.Pick(30, 30, 3000) {
		rnd := rand.New(rand.NewPCG(uint64(seed), 3))
		define := append(logins, `"tags": {"map": "/users/$u/login", "to": "/tags/{data.val()}"}`)[rnd.IntN(3)]
		o := openOffline(t)
		o.set(`users ` + numbered(300, func(i int) string { return fmt.Sprintf(`{"login":"l%d","n":1}`, i) }))
		if rnd.IntN(2) == 0 { // the places are there already
			o.deploy(define)
			o.work()
			o.deploy(``)
			for o.data.Working() {
				o.step()
			}
		}
		names := 20_000 // few are taken
		if strings.HasPrefix(define, `"tags"`) {
			names = 300
		}
		o.deploy(define)
		for o.data.Working() {
			u := rnd.IntN(300)
			login := fmt.Sprintf(`users/k%04d/login "l%d"`, u, rnd.IntN(names))
			_ = o.write([]string{login, login, fmt.Sprintf(`users/k%04d null`, u), fmt.Sprintf(`users/k%04d/n 2`, u)}[rnd.IntN(4)]) // it may be taken
			if rnd.IntN(6) == 0 {
				o.step()
			}
		}
		s := o.work()
		states[s.State]++
		if t.Failed() {
			t.Fatalf("seed %d: %s is %+v", seed, define, s)
		}
	}
	if states[declared.Ready] == 0 || states[declared.Failed] == 0 {
		t.Errorf("the definitions ended as %v: the test shows little", states)
	}
}

// A deploy works on definitions until the costs of steps are a thousand. So a step costs what it reads and
// changes, also if it comes to few nodes or to none.
func TestStepsCost(t *testing.T) {
	o := openOffline(t)
	o.set(`lists/l `+numbered(5000, func(i int) string { return fmt.Sprint(i) }), `users `+numbered(600, func(int) string { return `{"n":1}` }),
		`tagged `+numbered(600, func(i int) string { return fmt.Sprintf(`"t%d"`, i) }))
	o.deploy(`"list": {"keep": 10, "at": "/lists/$l"}`)
	if s := o.step(); s.Cost < 1000 || s.Cost > 1200 {
		t.Errorf("the removal of a thousand children costs %d", s.Cost)
	}
	o.deploy(`"logins": {"map": "/users/$u/login", "to": "/logins/{data.val()}"}`)
	if s := o.step(); s.Cost > 10 { // the list has no rows
		t.Errorf("the end of a list costs %d", s.Cost)
	}
	if s := o.step(); s.Cost < 128 || s.Cost > 200 {
		t.Errorf("128 users without a login cost %d", s.Cost)
	}
	o.deploy(`"tags": {"map": "/tagged/$i", "to": "/tags/{data.val()}"}`)
	o.until(declared.Building, 0)
	s := o.step()
	for s.Follows == nil { // rows of before go first
		s = o.step()
	}
	if s.Cost < 256 || s.Cost > 300 {
		t.Errorf("128 nodes with a place each cost %d", s.Cost)
	}
	o.work()
	o.deploy(``)
	if s := o.step(); s.Cost < 512 || s.Cost > 600 {
		t.Errorf("512 rows cost %d", s.Cost)
	}
}

// A long list is not read as a whole to be ordered, in the transaction of a deploy: it waits for its
// index.
func TestListWaitsForIndex(t *testing.T) {
	for children, waits := range map[int]bool{900: false, 1100: true} {
		o := openOffline(t)
		o.set(`lists/l ` + numbered(children, func(i int) string { return fmt.Sprint(i) }))
		o.deploy(`"list": {"keep": 10, "at": "/lists/$l", "by": ".value"}`)
		if err := o.tx.Indexes().Declare(o.data.Indexes()); err != nil {
			t.Fatal(err)
		}
		before := o.data
		s := o.step()
		if s.Waits != waits || waits != (o.data == before) || !waits && s.Cost < 2*children-10 {
			t.Errorf("%d children: %+v", children, s)
		}
	}
	d := openDB(t, open)
	d.set(`lists {"l": ` + numbered(5000, func(i int) string { return fmt.Sprint(i) }) + `, "m": {"a": 1}}`)
	before := d.revision()
	d.deploy(`"list": {"keep": 10, "at": "/lists/$l", "by": ".value"}`)
	d.ready()
	if commits := d.revision() - before; commits < 6 {
		t.Errorf("five thousand children are removed in %d commits", commits)
	}
	d.want("lists/l", `{"k4990":4990,"k4991":4991,"k4992":4992,"k4993":4993,"k4994":4994,"k4995":4995,"k4996":4996,"k4997":4997,"k4998":4998,"k4999":4999}`)
}

// Over numbers that a sum cannot add exactly, it fails.
func TestSumOutOfBounds(t *testing.T) {
	o := openOffline(t)
	o.set(`orders {"a": 1, "b": 1e17}`)
	o.deploy(`"spent": {"sum": "/orders/$o", "of": "= data.val()", "to": "/spent"}`)
	s := o.work()
	if s.State != declared.Failed || s.Total != 1 || !strings.Contains(s.Error, "beyond 9,007,199,254,740,991") || s.Conflicts[0] != s.Error {
		t.Errorf("%+v", s)
	}
	o.want("spent", "null")
}
