package sync

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Bounds of what one session may leave for its disconnect.
const (
	maxPending      = 10_000
	maxPendingBytes = 16 << 20
)

// pendingWrites is what is to be written when a session ends: a sparse tree of
// values, not a list of operations (wire protocol §10). No location in it lies
// inside of another.
type pendingWrites struct {
	at    map[tree.Target]pendingWrite
	last  uint64 // number of the last record
	bytes int
}

// A pendingWrite is one record with the caller it will be written for.
type pendingWrite struct {
	number uint64
	value  tree.Draft
	caller Caller
}

// ancestor returns the record that holds what is at or above t.
func (p *pendingWrites) ancestor(t tree.Target) (tree.Target, bool) {
	for at := (tree.Target{Path: t.Path}); ; {
		if at != t {
			if _, ok := p.at[at]; ok {
				return at, true
			}
		}
		if at.Path.IsRoot() {
			return at, false
		}
		at.Path, _ = at.Path.Parent()
	}
}

// put records a value at t, inside the record above if there is one, and in
// place of all records below.
func (p *pendingWrites) put(t tree.Target, v tree.Draft, c Caller) {
	if at, ok := p.ancestor(t); ok {
		above := p.at[at]
		above.value = within(above.value, tree.Target{Path: at.Path.Rel(t.Path), Priority: t.Priority}, v)
		above.caller = c
		p.set(at, above)
		return
	}
	p.removeAt(t)
	p.set(t, pendingWrite{value: v, caller: c})
}

// within replaces a part of a value that may hold server values. They are
// leaves: what is written below one replaces it.
func within(d tree.Draft, t tree.Target, v tree.Draft) tree.Draft {
	whole := tree.FromCanonical(d.Text())
	part := tree.FromCanonical(v.Text())
	for p := t.Path; !p.IsRoot(); {
		p, _ = p.Parent()
		if strings.HasPrefix(whole.Get(p).Text(), `{".sv":`) {
			whole = whole.With(p, tree.Empty)
		}
	}
	return tree.DraftFromText(whole.WithTarget(tree.Target{Path: t.Path, Priority: t.Priority}, part).Text())
}

// cancel drops what is recorded at and below a path. A record above is split:
// what is not on the way to the path stays, each child as a record of its own.
func (p *pendingWrites) cancel(t tree.Target) {
	for {
		at, ok := p.ancestor(t)
		if !ok {
			break
		}
		above := p.at[at]
		n := tree.FromCanonical(above.value.Text())
		if !n.IsObject() || strings.HasPrefix(n.Text(), `{".sv":`) {
			return
		}
		p.remove(at)
		for key, child := range n.Children() {
			p.set(tree.Target{Path: at.Path.Child(key)}, pendingWrite{
				value:  tree.DraftFromText(child.Text()),
				caller: above.caller,
			})
		}
	}
	p.removeAt(t)
}

// removeAt removes the records at and below t.
func (p *pendingWrites) removeAt(t tree.Target) {
	for have := range p.at {
		if have == t || !t.Priority && t.Path.Contains(have.Path) {
			p.remove(have)
		}
	}
}

func (p *pendingWrites) remove(t tree.Target) {
	p.bytes -= len(p.at[t].value.Text())
	delete(p.at, t)
}

func (p *pendingWrites) set(t tree.Target, w pendingWrite) {
	if _, ok := p.at[t]; ok {
		p.remove(t)
	}
	p.last++
	w.number = p.last
	p.at[t] = w
	p.bytes += len(w.value.Text())
}

func (p *pendingWrites) clone() pendingWrites {
	c := *p
	if c.at = maps.Clone(p.at); c.at == nil {
		c.at = make(map[tree.Target]pendingWrite)
	}
	return c
}

// onDisconnect registers or cancels writes for the end of the session.
func (s *Session) onDisconnect(ctx context.Context, r wire.Request) error {
	t := &registerTask{session: s}
	var err error
	switch r.Action {
	case wire.ActionDisconnectPut:
		t.update, err = readPut(r.Body)
	case wire.ActionDisconnectMerge:
		_, t.update, err = readMerge(r.Body)
	default:
		t.cancel, err = readCancel(r.Body)
	}
	if err != nil {
		return err
	}
	if err := s.waitAcked(ctx, maxUnacked); err != nil {
		return err
	}
	t.caller = s.caller
	t.done = s.sent(r.ID)
	if err := s.db.queue.add(ctx, t); err != nil {
		t.done(err)
	}
	return nil
}

func readCancel(b wire.Body) (*tree.Target, error) {
	if !b.HasPath {
		return nil, fmt.Errorf("%w: no path", errMalformed)
	}
	t, err := tree.ParseTarget(b.Path)
	return &t, err
}

// A registerTask changes what a session leaves for its disconnect. It is on
// disk before it is acknowledged.
type registerTask struct {
	session *Session
	caller  Caller
	update  tree.Update
	cancel  *tree.Target
	done    func(error)
}

func (t *registerTask) size() int64 {
	return (&writeTask{write: Write{Update: t.update}}).size()
}

func (t *registerTask) finish(err error) { t.done(err) }

func (t *registerTask) apply(b *batch) error {
	next := t.session.pending.clone()
	if t.cancel != nil {
		next.cancel(*t.cancel)
	} else if err := t.register(b, &next); err != nil {
		return err
	}
	if len(next.at) > maxPending || next.bytes > maxPendingBytes {
		return ErrLimit
	}
	if err := b.savePending(t.session, next); err != nil {
		return broken(err)
	}
	return nil
}

// register checks the rules as for a write now, and records it.
func (t *registerTask) register(b *batch, next *pendingWrites) error {
	now := b.db.options.Now()
	writes, err := b.resolve(t.update, now)
	if err != nil {
		return err
	}
	if len(writes) > 0 {
		if err := b.authorizeWrite(t.caller, writes, now); err != nil {
			return err
		}
	}
	for _, w := range t.update {
		next.put(w.Target, w.Value, t.caller)
	}
	return nil
}

// savePending writes the difference between a session's records and next. A
// batch that does not commit leaves the session's records as they were.
func (b *batch) savePending(s *Session, next pendingWrites) error {
	before := s.pending
	kept := make(map[uint64]bool, len(next.at))
	for _, w := range next.at {
		kept[w.number] = true
	}
	for _, w := range before.at {
		if !kept[w.number] {
			if err := b.tx.DeletePending(s.id, w.number); err != nil {
				return err
			}
		}
	}
	for target, w := range next.at {
		if had, ok := before.at[target]; ok && had.number == w.number {
			continue
		}
		data, err := encodePending(target, w)
		if err != nil {
			return err
		}
		if err := b.tx.PutPending(store.Pending{Session: s.id, Number: w.number, Data: data}); err != nil {
			return err
		}
	}
	b.dirty = true
	b.undo = append(b.undo, func() { s.pending = before })
	s.pending = next
	return nil
}

// storedPending is a record as the store keeps it.
type storedPending struct {
	Target string     `json:"target"`
	Value  string     `json:"value"` // text of the draft
	Admin  bool       `json:"admin,omitempty"`
	Auth   rules.Auth `json:"auth"`
}

func encodePending(t tree.Target, w pendingWrite) ([]byte, error) {
	return json.Marshal(storedPending{t.String(), w.value.Text(), w.caller.Admin, w.caller.Auth})
}

func decodePending(data []byte) (tree.Target, pendingWrite, error) {
	var p storedPending
	if err := json.Unmarshal(data, &p); err != nil {
		return tree.Target{}, pendingWrite{}, err
	}
	t, err := tree.ParseTarget(p.Target)
	return t, pendingWrite{value: tree.DraftFromText(p.Value), caller: Caller{Auth: p.Auth, Admin: p.Admin}}, err
}

// A disconnectTask carries out what a session left, once: it removes the
// records in the same transaction.
type disconnectTask struct {
	waiter
	id      string
	session *Session // nil: of an earlier run
	pending pendingWrites
}

func (t *disconnectTask) size() int64 { return int64(taskOverhead + t.pending.bytes) }

func (t *disconnectTask) apply(b *batch) error {
	if t.session != nil {
		t.pending = t.session.pending
		if len(t.pending.at) == 0 {
			return nil
		}
		before := t.pending
		b.undo = append(b.undo, func() { t.session.pending = before })
		t.session.pending = pendingWrites{}
	}
	if err := b.tx.DeleteAllPending(t.id); err != nil {
		return broken(err)
	}
	b.dirty = true
	var allowed []tree.ResolvedWrite
	now := b.db.options.Now()
	for _, target := range t.order() {
		w := t.pending.at[target]
		writes, err := b.resolve(tree.Update{{Target: target, Value: w.value}}, now)
		if err == nil {
			err = b.authorizeWrite(w.caller, writes, now)
		}
		if isBroken(err) {
			return err
		}
		if err == nil { // a record that is refused is skipped (wire protocol §10)
			allowed = append(allowed, writes...)
		}
	}
	if len(allowed) == 0 {
		return nil
	}
	return b.change(allowed, len(allowed) > 1, tree.Root)
}

// order returns the records' targets in path order.
func (t *disconnectTask) order() []tree.Target {
	return slices.SortedFunc(maps.Keys(t.pending.at), func(a, b tree.Target) int {
		return strings.Compare(a.String(), b.String())
	})
}

// runDisconnect carries out what a session left and waits until it is on disk.
func (d *Database) runDisconnect(s *Session) error {
	return d.do(context.Background(), &disconnectTask{id: s.id, session: s})
}

// runOrphans carries out what sessions of an earlier run left: the server went
// down before it could.
func (d *Database) runOrphans() error {
	left := make(map[string]*disconnectTask)
	err := d.store.View(func(tx *store.Tx) error {
		for p, err := range tx.Pending() {
			if err != nil {
				return err
			}
			t := left[p.Session]
			if t == nil {
				t = &disconnectTask{id: p.Session, pending: new(pendingWrites).clone()}
				left[p.Session] = t
			}
			target, w, err := decodePending(p.Data)
			if err != nil {
				return fmt.Errorf("onDisconnect record of session %s: %w", p.Session, err)
			}
			t.pending.set(target, w)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		if err := d.do(context.Background(), left[id]); err != nil {
			return err
		}
	}
	return nil
}
