package sync

import (
	"container/list"
	"context"
	"errors"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/trie"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Bounds of the value that a condition is about. A value that is larger than
// comparedAtOnce is read and hashed before the write is queued; the committer only
// looks whether a write has touched it since.
const (
	maxCompared      = 4 << 20  // of callers that the rules apply to
	maxComparedAdmin = 16 << 20 // of administrators: what fits into one message
	comparedAtOnce   = 16 << 10 // in the committer
	rememberedFrom   = 1 << 10  // a smaller one is hashed as fast as it is found
)

// errUnprepared is the error of a conditional write whose value is too large to be
// compared in the committer, and is not known as it is now.
var errUnprepared = errors.New("the condition must be prepared again")

// mostCompared returns how large a value may be that a caller's condition is about.
func (wr *writer) mostCompared(c Caller) int64 {
	most := int64(maxCompared)
	if c.Admin {
		most = maxComparedAdmin
	}
	return min(most, wr.db.options.MaxRead)
}

// mayCompareFor decides whether a write may depend on its condition, and reports
// whether there is one to compare. The outcome tells what the value is, so that needs
// the permission to read, whether the condition holds or not.
//
// Whether there is anything is another matter: rules often let a caller create what the
// caller can only read once it is there. So without the permission to read, a write may
// still depend on there being nothing. It leaves what it wrote behind. An explained one
// would tell anybody, again and again, whether there is something, so it is explained as if
// there were nothing.
func (b *batch) mayCompareFor(w *Write) (compares bool, err error) {
	if w.If == nil {
		return false, nil
	}
	t := w.Update[0].Target
	err = b.authorizeRead(w.Caller, t.Path)
	if err == nil || *w.If != "" || !errors.Is(err, ErrDenied) {
		return true, err
	}
	if b.apart {
		return false, nil
	}
	switch exists, failed := b.exists(t); {
	case failed != nil:
		return false, broken(failed)
	case exists:
		return false, err
	}
	return false, nil
}

// exists reports whether there is anything at a target, without reading it.
func (b *batch) exists(t tree.Target) (bool, error) {
	if t.Priority {
		n, err := b.tx.Priority(t.Path)
		return !n.IsEmpty(), err
	}
	return b.tx.Has(t.Path)
}

// compare checks the condition of a write whose caller may read the value.
func (b *batch) compare(w *Write) error {
	t := w.Update[0].Target
	if t.Priority {
		n, err := b.tx.Priority(t.Path)
		if err != nil || n.MatchesHash(*w.If) {
			return broken(err)
		}
		return &StaleError{Current: n, known: true}
	}
	most := b.db.mostCompared(w.Caller)
	if f := b.hashes.find(t.Path); f != nil && f.answers(most, b.rules) {
		return f.decide(w, most, &StaleError{})
	}
	return b.compareNow(w, most)
}

// decide is the outcome of the condition of a write; stale is that of a value that
// differs.
func (f *fingerprint) decide(w *Write, most int64, stale *StaleError) error {
	switch {
	case f.over || f.size > most:
		return ErrTooBig
	case f.excess != nil && !w.Caller.Admin:
		return &UnboundedError{f.excess}
	case !f.matches(*w.If):
		return stale
	}
	return nil
}

// compareNow reads and hashes the value that a condition is about. In the committer
// it reads a small one only.
func (b *batch) compareNow(w *Write, most int64) error {
	limit := min(most, comparedAtOnce)
	if b.apart {
		limit = most
	}
	p := w.Update[0].Path
	n, err := b.tx.GetLimit(p, limit)
	switch {
	case errors.Is(err, store.ErrTooBig) && limit < most:
		return errUnprepared
	case errors.Is(err, store.ErrTooBig):
		return ErrTooBig
	case err != nil:
		return broken(err)
	}
	f := newFingerprint(p, n)
	if err := f.bound(b.rules, b.tx); err != nil {
		return broken(err)
	}
	if f.size >= rememberedFrom {
		b.remember(f)
	}
	return f.decide(w, most, &StaleError{Current: n, known: true})
}

// bound compares the value with the limits of the rules.
func (f *fingerprint) bound(rs *rules.Ruleset, tx *store.Tx) (err error) {
	f.rules = rs
	f.excess, err = rs.Excess(tx, f.path, tree.Query{}, false)
	return err
}

// remember keeps the fingerprint of a value of this transaction, unless that is
// rolled back.
func (b *batch) remember(f *fingerprint) {
	f.path = ownPath(f.path) // not the text of a message
	h := &b.hashes
	h.watch(f)
	h.keep(f)
	b.undo = append(b.undo, func() { h.drop(f) })
}

// maxPrepares bounds how often a write is prepared again because its value was
// touched before the write came to its turn. After that the condition counts as
// failed, and the caller may try again with the value that is there then.
const maxPrepares = 8

// carryOut prepares a write, queues it and waits until it is done.
func (wr *writer) carryOut(ctx context.Context, w Write, rest bool) (*Commit, error) {
	for try := 1; ; try++ {
		if err := wr.prepare(ctx, w); err != nil {
			return nil, err
		}
		t := &syncWrite{writeTask: writeTask{write: w}, span: wr.db.newSpan(rest)}
		err := wr.db.do(ctx, t)
		switch {
		case err == nil:
			return &t.commit, nil
		case !errors.Is(err, errUnprepared):
			return nil, err
		case try == maxPrepares:
			return nil, &StaleError{}
		}
	}
}

// prepare reads and hashes the value that a condition is about if it is large, so
// that the committer need not. The committer decides.
func (wr *writer) prepare(ctx context.Context, w Write) error {
	large, err := wr.needsPreparing(ctx, w)
	if err != nil || !large {
		return err
	}
	turn := wr.turnOf(w)
	if err := turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer turn.Release(1)
	return guarded(func() error { return wr.fingerprint(ctx, w) })
}

// turnOf returns with whom a write takes turns to read a large value.
func (wr *writer) turnOf(w Write) *limit.Share {
	if w.Turn != nil {
		return w.Turn
	}
	return wr.readers
}

// needsPreparing reports whether the value that the condition of a write is about is
// large. It reads a small part of the value, and nothing for a caller that may not
// read it: the committer refuses the write.
func (wr *writer) needsPreparing(ctx context.Context, w Write) (large bool, err error) {
	if w.If == nil || w.Update[0].Priority {
		return false, nil
	}
	err = wr.db.snapshot(func(tx *store.Tx) error {
		if may, err := wr.db.mayReadPlace(ctx, wr.db.rules.Load(), tx, w.Caller, w.Update[0].Path); err != nil || !may {
			return err
		}
		_, err := tx.GetLimit(w.Update[0].Path, comparedAtOnce/2)
		if errors.Is(err, store.ErrTooBig) {
			large, err = true, nil
		}
		return err
	})
	return large, err
}

// mayReadPlace reports whether a caller may read what is at a path. The caller did
// not ask for that, so no observer is told.
func (a *access) mayReadPlace(ctx context.Context, rs *rules.Ruleset, tx *store.Tx, c Caller, p tree.Path) (bool, error) {
	if c.Admin {
		return true, nil
	}
	decision, err := rs.Check(ctx, &rules.Request{
		Op:    rules.OpRead,
		Auth:  c.Auth,
		Path:  p,
		Plain: true,
		Data:  tx,
		Now:   a.db.options.Now(),
	})
	return decision.Allow, err
}

// fingerprint makes the fingerprint that the condition of a write needs, unless it is
// known.
func (wr *writer) fingerprint(ctx context.Context, w Write) error {
	most, rs := wr.mostCompared(w.Caller), wr.db.rules.Load()
	f := &fingerprint{path: ownPath(w.Update[0].Path)}
	tx, err := wr.db.watch(f, most, rs)
	if err != nil || tx == nil {
		return err
	}
	defer tx.Rollback()
	tx.Interrupt = ctx.Err
	err = f.read(tx, most, rs)
	wr.db.mu.Lock()
	defer wr.db.mu.Unlock()
	if err != nil {
		wr.db.hashes.drop(f)
		return err
	}
	wr.db.hashes.keep(f)
	return nil
}

// watch begins to watch the value of f, and returns the state that it is in then. The
// transaction is nil if the value's fingerprint is known.
func (a *audience) watch(f *fingerprint, most int64, rs *rules.Ruleset) (*store.Tx, error) {
	a.mu.Lock() // no batch is being applied: the snapshot has all that was touched before
	defer a.mu.Unlock()
	if known := a.hashes.find(f.path); known != nil && known.answers(most, rs) {
		return nil, nil
	}
	tx, err := a.db.begin()
	if err == nil {
		a.hashes.watch(f)
	}
	return tx, err
}

// read fills in a fingerprint from a snapshot.
func (f *fingerprint) read(tx *store.Tx, most int64, rs *rules.Ruleset) error {
	n, err := tx.GetLimit(f.path, most)
	if errors.Is(err, store.ErrTooBig) {
		f.rules, f.size, f.over = rs, most, true
		return nil
	}
	if err != nil {
		return err
	}
	f.size, f.hash, f.hashJS = int64(len(n.Text())), n.Hash(), n.HashJS()
	return f.bound(rs, tx)
}

// current reads what is now where a condition failed, for a caller that may read it.
func (wr *writer) current(ctx context.Context, w Write) (n tree.Node, err error) {
	turn := wr.turnOf(w)
	if err := turn.Acquire(ctx, 1); err != nil {
		return n, err
	}
	defer turn.Release(1)
	p := w.Update[0].Path
	err = wr.db.view(ctx, Read{Caller: w.Caller, Path: p, Plain: true}, func(tx *store.Tx) error {
		n, err = tx.GetLimit(p, wr.mostCompared(w.Caller))
		return err
	})
	return n, err
}

// A fingerprint is what the condition of a write needs to know about one value. It
// is true until a write touches the value.
type fingerprint struct {
	path   tree.Path
	size   int64 // bytes of the value as text
	over   bool  // the value has more than size bytes, and no hashes
	hash   string
	hashJS string

	rules  *rules.Ruleset // with whose .limit the value was compared
	excess *rules.Excess  // nil: the value is within the limits

	stale bool          // a write touched the value
	place *list.Element // in hashes.order; nil: not remembered
}

// newFingerprint hashes a value.
func newFingerprint(p tree.Path, n tree.Node) *fingerprint {
	return &fingerprint{path: p, size: int64(len(n.Text())), hash: n.Hash(), hashJS: n.HashJS()}
}

func (f *fingerprint) matches(hash string) bool { return f.hash == hash || f.hashJS == hash }

// answers reports whether f is enough to decide about the condition of a caller
// that may compare up to most bytes.
func (f *fingerprint) answers(most int64, rs *rules.Ruleset) bool {
	return f.rules == rs && (!f.over || f.size >= most)
}

// maxHashes bounds the fingerprints that a database remembers.
const maxHashes = 256

// Hashes remembers the fingerprints of the values that conditions are about, so
// that repeated conditions do not read and hash a value again. A database's mu
// guards it.
type hashes struct {
	watched trie.Trie[*fingerprint] // those that writes make stale
	byPath  map[tree.Path]*fingerprint
	order   list.List // of byPath; the most recently used first
}

// find returns the fingerprint of the value at p, nil if it is not known.
func (h *hashes) find(p tree.Path) *fingerprint {
	f := h.byPath[p]
	if f != nil {
		h.order.MoveToFront(f.place)
	}
	return f
}

// watch notes whether a write touches the value of f from now on.
func (h *hashes) watch(f *fingerprint) { h.watched.Add(f.path, f) }

// keep remembers a fingerprint that is watched, in place of the one before and of
// the least recently used.
func (h *hashes) keep(f *fingerprint) {
	if f.stale {
		return
	}
	if old := h.byPath[f.path]; old != nil {
		h.drop(old)
	}
	if len(h.byPath) >= maxHashes {
		h.drop(h.order.Back().Value.(*fingerprint))
	}
	if h.byPath == nil {
		h.byPath = make(map[tree.Path]*fingerprint)
	}
	h.byPath[f.path], f.place = f, h.order.PushFront(f)
}

// drop forgets a fingerprint and no longer watches it.
func (h *hashes) drop(f *fingerprint) {
	if f.stale {
		return
	}
	f.stale = true
	h.watched.Remove(f.path, f)
	if f.place != nil {
		h.order.Remove(f.place)
		delete(h.byPath, f.path)
	}
}

// touch drops the fingerprints of the values that writes may change: those at, above
// and below a target. Each is dropped once, so this costs no more than making it.
func (h *hashes) touch(writes []tree.ResolvedWrite) {
	for _, w := range writes {
		if h.watched.None() {
			return
		}
		var touched []*fingerprint
		for f := range h.watched.Above(w.Path) {
			touched = append(touched, f)
		}
		for f := range h.watched.Below(w.Path) {
			touched = append(touched, f)
		}
		for _, f := range touched {
			h.drop(f)
		}
	}
}
