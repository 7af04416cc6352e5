package declared

import (
	"sync/atomic"
	"time"
)

// An Activity is what a definition has done for writes since its database was opened. Writes that were
// refused, and the building of the definition where it finds nothing to change, are not in it.
type Activity struct {
	Touches uint64  `json:"touches"` // nodes that writes made come, change or go
	Writes  uint64  `json:"writes"`  // places that changed because of them
	Skipped uint64  `json:"skipped"` // nodes that did not match because an expression failed
	Seconds float64 `json:"seconds"` // to derive; definitions that one write meets share the time equally
}

// Plus returns the sum of both.
func (a Activity) Plus(o Activity) Activity {
	return Activity{a.Touches + o.Touches, a.Writes + o.Writes, a.Skipped + o.Skipped, a.Seconds + o.Seconds}
}

// A tally counts for one definition. The committer adds, and others read. It outlives the Data: a
// definition of the same name counts on after a deploy, so its metrics do not fall back.
type tally struct{ touches, writes, skipped, nanos atomic.Uint64 }

func (t *tally) activity() Activity {
	return Activity{t.touches.Load(), t.writes.Load(), t.skipped.Load(), time.Duration(t.nanos.Load()).Seconds()}
}

// Count counts what follows. The committer calls it when the transaction is durable, so a batch
// that is repeated counts once.
func (f *Follows) Count() {
	for _, x := range f.Touched {
		t := f.data.tallies[x.Definition.Name]
		t.touches.Add(uint64(x.Nodes))
		t.nanos.Add(uint64(f.took) / uint64(len(f.Touched)))
		t.skipped.Add(uint64(x.Skipped))
	}
	for _, x := range f.Derived {
		f.data.tallies[x.Definition.Name].writes.Add(1)
	}
}

// Activities returns those of all definitions by their names.
func (d *Data) Activities() map[string]Activity {
	if d == nil {
		return nil
	}
	all := make(map[string]Activity, len(d.tallies))
	for name, t := range d.tallies {
		all[name] = t.activity()
	}
	return all
}
