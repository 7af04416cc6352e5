package audience

import (
	"fmt"
	"testing"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
)

// TestSweep: what a write above very many places that grants read does for them does not depend on
// their number. It makes them stale all the same, but not others, and the slices decide each of them
// once.
func TestSweep(t *testing.T) {
	rs, err := rules.Parse(`{"rules":{"$t":{"$r":{"$m":{".read":"data.child('hidden').val() !== true && data.child('gone').val() !== true"}}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	const many = 3000
	h := newHouse(t, rs)
	var below, others []*Listener
	for i := range many {
		below = append(below, h.listener(fmt.Sprintf("/talk/r/m%d", i), ""))
		others = append(others, h.listener(fmt.Sprintf("/other/r%d/m", i), ""))
	}
	for _, l := range append(below, others...) {
		if err := l.Attach(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	count := func(of []*Listener) (stale int) {
		for _, l := range of {
			if h.grants.isStale(l.grant) {
				stale++
			}
		}
		return stale
	}
	for _, paths := range [][]string{{"/talk/r"}, {"/talk/r/m1", "/talk"}} {
		var writes []tree.ResolvedWrite
		for _, p := range paths {
			writes = append(writes, tree.ResolvedWrite{Target: tree.Target{Path: tree.MustParsePath(p)}})
		}
		if err := h.commit(func(b *Batch) error {
			r := b.reviewing(writes)
			if n := len(r.compared) + len(r.changed); n > reviewBelow {
				t.Errorf("a write at %s looks at %d places, want at most %d", paths, n, reviewBelow)
			}
			b.review(r)
			if n := len(h.grants.stale); n > reviewBelow {
				t.Errorf("a write at %s marks %d places, want at most %d", paths, n, reviewBelow)
			}
			return nil
		}, false); err != nil {
			t.Fatal(err)
		}
		if n, m := count(below), count(others); n != many || m != 0 {
			t.Errorf("after a write at %s %d grants below are stale and %d others, want %d and 0", paths, n, m, many)
		}
		decided := 0
		for h.IsStale() {
			before := count(below)
			if err := h.commit(func(b *Batch) error { b.ReviewSlice(); return nil }, false); err != nil {
				t.Fatal(err)
			}
			n := before - count(below)
			if decided += n; n > ReviewAtOnce {
				t.Errorf("a slice decides %d grants, want at most %d", n, ReviewAtOnce)
			}
		}
		if decided != many {
			t.Errorf("%d grants are decided again, want %d", decided, many)
		}
	}
	for _, l := range append(below, others...) {
		l.Close()
	}
	if err := h.store.View(h.Check); err != nil {
		t.Error(err)
	}
}

// TestLaggingBelow: a write above more views than it may read rows reads none of them, and has all of
// them read later. The view at its own path gets an event.
func TestLaggingBelow(t *testing.T) {
	const many = 50
	h := newHouse(t, nil)
	h.PublishRows = many - 1
	for i := range many {
		if err := h.listener(fmt.Sprintf("/talk/m%d", i), "").Attach(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.listener("/talk", "").Attach(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.commit(func(b *Batch) error {
		c := Change{Batch: b, Writes: []tree.ResolvedWrite{{Target: tree.Target{Path: tree.MustParsePath("/talk")}}}}
		read := b.Tx.Stats().Read
		if err := c.Before(); err != nil {
			return err
		}
		if err := c.After(); err != nil {
			return err
		}
		lagging := 0
		for _, e := range b.events {
			if e.event == nil {
				lagging++
			}
		}
		if n := b.Tx.Stats().Read - read; n != 0 || len(c.views) != 1 || lagging != many || len(b.events) != many+1 {
			t.Errorf("%d rows are read for %d views, %d of %d events are whole views; want 0 for 1, %d of %d", n, len(c.views), lagging, len(b.events), many, many+1)
		}
		return nil
	}, false); err != nil {
		t.Fatal(err)
	}
}
