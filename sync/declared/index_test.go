package declared_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/explained"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// explained says how the groups of an owner are found.
func (d *db) explained(order string) explained.Read {
	d.Helper()
	q := tree.Query{OrderBy: order, Limit: 3, FromLast: true}
	v, err := q.ListBound([]tree.Node{tree.String("o1")})
	if err != nil {
		d.Fatal(err)
	}
	q.Start = tree.Bound{Set: true, Value: v, KeyRank: tree.BeforeKeys}
	q.End = tree.Bound{Set: true, Value: v, KeyRank: tree.AfterKeys}
	e, err := d.Explain(d.Context(), dsync.Read{Caller: dsync.Admin, Path: tree.MustParsePath("groups"), Query: q})
	if err != nil {
		d.Fatal(err)
	}
	return e
}

// TestIndexStates: an index is built when it is declared or switched on, and loses its entries
// when it is switched off, paused or taken out.
func TestIndexStates(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	d := openDB(t, open)
	groups := tier.Pick(1500, 1500, 20_000)
	d.set(`groups ` + numbered(groups, func(i int) string { return fmt.Sprintf(`{"owner":"o%d","at":{"day":%d}}`, i%7, i%50) }))
	const order = `["owner","at/day"]`
	on := `"byOwner": {"index": "/groups", "by": ["owner", "at/day"]}, "one": {"index": "/groups", "by": ["owner"]}`
	off := `"byOwner": {"index": "/groups", "by": ["owner", "at/day"], "state": "off"}`

	e := d.explained(order)
	if e.Plan != store.PlanScan || e.MissingIndexOn == nil || e.MissingIndexOn.Paste != `"NAME": { "index": "/groups", "by": ["owner","at/day"] }` {
		t.Errorf("without a definition: %+v, %+v", e, e.MissingIndexOn)
	}
	ready := func(when string) {
		t.Helper()
		d.ready()
		s := d.status()[0]
		if s.Entries != groups || s.EntryBytes < int64(groups*12) || s.MoreEntries || s.At != "" {
			t.Errorf("%s: %+v", when, s)
		}
		e := d.explained(order)
		if e.Plan != store.PlanIndex || e.Index == nil || *e.Index != order || e.Visited > 4 || e.Results != 3 || e.MissingIndexOn != nil {
			t.Errorf("%s: %+v", when, e)
		}
	}
	gone := func(when string, state declared.Phase) {
		t.Helper()
		if s := d.settled(); s[0].State != state || s[0].Entries != 0 {
			t.Errorf("%s: %+v", when, s)
		}
		if e := d.explained(order); e.Plan != store.PlanScan || e.Building || e.Results != 3 || e.MissingIndexOn == nil {
			t.Errorf("%s: %+v", when, e)
		}
		d.anew()
	}
	d.deploy(on)
	ready("deployed")
	if e := d.explained("owner"); e.Plan != store.PlanIndex {
		t.Errorf("by one path: %+v", e)
	}
	d.set(`groups/k0001/owner "o1"`, `groups/k0008/at null`, `groups/k0003 null`, `groups/new {"owner":"o1","at":{"day":99}}`)
	ready("written to")
	d.deploy(off)
	gone("switched off", declared.Off)
	d.set(`groups/k0004 null`, `groups/newer {"owner":"o1"}`)
	d.deploy(on)
	ready("switched on")
	for _, step := range []struct {
		verb  string
		state declared.Phase
	}{{declared.Pause, declared.Paused}, {declared.Resume, declared.Ready}, {declared.Rebuild, declared.Ready}} {
		if err := d.ControlData(d.Context(), "byOwner", step.verb); err != nil {
			t.Fatal(err)
		}
		if step.state == declared.Ready {
			ready(step.verb)
		} else {
			gone(step.verb, step.state)
		}
	}
	d.deploy(`"other": {"index": "/groups", "by": ["at/day", "owner"]}`)
	d.ready()
	if e := d.explained(order); e.Plan != store.PlanScan {
		t.Errorf("taken out: %+v", e)
	}
}

// TestUnusedIndexes: the status says when each index was last read, over restarts, and marks those that were not
// for 30 days. It is not stored for each read.
func TestUnusedIndexes(t *testing.T) {
	const day = 24 * time.Hour
	began := time.UnixMilli(1_800_000_000_000)
	clock := began
	d := &db{TB: t, dir: t.TempDir(), rules: `{"rules": {".read": true, ".write": true, "rooms": {".indexOn": "n"}}}`, now: func() time.Time { return clock }}
	d.open()
	defer func() { d.close() }()
	again := func(after time.Duration) {
		t.Helper()
		d.close()
		clock = clock.Add(after)
		d.open()
	}
	d.set(`groups ` + numbered(5, func(i int) string { return fmt.Sprintf(`{"owner":"o%d","at":{"day":%d}}`, i, i) }))
	d.deploy(`"byOwner": {"index": "/groups", "by": ["owner", "at/day"]}, "never": {"index": "/groups", "by": ["n", "m"]},
		"best": {"keep": 2, "at": "/scores/$u", "by": "n"}, "off": {"index": "/groups", "by": ["x", "y"], "state": "off"}`)
	d.settled()
	want := func(when string, last time.Time, unused ...string) {
		t.Helper()
		var got []string
		for _, s := range d.status() {
			if s.Unused {
				got = append(got, s.Name)
			}
		}
		if s := d.status()[0]; s.LastRead != max(last.UnixMilli(), 0) {
			t.Errorf("%s: last read at %d, want %d", when, s.LastRead, last.UnixMilli())
		}
		all, err := d.Indexes()
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range all {
			if x.Unused {
				got = append(got, x.Path+" "+x.Order)
			}
		}
		if !slices.Equal(got, unused) {
			t.Errorf("%s: unused are %q, want %q", when, got, unused)
		}
	}
	query := func() { d.readGroups() }
	again(day)
	want("never read", time.Time{})
	query()
	read := clock
	again(10 * time.Minute)
	want("read once", read)
	query()
	want("read again", clock)
	again(1)
	want("read twice in an hour", read)
	again(29*day - 11*time.Minute)
	want("a minute too early", read)
	again(2 * time.Minute)
	want("never read for 30 days", read, "never", `/groups ["n","m"]`, `/rooms "n"`)
	again(day)
	want("for 30 days", read, "byOwner", "never", `/groups ["owner","at/day"]`, `/groups ["n","m"]`, `/rooms "n"`)
	query()
	want("read after that", clock, "never", `/groups ["n","m"]`, `/rooms "n"`)
	d.deploy(`"byOwner": {"index": "/groups", "by": ["owner", "at/day"]}, "later": {"index": "/groups", "by": ["n", "m", "o"]}`)
	d.ready()
	again(day)
	want("another index", clock.Add(-day), `/rooms "n"`)
}

// readGroups reads the first group.
func (d *db) readGroups() {
	d.Helper()
	q := tree.Query{OrderBy: `["owner","at/day"]`, Limit: 1}
	if _, err := d.Get(d.Context(), dsync.Read{Caller: dsync.Admin, Path: tree.MustParsePath("groups"), Query: q}); err != nil {
		d.Fatal(err)
	}
}
