// Package pending has what a session leaves for its disconnect: writes that the server
// carries out when the session ends, each with its caller and its condition, and the form in
// which the store keeps them. It has no lock: the records of a session belong to the
// committer.
package sync

import (
	"cmp"
	"encoding/json"
	"iter"
	"strings"

	"github.com/tidwall/btree"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Bounds of what one session may leave for its disconnect.
const (
	maxPending      = 10_000
	maxPendingBytes = 16 << 20
	maxRewrite      = 64 << 20 // of records that one request changes parts of
)

// pendingWrites is what is to be written when a session ends: a sparse tree of
// values, not a list of operations (protocol §10). No location in it lies
// inside of another.
//
// A copy of it shares what neither has changed, so that one can be kept for the
// case that a batch does not commit. It costs the same whatever the size.
type pendingWrites struct {
	at    btree.Map[string, *pendingWrite] // by target, so what is below a path comes in a row
	last  uint64                           // number of the last record
	bytes int                              // of targets and values, see pendingWrite.size
}

// A pendingWrite is one record with the caller it will be written for. It never
// changes.
type pendingWrite struct {
	number uint64 // of a session's records; a record that takes the place of another has a new one
	op     uint64 // number of the operation that it belongs to: that of the first record of its request
	target tree.Target
	value  tree.Draft
	caller access.Caller
	only   *onlyIf // nil: in any case
	bytes  int     // its size, which takes time to find
}

// pendingValue is what each value of a record beyond the first counts for: it takes about
// that much memory and time until it is carried out.
const pendingValue = 1 << 10

func (w *pendingWrite) size() int {
	text := w.value.Text()
	return len(w.target.Path.Clean()) + len(text) + w.only.size() + (tree.CountValues(text)-1)*pendingValue
}

// snapshot returns a copy. The original must not be used while it is made.
func (p *pendingWrites) snapshot() pendingWrites {
	return pendingWrites{at: *p.at.Copy(), last: p.last, bytes: p.bytes}
}

// tooLarge reports whether this is more than one session may leave.
func (p *pendingWrites) tooLarge() bool { return p.at.Len() > maxPending || p.bytes > maxPendingBytes }

// all yields the records in path order.
func (p *pendingWrites) all() iter.Seq[*pendingWrite] {
	return func(yield func(*pendingWrite) bool) {
		p.at.Scan(func(_ string, w *pendingWrite) bool { return yield(w) })
	}
}

// A pendingOperation is what a session has left with one request, or what is still recorded of
// it. It is one write: its records have the same caller and the same condition.
type pendingOperation struct {
	records []*pendingWrite
}

// operations returns the operations in path order, by the first record of each. Those of
// priorities alone come last, since what has no value has no priority.
func (p *pendingWrites) operations() (list []*pendingOperation) {
	found := make(map[uint64]*pendingOperation)
	for _, priorities := range []bool{false, true} {
		for w := range p.all() {
			if w.target.Priority != priorities {
				continue
			}
			o := found[w.op]
			if o == nil {
				o = new(pendingOperation)
				found[w.op] = o
				list = append(list, o)
			}
			o.records = append(o.records, w)
		}
	}
	return list
}

// only returns the condition of the operation; nil: it has none.
func (o *pendingOperation) only() *onlyIf { return o.records[0].only }

func (o *pendingOperation) caller() access.Caller { return o.records[0].caller }

// update returns the operation as an update.
func (o *pendingOperation) update() (u tree.Update) {
	for _, r := range o.records {
		u = append(u, tree.Write{Target: r.target, Value: r.value})
	}
	return u
}

// ancestor returns the record that holds what is at t because it is above it.
func (p *pendingWrites) ancestor(t tree.Target) *pendingWrite {
	for at := (tree.Target{Path: t.Path}); ; {
		if at != t {
			if w, ok := p.at.Get(at.String()); ok {
				return w
			}
		}
		if at.Path.IsRoot() {
			return nil
		}
		at.Path, _ = at.Path.Parent()
	}
}

// A pendingEdit changes the records of a session. It notes what the store has to
// be told, which is all that an edit costs.
type pendingEdit struct {
	*pendingWrites
	first   uint64          // number of the first record that is new
	added   []*pendingWrite // some may have been removed again
	removed []uint64        // numbers of records that the store has
	rewrote int             // bytes of records of which parts were changed
}

// edit begins to change the records.
func (p *pendingWrites) edit() *pendingEdit {
	return &pendingEdit{pendingWrites: p, first: p.last + 1}
}

// put records a value at t, inside the record above if there is one, and in
// place of all records below. Inside of one with another condition it fails.
func (e *pendingEdit) put(t tree.Target, v tree.Draft, c access.Caller, only *onlyIf) error {
	above := e.ancestor(t)
	if above == nil {
		e.removeAt(t)
		e.set(pendingWrite{op: e.first, target: t, value: v, caller: c, only: only})
		return nil
	}
	if !above.only.same(only) {
		return fault.ErrOnlyIf
	}
	if e.rewrote += len(above.value.Text()); e.rewrote > maxRewrite {
		return fault.ErrLimit
	}
	at := above.target
	v = within(above.value, tree.Target{Path: at.Path.Rel(t.Path), Priority: t.Priority}, v)
	e.set(pendingWrite{op: e.first, target: at, value: v, caller: c, only: only})
	return nil
}

// within replaces a part of a value that may hold server values. They are
// leaves: what is written below one replaces it.
func within(d tree.Draft, t tree.Target, v tree.Draft) tree.Draft {
	whole := tree.FromCanonical(d.Text())
	part := tree.FromCanonical(v.Text())
	for p := t.Path; !p.IsRoot(); {
		p, _ = p.Parent()
		if isServerValue(whole.Get(p)) {
			whole = whole.With(p, tree.Empty)
		}
	}
	return tree.DraftFromText(whole.WithTarget(t, part).Text())
}

// isServerValue reports whether a part of a draft stands for a value that is not
// known yet.
func isServerValue(n tree.Node) bool { return strings.HasPrefix(n.Text(), `{".sv":`) }

// cancel drops what is recorded at and below a path. A record above is split,
// unless it is a leaf: what is not on the way to the path stays, each child as a
// record of its own.
func (e *pendingEdit) cancel(t tree.Target) {
	for above := e.ancestor(t); above != nil; above = e.ancestor(t) {
		n := tree.FromCanonical(above.value.Text())
		if n.IsLeaf() || isServerValue(n) {
			return
		}
		e.remove(above)
		for key, child := range n.Children() {
			at := tree.Target{Path: above.target.Path.Child(key)}
			part := *above
			part.target, part.value = at, tree.DraftFromText(child.Text())
			e.set(part)
		}
	}
	e.removeAt(t)
}

// removeAt removes the records at and below t.
func (e *pendingEdit) removeAt(t tree.Target) {
	if w, ok := e.at.Get(t.String()); ok {
		e.remove(w)
	}
	if t.Priority {
		return
	}
	prefix := strings.TrimSuffix(t.String(), "/") + "/"
	var below []*pendingWrite
	e.at.Ascend(prefix, func(key string, w *pendingWrite) bool {
		if !strings.HasPrefix(key, prefix) {
			return false
		}
		below = append(below, w)
		return true
	})
	for _, w := range below {
		e.remove(w)
	}
}

// drop removes the records of an operation, if they are there.
func (e *pendingEdit) drop(o *pendingOperation) bool {
	for _, w := range o.records {
		if have, _ := e.at.Get(w.target.String()); have != w {
			return false
		}
		e.remove(w)
	}
	return true
}

func (e *pendingEdit) remove(w *pendingWrite) {
	e.at.Delete(w.target.String())
	e.bytes -= w.bytes
	if w.number < e.first {
		e.removed = append(e.removed, w.number)
	}
}

// set adds a record, in place of one with the same target.
func (e *pendingEdit) set(w pendingWrite) {
	if have, ok := e.at.Get(w.target.String()); ok {
		e.remove(have)
	}
	e.last++
	w.number = e.last
	e.keep(&w)
	e.added = append(e.added, &w)
}

func (p *pendingWrites) keep(w *pendingWrite) {
	w.bytes = w.size()
	p.at.Set(w.target.String(), w)
	p.bytes += w.bytes
}

// none reports whether the edit changes nothing.
func (e *pendingEdit) none() bool { return len(e.added) == 0 && len(e.removed) == 0 }

// save tells the store what the edit has changed.
func (e *pendingEdit) save(tx *store.Tx, session string) error {
	for _, number := range e.removed {
		if err := tx.Disconnects().Delete(session, number); err != nil {
			return err
		}
	}
	for _, w := range e.added {
		if have, _ := e.at.Get(w.target.String()); have != w {
			continue
		}
		data, err := w.encode()
		if err != nil {
			return err
		}
		if err := tx.Disconnects().Put(store.Pending{Session: session, Number: w.number, Data: data}); err != nil {
			return err
		}
	}
	return nil
}

// storedPending is a record as the store keeps it.
type storedPending struct {
	Target string        `json:"target"`
	Value  string        `json:"value"` // text of the draft
	Admin  bool          `json:"admin,omitempty"`
	Auth   rules.Auth    `json:"auth"`
	OnlyIf *storedOnlyIf `json:"if,omitempty"`
	Op     uint64        `json:"op,omitempty"` // absent in older files: each record is an operation
}

func (w *pendingWrite) encode() ([]byte, error) {
	return json.Marshal(storedPending{w.target.String(), w.value.Text(), w.caller.Admin, w.caller.Auth, w.only.stored(), w.op})
}

// restore adds a record as the store kept it.
func (p *pendingWrites) restore(r store.Pending) error {
	var stored storedPending
	if err := json.Unmarshal(r.Data, &stored); err != nil {
		return err
	}
	t, err := tree.ParseTarget(stored.Target)
	if err != nil {
		return err
	}
	only, err := stored.OnlyIf.onlyIf()
	if err != nil {
		return err
	}
	p.last = max(p.last, r.Number)
	p.keep(&pendingWrite{
		number: r.Number,
		op:     cmp.Or(stored.Op, r.Number),
		target: t,
		value:  tree.DraftFromText(stored.Value),
		caller: access.Caller{Auth: rules.NewAuth(stored.Auth.JSON), Admin: stored.Admin},
		only:   only,
	})
	return nil
}
