// Package pending has what a session leaves for its disconnect: writes that the server
// carries out when the session ends, each with its caller and its condition, and the form in
// which the store keeps them. It has no lock: the records of a session belong to the
// committer.
package pending

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
	MaxRecords = 10_000
	MaxBytes   = 16 << 20
	maxRewrite = 64 << 20 // of records that one request changes parts of
)

// Writes is what is to be written when a session ends: a sparse tree of
// values, not a list of operations (protocol §10). No location in it lies
// inside of another.
//
// A copy of it shares what neither has changed, so that one can be kept for the
// case that a batch does not commit. It costs the same whatever the size.
type Writes struct {
	At    btree.Map[string, *Record] // by target, so what is below a path comes in a row
	last  uint64                     // number of the last record
	Bytes int                        // of targets and values, see Record.Size
}

// A Record is one record with the caller it will be written for. It never
// changes.
type Record struct {
	number uint64 // of a session's records; a record that takes the place of another has a new one
	op     uint64 // number of the operation that it belongs to: that of the first record of its request
	Target tree.Target
	Value  tree.Draft
	Caller access.Caller
	Proof  string     // of the credential that the caller had, see SignInInfo; "": it cannot be revoked
	Only   *Condition // nil: in any case
	bytes  int        // its size, which takes time to find
}

// ValueCost is what each value of a record beyond the first counts for: it takes about
// that much memory and time until it is carried out.
const ValueCost = 1 << 10

func (w *Record) size() int {
	text := w.Value.Text()
	return len(w.Target.Path.Clean()) + len(text) + w.Only.size() + (tree.CountValues(text)-1)*ValueCost
}

// Snapshot returns a copy. The original must not be used while it is made.
func (p *Writes) Snapshot() Writes {
	return Writes{At: *p.At.Copy(), last: p.last, Bytes: p.Bytes}
}

// TooLarge reports whether this is more than one session may leave.
func (p *Writes) TooLarge() bool { return p.At.Len() > MaxRecords || p.Bytes > MaxBytes }

// All yields the records in path order.
func (p *Writes) All() iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		p.At.Scan(func(_ string, w *Record) bool { return yield(w) })
	}
}

// An Operation is what a session has left with one request, or what is still recorded of
// it. It is one write: its records have the same caller and the same condition.
type Operation struct {
	records []*Record
}

// Operations returns the operations in path order, by the first record of each. Those of
// priorities alone come last, since what has no value has no priority.
func (p *Writes) Operations() (list []*Operation) {
	found := make(map[uint64]*Operation)
	for _, priorities := range []bool{false, true} {
		for w := range p.All() {
			if w.Target.Priority != priorities {
				continue
			}
			o := found[w.op]
			if o == nil {
				o = new(Operation)
				found[w.op] = o
				list = append(list, o)
			}
			o.records = append(o.records, w)
		}
	}
	return list
}

// Only returns the condition of the operation; nil: it has none.
func (o *Operation) Only() *Condition { return o.records[0].Only }

// Caller returns for whom the operation is carried out.
func (o *Operation) Caller() access.Caller { return o.records[0].Caller }

// Proof returns what the records say of the credential that the caller had.
func (o *Operation) Proof() string { return o.records[0].Proof }

// Update returns the operation as an update.
func (o *Operation) Update() (u tree.Update) {
	for _, r := range o.records {
		u = append(u, tree.Write{Target: r.Target, Value: r.Value})
	}
	return u
}

// ancestor returns the record that holds what is at t because it is above it.
func (p *Writes) ancestor(t tree.Target) *Record {
	for at := (tree.Target{Path: t.Path}); ; {
		if at != t {
			if w, ok := p.At.Get(at.String()); ok {
				return w
			}
		}
		if at.Path.IsRoot() {
			return nil
		}
		at.Path, _ = at.Path.Parent()
	}
}

// An Edit changes the records of a session. It notes what the store has to
// be told, which is all that an edit costs.
//
// It changes a Snapshot, while the session keeps the Writes that it had. The
// two are exchanged when the store has taken the changes, so there is nothing
// to undo in the records themselves.
type Edit struct {
	*Writes
	first   uint64    // number of the first record that is new
	added   []*Record // some may have been removed again
	removed []uint64  // numbers of records that the store has
	rewrote int       // bytes of records of which parts were changed
}

// Edit begins to change the records.
func (p *Writes) Edit() *Edit {
	return &Edit{Writes: p, first: p.last + 1}
}

// Put records a value at w's target, inside the record above if there is one, and in place of
// all records below. Inside of one with another condition it fails.
func (e *Edit) Put(w Record) error {
	w.op = e.first
	t := w.Target
	above := e.ancestor(t)
	if above == nil {
		e.removeAt(t)
		e.set(w)
		return nil
	}
	if !above.Only.Same(w.Only) {
		return fault.ErrOnlyIf
	}
	if e.rewrote += len(above.Value.Text()); e.rewrote > maxRewrite {
		return fault.ErrLimit
	}
	w.Target = above.Target
	w.Value = within(above.Value, tree.Target{Path: above.Target.Path.Rel(t.Path), Priority: t.Priority}, w.Value)
	e.set(w)
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

// Cancel drops what is recorded at and below a path. A record above is split,
// unless it is a leaf: what is not on the way to the path stays, each child as a
// record of its own.
func (e *Edit) Cancel(t tree.Target) {
	for above := e.ancestor(t); above != nil; above = e.ancestor(t) {
		n := tree.FromCanonical(above.Value.Text())
		if n.IsLeaf() || isServerValue(n) {
			return
		}
		e.remove(above)
		for key, child := range n.Children() {
			at := tree.Target{Path: above.Target.Path.Child(key)}
			part := *above
			part.Target, part.Value = at, tree.DraftFromText(child.Text())
			e.set(part)
		}
	}
	e.removeAt(t)
}

// removeAt removes the records at and below t.
func (e *Edit) removeAt(t tree.Target) {
	if w, ok := e.At.Get(t.String()); ok {
		e.remove(w)
	}
	if t.Priority {
		return
	}
	prefix := strings.TrimSuffix(t.String(), "/") + "/"
	var below []*Record
	e.At.Ascend(prefix, func(key string, w *Record) bool {
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

// Drop removes the records of an operation, if they are there.
func (e *Edit) Drop(o *Operation) bool {
	for _, w := range o.records {
		if have, _ := e.At.Get(w.Target.String()); have != w {
			return false
		}
		e.remove(w)
	}
	return true
}

func (e *Edit) remove(w *Record) {
	e.At.Delete(w.Target.String())
	e.Bytes -= w.bytes
	if w.number < e.first {
		e.removed = append(e.removed, w.number)
	}
}

// set adds a record, in place of one with the same target.
func (e *Edit) set(w Record) {
	if have, ok := e.At.Get(w.Target.String()); ok {
		e.remove(have)
	}
	e.last++
	w.number = e.last
	e.keep(&w)
	e.added = append(e.added, &w)
}

func (p *Writes) keep(w *Record) {
	w.bytes = w.size()
	p.At.Set(w.Target.String(), w)
	p.Bytes += w.bytes
}

// None reports whether the edit changes nothing.
func (e *Edit) None() bool { return len(e.added) == 0 && len(e.removed) == 0 }

// A Keeper keeps the records of sessions, as [store.Disconnects] does. The
// store is seen through it, so edits can be tested without a file.
type Keeper interface {
	Put(p store.Pending) error
	Delete(session string, number uint64) error
}

// Save has the keeper keep what the edit has changed.
func (e *Edit) Save(to Keeper, session string) error {
	for _, number := range e.removed {
		if err := to.Delete(session, number); err != nil {
			return err
		}
	}
	for _, w := range e.added {
		if have, _ := e.At.Get(w.Target.String()); have != w {
			continue
		}
		data, err := w.Encode()
		if err != nil {
			return err
		}
		if err := to.Put(store.Pending{Session: session, Number: w.number, Data: data}); err != nil {
			return err
		}
	}
	return nil
}

// storedPending is a record as the store keeps it.
type storedPending struct {
	Target string           `json:"target"`
	Value  string           `json:"value"` // text of the draft
	Admin  bool             `json:"admin,omitempty"`
	Auth   rules.Auth       `json:"auth"`
	Proof  string           `json:"proof,omitempty"` // absent in older files
	OnlyIf *storedCondition `json:"if,omitempty"`
	Op     uint64           `json:"op,omitempty"` // absent in older files: each record is an operation
}

// Encode returns the record as the store keeps it.
func (w *Record) Encode() ([]byte, error) {
	return json.Marshal(storedPending{w.Target.String(), w.Value.Text(), w.Caller.Admin, w.Caller.Auth, w.Proof, w.Only.stored(), w.op})
}

// Restore adds a record as the store kept it.
func (p *Writes) Restore(r store.Pending) error {
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
	p.keep(&Record{
		number: r.Number,
		op:     cmp.Or(stored.Op, r.Number),
		Target: t,
		Value:  tree.DraftFromText(stored.Value),
		Caller: access.Caller{Auth: rules.NewAuth(stored.Auth.JSON), Admin: stored.Admin},
		Proof:  stored.Proof,
		Only:   only,
	})
	return nil
}
