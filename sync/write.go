package sync

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/pieces"
	"github.com/dogwooddb/dogwood/sync/quota"
	"github.com/dogwooddb/dogwood/sync/trace"
	"github.com/dogwooddb/dogwood/sync/watch"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A Write is a change that a client asks for: one location, or several at once.
//
// Everything that it refers to must stay as it is until the write is answered:
// the committer reads it later, on its own goroutine.
type Write struct {
	Caller Caller
	Update tree.Update  // disjoint; of one element for a set
	Merge  bool         // it was sent as an update of the children of Base
	Base   tree.Path    // where it was sent to
	If     *string      // hash of the value that must be at Update[0] ("" for none); nil: whatever is there. The caller must be able to read it
	Turn   *limit.Share // in whose turn a large value is read and hashed for If, and a large write is decided, or explained; nil: that of all callers

	Conflicts bool // a place that is taken is a fault.TakenError, not a denial

	Returns bool // the Commit is to have what became of its server values
	Shown   bool // the caller is to see the values that were written (Commit.Shown)

	Quota *quota.Quota // that the write shares the committer by; nil: it is alone

	Door string // how it came, for the log: DoorREST, DoorSocket, or "" for a program with the database

	ID *store.WriteID // under which it is carried out once, however often it is sent; nil: each time

	sums []tree.Path // of the increments, if the rules decide whether the caller sees them

	internal string // the cause of a write that the server makes by itself; "": it is that of a client

	left func(b *batch, carryOut func() error) error // carries it out, as what a session left; nil: it is an ordinary write
}

// A Commit is a write that took effect.
type Commit struct {
	Writes []tree.ResolvedWrite // as in the Update, with server values replaced
	Now    time.Time            // the server's time of the write

	// Returned are the resolved server values of a Write that Returns them, but for
	// increments that its caller may not read. nil: it was carried out before, under
	// its ID.
	Returned []Returned

	// Kept is how many places were written that declared data keep, and that got the values that
	// follow: by an administrator, or by a client while they are built.
	Kept int

	hidden *hidden              // what the caller does not see of a Write that is Shown or Returns; nil: nothing
	stored []tree.ResolvedWrite // Writes with what follows from them; nil: nothing can
}

// A writer carries out writes. It prepares large values and conditions outside of the
// committer, and queues what is left for it.
//
// The committer must never do work that grows with the data. So a write is sorted by its
// size here: a small one is one task; one with a condition about a large value first has
// the value hashed; a large one is decided and stored outside, in the turn of its client,
// and only linked by the committer.
type writer struct {
	db      *core
	readers *limit.Share // with whom conditional writes without a Turn take turns
	large   *quota.Turns // of large writes
	rooms   *quota.Turns // in front of Store.Room
}

// A decidedWrite is a write whose server values are resolved, with what the rules say.
//
// A refusal is part of it and not an error, because whether it is told depends on what
// comes after the decision: a condition that fails, or a write id that was carried out
// before, is answered in its place.
type decidedWrite struct {
	asked   []tree.ResolvedWrite // as in the Update
	writes  []tree.ResolvedWrite // with what follows from them
	follows *declared.Follows    // nil: nothing can
	now     time.Time
	denied  error // why it is refused; nil: it is not
}

// spreads reports whether something follows from a write, maybe in other places than those
// that it was sent to.
func (v decidedWrite) spreads() bool { return v.follows != nil && len(v.follows.Derived) > 0 }

// decide decides a write: v.denied tells whether it may be made.
func (b *batch) decide(w *Write, now time.Time) (v decidedWrite, err error) {
	if v, err = b.allow(w.Update, w.Caller, now); err != nil && refused(err) {
		v.denied, err = err, nil
		if !w.Conflicts {
			v.denied = deniedIfTaken(v.denied)
		}
	}
	if err == nil && v.denied == nil && w.left == nil && stores(v.asked) {
		v.denied = b.db.mayStore()
	}
	return v, err
}

// deniedIfTaken returns the error for a caller that did not ask for a conflict.
func deniedIfTaken(err error) error {
	if taken := (*fault.TakenError)(nil); errors.As(err, &taken) {
		return &fault.DeniedError{Detail: taken.Text, Definition: taken.Definition}
	}
	return err
}

// refused reports whether err says that a write may not be made.
func refused(err error) bool {
	var taken *fault.TakenError
	var follows *fault.FollowsError
	return errors.Is(err, fault.ErrDenied) || errors.Is(err, tree.ErrIncrement) || errors.As(err, &taken) || errors.As(err, &follows)
}

// stores reports whether a write stores something, and does not only delete.
func stores(writes []tree.ResolvedWrite) bool {
	return slices.ContainsFunc(writes, func(w tree.ResolvedWrite) bool { return !w.Node.IsEmpty() })
}

// mayStore returns why nothing may be stored now, nil if it may. A file that has as
// much free inside as the disk lacks does not grow, so it may be written to.
func (d *core) mayStore() error {
	if d.options.Short == nil {
		return nil
	}
	short := d.options.Short()
	if short == nil || store.FreeBytes(d.store) >= short.Missing {
		return nil
	}
	return fault.Unavailable(short)
}

// allow resolves the server values of an update, computes what follows from it, and asks the
// rules. That an increment leaves the range of numbers depends on what is there, so it is an
// error only of a caller who may write it; the rules see the number nearest to the sum.
func (b *batch) allow(u tree.Update, c Caller, now time.Time) (v decidedWrite, err error) {
	v, overflow, err := b.follow(u, c, now)
	if err != nil || len(v.asked) == 0 {
		return v, err
	}
	if err := b.authorizeWrite(c, v); err != nil {
		return v, err
	}
	if v.follows != nil {
		v.follows.Unkept = nil // it may be large, and was for the rules
	}
	return v, overflow
}

// follow resolves the server values of an update, and computes what follows from it. overflow
// is that of resolve.
func (b *batch) follow(u tree.Update, c Caller, now time.Time) (v decidedWrite, overflow, err error) {
	v.now = now
	writes, overflow, err := b.resolve(u, now)
	if v.asked, v.writes = writes, writes; err == nil && len(writes) > 0 {
		err = b.derive(&v, c)
	}
	return v, overflow, err
}

// mostWithin is how many places may follow from a write that is decided within the committer after
// that, with muchSpent bytes. It takes as long as an update of so many paths: expiry has steps of that
// size.
const mostWithin = 2_000

// muchSpent is how many bytes of text may be looked at for what follows from a write that is not large.
const muchSpent = 1 << 20

// decideWithin decides a write that was outdated each time that it was decided before. The error is
// errOutdated if more follows from it than the committer has time for.
func (b *batch) decideWithin(w *Write) (decidedWrite, error) {
	b.few = true
	defer func() { b.few = false }()
	v, err := b.decide(w, b.db.options.Now())
	if err == nil && errors.As(v.denied, new(*fault.FollowsError)) {
		err = errOutdated
	}
	return v, err
}

// derive computes what follows from a write. A caller that may not write at all is told that,
// and nothing of the places that are kept. The rules are asked after that, since they may look at
// what follows. Most writes meet no definition, and allocate nothing here.
func (b *batch) derive(v *decidedWrite, c Caller) (err error) {
	w := declared.Write{Tx: b.Tx, Noted: b.noted, Writes: v.asked, Admin: c.Admin, Now: v.now}
	if b.few {
		w.Most, w.Bytes = mostWithin, muchSpent
	}
	if v.follows, err = b.data.Derive(w); err != nil {
		if refusal := (*derive.Refusal)(nil); errors.As(err, &refusal) {
			return b.refuse(refusal, *v, c)
		}
		return fault.Broken(err)
	}
	if v.follows != nil {
		v.writes = v.follows.Writes
	}
	return nil
}

// mayWrite returns the error of a caller that no rule grants a write, whatever it is.
func (b *batch) mayWrite(v decidedWrite, c Caller) error {
	if c.Admin {
		return nil
	}
	asked := b.requestOf(v)
	asked.Grants = true
	if may, err := b.db.access.MayWrite(b.Ctx, b.Rules, c, asked); err != nil || !may {
		return cmp.Or(err, b.authorizeWrite(c, v), fault.ErrDenied)
	}
	return nil
}

// refuse returns the error of a write that declared data refuse.
func (b *batch) refuse(r *derive.Refusal, v decidedWrite, c Caller) error {
	if err := b.mayWrite(v, c); err != nil {
		return err
	}
	switch r.Reason {
	case derive.Taken:
		return &fault.TakenError{Text: r.Error(), Definition: r.Definition}
	case derive.TooLarge:
		return &fault.FollowsError{Text: r.Error(), Definition: r.Definition}
	case derive.Unread:
		return &fault.DocumentError{Text: r.Error()}
	}
	return &fault.DeniedError{Detail: r.Error(), Definition: r.Definition}
}

// resolve replaces the server values of an update. overflow tells that an increment
// leaves the range of numbers.
func (b *batch) resolve(u tree.Update, now time.Time) (resolved []tree.ResolvedWrite, overflow, err error) {
	resolved = make([]tree.ResolvedWrite, len(u))
	for i, w := range u {
		if n, ok := w.Value.Node(); ok {
			resolved[i] = tree.ResolvedWrite{Target: w.Target, Node: n}
			continue
		}
		var failed error
		n, err := w.Value.Resolve(now.UnixMilli(), func(rel tree.Path) (tree.Node, error) {
			n, err := b.existing(w.Target, rel)
			failed = err
			return n, err
		})
		switch {
		case failed != nil:
			return nil, nil, fault.Broken(failed)
		case errors.Is(err, tree.ErrIncrement):
			overflow = err
		case err != nil:
			return nil, nil, err
		}
		resolved[i] = tree.ResolvedWrite{Target: w.Target, Node: n}
	}
	return resolved, overflow, nil
}

// existing returns what an increment below a target adds to: a number, something else, or
// a priority. For an object or a long string, whose size must not matter, it returns a
// short string with the same priority. The size must not matter since this runs in the
// committer.
func (b *batch) existing(t tree.Target, rel tree.Path) (tree.Node, error) {
	if t.Priority {
		return b.reader().Priority(t.Path)
	}
	p := t.Path.Join(rel)
	if b.noted != nil {
		b.noted.Note(p)
	}
	n, err := b.Tx.GetLimit(p, 1) // no more than the row of the node, or of its first child
	if err == nil && !n.IsObject() {
		return n, nil
	}
	if err != nil && !errors.Is(err, store.ErrTooBig) {
		return n, err
	}
	priority, err := b.Tx.Priority(p)
	return tree.String("").WithPriority(priority), err
}

// requestOf returns what the rules are asked about a write. It is good until the next one.
func (b *batch) requestOf(v decidedWrite) *rules.Request {
	b.request = rules.Request{ // not a new one: nobody keeps it, and each write makes one
		Op:     rules.OpWrite,
		Path:   v.asked[0].Path,
		Writes: v.writes,
		Data:   b.reader(),
		Now:    v.now,
		Budget: &b.budget,
	}
	if v.follows != nil {
		b.request.Follow = v.follows.Follow
		if u := v.follows.Unkept; u != nil {
			b.request.Unkept = &rules.Unkept{Writes: u.Writes, Follow: u.Follow}
		}
	}
	return &b.request
}

func (b *batch) authorizeWrite(c Caller, v decidedWrite) error {
	return b.db.access.Authorize(b.Ctx, b.Rules, c, b.requestOf(v))
}

// A span says where the time of one write went.
type span struct {
	db     *core // nil: there are no watchers
	rest   bool  // the write came by REST
	queued time.Time
	began  time.Time // to be applied, for the last time; zero if nobody watched
	took   time.Duration
	bytes  int // of a value that is not in the write
}

// newSpan returns the span of a write that is queued now.
func (d *core) newSpan(rest bool) span { return span{db: d, rest: rest, queued: time.Now()} }

// apply measures f if somebody watches.
func (l *span) apply(f func() error) error {
	if l.db == nil {
		return f()
	}
	if l.began = l.db.watchers.Begin(); l.began.IsZero() {
		return f()
	}
	defer func() { l.took = time.Since(l.began) }()
	return f()
}

// finish counts a write that is done, and tells of it.
func (l *span) finish(w *Write, err error) {
	if l.db == nil {
		return
	}
	l.db.stats.acks.Observe(time.Since(l.queued))
	if l.began.IsZero() {
		return
	}
	op := trace.Operation{Name: l.name(w), Path: w.Base.Clone(), Took: l.took, Waited: l.began.Sub(l.queued), Denied: errors.Is(err, fault.ErrDenied), Failed: err != nil, Began: l.queued, Bytes: l.bytes}
	for _, u := range w.Update {
		if text := u.Value.Text(); text != "null" {
			op.Bytes += len(text)
		}
	}
	l.db.watchers.Tell(op)
}

func (l *span) name(w *Write) string {
	switch {
	case l.rest && w.Merge:
		return trace.OpRESTUpdate
	case l.rest:
		return trace.OpRESTWrite
	case w.Merge:
		return trace.OpUpdate
	case w.If != nil:
		return trace.OpTransaction
	}
	return trace.OpWrite
}

// A prepared write was decided, and its large values were stored, outside of the
// committer. A nil one has nothing.
//
// It is made in a snapshot, and holds true as long as the watch has seen no write to
// anything that the decision read, and the rules are the same. The committer checks that
// with two comparisons, whatever the size. While it waits, its rows are stored and
// unreachable; if it is given up, they are reclaimed.
type prepared struct {
	decidedWrite
	rules *rules.Ruleset // that decided it
	data  *declared.Data // that it follows from
	watch *watch.Watch   // of what the decision depends on
	load  *store.Load    // rows of the values; nil: none
	parts map[tree.Path]int
	text  pieces.Pieces // of the write in the log; none: it is short

	excess map[tree.Path]*rules.Excess // of the values that are larger than the rules allow
	told   []tree.ResolvedWrite        // the writes in the order in which they are made and told
	stored []tree.ResolvedWrite        // and in that in which the store is told
}

// holds reports whether the decision is true of the state that b sees.
func (p *prepared) holds(b *batch) bool {
	return b.Rules == p.rules && b.data.Agrees(p.data, p.follows) && !p.watch.Changed()
}

// claim begins to link the values.
func (p *prepared) claim(tx *store.Tx) error {
	if p == nil || p.load == nil {
		return nil
	}
	return p.load.Claim(tx)
}

// part returns which of the values that were stored is that at a path.
func (p *prepared) part(at tree.Path) (i int, ok bool) {
	if p == nil {
		return 0, false
	}
	i, ok = p.parts[at]
	return i, ok
}

// values returns how many of the first writes are values that were not stored before. The
// first is.
func (p *prepared) values(writes []tree.ResolvedWrite) int {
	n := 1
	for ; n < len(writes) && !writes[n].Priority; n++ {
		if _, ok := p.part(writes[n].Path); ok {
			break
		}
	}
	return n
}

// orders returns writes in the order in which they are made and told, and in that in which the
// store is told. p has them if the writes are its own.
func (p *prepared) orders(writes []tree.ResolvedWrite) (told, stored []tree.ResolvedWrite) {
	if p != nil && p.told != nil {
		return p.told, p.stored
	}
	told = inOrder(writes)
	return told, byKey(told)
}

// measure notes which values the rules do not allow to be read at once, and puts the writes into
// their orders: of many, both take a good part of the time.
func (p *prepared) measure() error {
	p.told = inOrder(p.writes)
	p.stored = byKey(p.told)
	p.excess = make(map[tree.Path]*rules.Excess)
	for _, w := range p.writes {
		if x, err := audience.Excess(p.rules, w); err != nil {
			return err
		} else if x != nil {
			p.excess[w.Path] = x
		}
	}
	return nil
}

// A Returned is what became of one server value of a write.
type Returned struct {
	At    tree.Target // relative to the Base of the write
	Value tree.Node   // a number
}

// errOutdated is returned for a prepared write that has to be decided again.
var errOutdated = errors.New("what the decision depends on has changed")

// errToDo is what a probe of a large write fails with that is to be carried out.
var errToDo = errors.New("the write is to be carried out")

// errUnprepared is the error of a conditional write whose value is too large to be
// compared in the committer, and is not known as it is now.
var errUnprepared = errors.New("the condition must be prepared again")

// checkPaths returns a *LimitError if a write has more paths than its caller may write at
// once.
func checkPaths(w Write) error {
	if !w.Caller.Admin && len(w.Update) > MaxPaths {
		return &fault.LimitError{Bound: fault.BoundPaths, Most: MaxPaths, Given: int64(len(w.Update))}
	}
	return nil
}

// MaxPaths is how many paths one update may write, of callers that the rules apply to.
// They are written in one step, and all writers wait meanwhile.
const MaxPaths = 10_000
