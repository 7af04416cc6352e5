package derive

import (
	"time"

	"github.com/dogwooddb/dogwood/tree"
)

// finish derives what is no write of the tree: times of expiry, entries of indexes. It sees
// the whole update.
func (r *run) finish() {
	for _, d := range r.document.definitions {
		if !r.ends(d) {
			continue
		}
		for _, p := range sortedKeys(r.work[d.position].touched) {
			if r.err != nil {
				return
			}
			if d.Kind == Expire {
				r.result.Timers = append(r.result.Timers, Timer{d, p, r.due(d, p)})
			} else if e, changed := r.indexed(d, p); changed {
				r.result.Entries = append(r.result.Entries, e)
			}
		}
	}
}

// due returns when a node expires, 0 for never.
func (r *run) due(d *Definition, p tree.Path) int64 {
	if !r.affordable(d) || !r.trees.Exists(p, true) || !r.holds(d, p, true) {
		return 0
	}
	if d.value == nil {
		return r.Now.Add(d.After).UnixMilli()
	}
	n, fault := r.value(d.value, p, true)
	ms, ok := n.NumberValue()
	switch {
	case !ok && fault == "" && n.IsEmpty():
		return 0
	case !ok && fault == "":
		fault = "the time is no number"
	case ok && (ms < 0 || ms > 1<<53):
		fault = "the time is out of range"
	}
	if fault != "" {
		r.skip(d, p, true, fault)
		return 0
	}
	return int64(ms) + d.After.Milliseconds()
}

// indexed returns what an index has of a child, and whether that changes.
func (r *run) indexed(d *Definition, p tree.Path) (e Entry, changed bool) {
	e = Entry{Definition: d, Path: p}
	for _, after := range []bool{false, true} {
		if !r.trees.Exists(p, after) {
			continue
		}
		values := make([]tree.Node, len(d.By))
		for i, by := range d.By {
			n, err := r.at(p.Join(tree.MustParsePath(by)), after)
			if r.failed(err) {
				return e, false
			}
			values[i] = tree.IndexValue(tree.ByValue, n)
		}
		if after {
			e.After = values
		} else {
			e.Before = values
		}
	}
	return e, !sameValues(e.Before, e.After)
}

// at returns the node at p, before or after the write.
func (r *run) at(p tree.Path, after bool) (tree.Node, error) {
	if after {
		return r.update.get(r.Before.Get, p)
	}
	return r.Before.Get(p)
}

func sameValues(a, b []tree.Node) bool {
	if (a == nil) != (b == nil) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Time returns when the node expires. Due must not be 0.
func (t Timer) Time() time.Time { return time.UnixMilli(t.Due) }
