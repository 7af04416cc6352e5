package declared_test

import (
	"fmt"
	"testing"

	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/tree/store"
)

func (d *db) control(name, verb string) {
	d.Helper()
	if err := d.ControlData(d.Context(), name, verb); err != nil {
		d.Fatal(err)
	}
}

// TestStatusCounts: the status of a definition counts its own nodes, however it was built, and its activity all
// that do not match.
func TestStatusCounts(t *testing.T) {
	d := openDB(t, open)
	d.set(`tagged `+numbered(50, func(i int) string { return fmt.Sprint(i % 5) }), `a {"k": "x/y"}`)
	d.deploy(`"tags": {"map": "/tagged/$i", "to": "/tags/{data.val()}"}, "a": {"map": "/a/$k", "to": "/b/$k", "value": "= data.val()"},
		"b": {"map": "/b/$k", "to": "/c/$k/{data.val()}"}, "e": {"map": "/e/$k", "to": "/f/$k/{data.val()}"}, "v": {"map": "/v/$k", "to": "/w/$k", "value": "= data.val().length"}`)
	check := func(when string) {
		t.Helper()
		list := d.settled()
		if n := list[0].Nodes; n != 50 {
			t.Errorf("%s: %d nodes, want 50", when, n)
		}
		if list[1].Skipped != nil || len(list[2].Skipped) != 1 {
			t.Errorf("%s: skipped %q and %q", when, list[1].Skipped, list[2].Skipped)
		}
	}
	check("deployed")
	for _, s := range d.status() {
		d.control(s.Name, declared.Rebuild)
	}
	check("rebuilt")
	before := d.status()
	d.set(`e ` + numbered(30, func(int) string { return `"x/y"` }))
	d.set(`v/k 5`)
	after := d.status()
	for i, want := range map[int]uint64{3: 30, 4: 1} {
		if got := after[i].Activity.Skipped - before[i].Activity.Skipped; got != want {
			t.Errorf("%s: %d nodes did not match, want %d", after[i].Name, got, want)
		}
	}
}

// TestPauseOfFailed: a definition that has failed can be paused, and has its places compared when it is resumed.
func TestPauseOfFailed(t *testing.T) {
	d := openDB(t, open)
	d.set(`a {"x": 1}`, `b {"x": 2}`)
	d.deploy(`"copy": {"map": "/a/$k", "to": "/b/$k", "value": "= data.val()"}`)
	d.control("copy", declared.Pause)
	if s := d.settled()[0]; s.State != declared.Paused || s.Total != 0 || s.Error != "" {
		t.Errorf("%+v", s)
	}
	d.control("copy", declared.Resume)
	if s := d.settled()[0]; s.State != declared.Failed || s.Total != 1 {
		t.Errorf("%+v", s)
	}
	d.want("b", `{"x":2}`)
}

// TestRebuildLeavesIndexOfList: an index that a bounded list needs, too, stays when the definition of it is rebuilt.
func TestRebuildLeavesIndexOfList(t *testing.T) {
	o := openOffline(t)
	o.deploy(`"at": {"index": "/home/$u", "by": ["at"]}, "by": {"index": "/home/$u", "by": ["by"]}, "home": {"keep": 3, "at": "/home/$u", "by": "at"}`)
	for name, want := range map[string]bool{"at": true, "by": false, "home": true} {
		kept := false
		for _, ix := range o.data.WithoutIndex(name) {
			kept = kept || ix == (store.Index{Pattern: "home/$u", Order: map[string]string{"at": "at", "by": "by", "home": "at"}[name]})
		}
		if kept != want {
			t.Errorf("%s: its index is among those that stay: %t", name, kept)
		}
	}
}
