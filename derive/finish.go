package derive

import (
	"time"

	"github.com/dogwooddb/dogwood/tree"
)

// finish derives what is no write of the tree: times of expiry. It sees the whole update, with what
// other definitions have put into it. Each touched node gets its time anew, also if the write does
// not change it: that is how a client keeps a node from expiring.
func (r *run) finish() {
	for _, d := range r.document.definitions {
		if !r.ends(d) {
			continue
		}
		for _, x := range r.work[d.position].touched.sorted() {
			if r.err != nil {
				return
			}
			r.result.Timers = append(r.result.Timers, Timer{d, x.path, r.due(d, x.path, x.v)})
		}
	}
}

// due returns when a node expires, 0 for never.
func (r *run) due(d *Definition, p tree.Path, t touched) int64 {
	if !r.affordable(d) || !r.exists(p, t, true) || !r.holds(d, p, true) {
		return 0
	}
	if d.value == nil {
		return r.Now.Add(d.After).UnixMilli()
	}
	n, fault := r.value(d.value, p, true)
	due := int64(0)
	if fault == "" && !n.IsEmpty() {
		due, fault = dueOf(d, n)
	}
	if fault != "" {
		r.skip(d, p, true, fault)
	}
	return due
}

// dueOf returns when a node expires that says a time, in milliseconds since 1970: After later if it
// is the time since when it counts ("from"), and After is 0 if it is the time itself ("at"). A time
// in the past is one, too: the node is due at once.
func dueOf(d *Definition, n tree.Node) (due int64, fault string) {
	switch ms, ok := n.NumberValue(); {
	case !ok:
		return 0, "the time is no number"
	case ms < 0 || ms > 1<<53:
		return 0, "the time is out of range"
	default:
		return max(int64(ms)+d.After.Milliseconds(), 1), "" // 0 would be never
	}
}

// Time returns when the node expires. Due must not be 0.
func (t Timer) Time() time.Time { return time.UnixMilli(t.Due) }
