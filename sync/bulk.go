package sync

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"

	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/echo"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/pieces"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/entry"
)

// An ImportResult says what an import did.
type ImportResult = store.LoadStats

// Import replaces the value at p by what src holds: JSON of any size in export
// form, without server values. It takes effect in one commit, at its end:
// readers and listeners see all of it or nothing, and if it fails, or the server
// goes down meanwhile, nothing has changed. Other operations go on beside it. No
// rules are asked; it is for administrators.
//
// Errors: *tree.ParseError, those of src and of the context, ErrClosed,
// ErrUnavailable and ErrUnknown. After an error of the context a small value, which is
// an ordinary write, may still take effect.
func (d *Database) Import(ctx context.Context, p tree.Path, src io.Reader, progress func(bytes int64)) (ImportResult, error) {
	return (&linkTask{cause: causeImport}).run(ctx, d, p, src, store.LoadOptions{Progress: progress})
}

// run reads a value and makes it the one at p.
func (t *linkTask) run(ctx context.Context, d *Database, p tree.Path, src io.Reader, o store.LoadOptions) (ImportResult, error) {
	if d.closed.Load() {
		return ImportResult{}, fault.ErrClosed
	}
	if err := refusedData(d.data.Load(), p); err != nil {
		return ImportResult{}, err
	}
	src = pieces.Checked{Reader: src, Check: d.mayStore} // an import ends when there is no room any more
	text := d.logText(ctx, p, src, &o, t.now)
	if text != nil {
		src = text
		t.text = &text.Pieces
	}
	l, err := d.store.NewLoad(p, o)
	if err != nil {
		return ImportResult{}, importError(d, p, err)
	}
	t.load = l
	if err = l.Read(ctx, src); err == nil && t.echo != nil {
		err = t.writeEcho(ctx, d)
	}
	if _, small := l.Small(); err == nil && text != nil && !(small && len(t.increments) == 0) {
		err = text.Finish()
	}
	if err == nil {
		err = t.link(ctx, d)
	} else {
		t.abort(ctx, d)
	}
	return l.Stats(), importError(d, p, err)
}

// link makes what was read the value at the path of the load. Its outcome is known, even if the
// caller has left: until then the committer looks at the load and at the pieces, which abort ends.
func (t *linkTask) link(ctx context.Context, d *Database) error {
	if n, ok := t.load.Small(); ok && len(t.increments) == 0 {
		t.abort(ctx, d)
		p := t.load.Path()
		w := tree.Write{Target: tree.Target{Path: p}, Value: tree.DraftOf(n)}
		_, err := d.Write(ctx, Write{Caller: Admin, Update: tree.Update{w}, Base: p, Door: DoorREST})
		return err
	}
	err := d.do(context.WithoutCancel(ctx), t)
	if err != nil {
		t.abort(ctx, d)
	}
	return err
}

// abort leaves what a load has stored to be reclaimed. If even that cannot be
// stored, it is done later.
func (t *linkTask) abort(ctx context.Context, d *Database) {
	if t.text != nil {
		t.text.Drop(d.putDrop)
	}
	if err := t.load.Abort(); err != nil && !d.closed.Load() {
		d.log.Error("an import could not be taken back yet", "database", d.store.String(), "path", t.load.Path(), "err", err)
	}
	wake := &call{f: func(b *batch) error {
		b.db.work = true // there is something to reclaim
		return nil
	}}
	wake.start()
	_ = d.add(context.WithoutCancel(ctx), wake) // if it is closed, the next start reclaims
}

// importError classifies an error of the store.
func importError(d *Database, p tree.Path, err error) error {
	switch {
	case !errors.Is(err, store.ErrNotStored):
		return err
	case d.closed.Load():
		return fault.ErrClosed
	}
	d.log.Error("import failed", "database", d.store.String(), "path", p, "err", err)
	return fmt.Errorf("%w: %w", fault.ErrUnavailable, err) // nothing refers to what was stored
}

// A linkTask makes visible what a load has stored.
//
// It is small whatever was loaded: it links one row. The views of its listeners
// are read again whole (Change.Whole), since an event could be as large as the
// import.
type linkTask struct {
	waiter
	load       *store.Load
	increments tree.Update          // of the value before
	marks      []tree.Node          // in the places of the increments meanwhile
	sums       []tree.ResolvedWrite // of the increments, once it is applied
	echo       *echo.Writer         // of what is written; nil: the answer has no value
	now        int64                // what timestamps become, in milliseconds since 1970
	cause      string
	text       *pieces.Pieces // in the log; nil: there is no log
}

func (t *linkTask) size() int64 { return taskOverhead }

func (t *linkTask) apply(b *batch) error {
	p := t.load.Path()
	if err := refusedData(b.data, p); err != nil {
		return err
	}
	write := []tree.ResolvedWrite{{Target: tree.Target{Path: p}}}
	c := audience.Change{Batch: &b.Batch, Writes: write, Whole: true}
	if err := c.Before(); err != nil {
		return fault.Broken(err)
	}
	sums, overflow, err := b.resolve(t.increments, b.db.options.Now())
	if err := errors.Join(err, overflow); err != nil {
		return err
	}
	if _, err := t.load.Link(b.Tx); err != nil {
		if errors.Is(err, store.ErrLoadEnded) {
			return err
		}
		return fault.Broken(err)
	}
	did, err := t.put(b, sums)
	if err != nil {
		return fault.Broken(err)
	}
	t.sums = sums
	b.dirty = true
	b.db.work = true
	data, err := b.data.Loaded(b.Tx, p)
	if err != nil {
		return fault.Broken(err)
	}
	b.enforceData(data)
	link := &entry.Link{By: by(Admin, DoorREST, t.cause), Writes: did}
	if t.text != nil {
		link.ID = t.text.ID
	}
	b.notes.add(link)
	b.Writes = b.notes.count()
	b.hashes.Touch(write)
	return fault.Broken(c.After())
}

// Export writes the node at a path as JSON in export form, as of one commit. It
// holds a snapshot for as long as w takes, so w should be a local file. Errors
// are those of Get, but for ErrTooBig, and those of w.
func (d *Database) Export(ctx context.Context, r Read, w io.Writer) error {
	_, err := d.view(ctx, r, func(tx *store.Tx) (int, error) { return 0, tx.WriteJSON(w, r.Path) })
	return err
}

// Backup writes a copy of the database's file to w, as of one commit, while
// other operations go on. It holds a snapshot for as long as w takes, so w
// should be a local file.
func (d *Database) Backup(w io.Writer) (size int64, err error) {
	if d.closed.Load() {
		return 0, fault.ErrClosed
	}
	if size, err = d.store.Backup(w); err != nil && d.closed.Load() {
		err = fault.ErrClosed
	}
	return size, err
}

// CheckFile verifies a file, such as a backup, that no process has open. It does
// not change it.
func CheckFile(file string) error {
	findings, err := store.CheckFile(file)
	return errors.Join(append(findings, err)...)
}

// MaxIncrements is how many increments the value of a Put may have.
const MaxIncrements = MaxPaths

// MayPut reports whether a write of an administrator to p may be a Put: nobody above p
// listens, who would be sent more than what is written, and nothing follows from it.
func (d *Database) MayPut(p tree.Path) bool {
	return !d.audience.HasAbove(p) && !d.data.Load().Meets([]tree.ResolvedWrite{{Target: tree.Target{Path: p}}})
}

// Put replaces the value at p by what src holds, as Import does, with the server values of
// any write. Timestamps are those of its beginning; increments add to the value that it
// replaces.
//
// If to is not nil, what is written goes to it in the form of [tree.AppendPlain], with holes
// for the values of increments, which are known after the commit and returned. to gets all of it before the commit, so that its errors leave everything as
// it was, and while a snapshot is held, so it should be a local file. After an error of Put,
// what to has is of no use.
//
// The text is read back from the store, because only there equal keys are one and all keys
// are in order. A text that is made beside the rows, as they are parsed, would have to be
// sorted like them.
func (d *Database) Put(ctx context.Context, p tree.Path, src io.Reader, to io.Writer) (sums []echo.Value, err error) {
	now, nonce := d.options.Now(), rand.Text()
	times, t := d.newSpan(true), &linkTask{now: now.UnixMilli(), cause: causeSet}
	if to != nil {
		t.echo = echo.NewWriter(to, "increment "+nonce+" ")
	}
	o := store.LoadOptions{ServerValue: func(at tree.Target, v tree.Draft) tree.Node {
		if n, err := v.Resolve(now.UnixMilli(), noIncrement); err == nil {
			return n
		}
		mark := tree.String(fmt.Sprintf("increment %s %d", nonce, len(t.increments)))
		t.increments = append(t.increments, tree.Write{Target: at, Value: v})
		t.marks = append(t.marks, mark)
		return mark
	}}
	err = times.apply(func() error {
		done, err := t.run(ctx, d, p, &boundedIncrements{src, t}, o)
		times.bytes = int(done.Bytes)
		return err
	})
	times.finish(&Write{Caller: Admin, Base: p}, err)
	if err != nil || t.echo == nil {
		return nil, err
	}
	return t.echo.Values(func(i int) string { return string(tree.AppendPlain(nil, t.sums[i].Node)) }), nil
}

// writeEcho writes what was read to the echo.
func (t *linkTask) writeEcho(ctx context.Context, d *Database) error {
	err := d.snapshot(func(tx *store.Tx) error {
		tx.Interrupt = ctx.Err
		return t.load.WritePlain(tx, t.echo)
	})
	if err != nil {
		return err
	}
	return t.echo.Flush()
}

// errIncrement is returned for a value that is to be added to.
var errIncrement = fmt.Errorf("an increment has to wait for what is there")

func noIncrement(tree.Path) (tree.Node, error) { return tree.Empty, errIncrement }

// boundedIncrements reads a text until that has too many increments.
type boundedIncrements struct {
	io.Reader
	task *linkTask
}

func (r *boundedIncrements) Read(p []byte) (int, error) {
	if len(r.task.increments) > MaxIncrements {
		return 0, &fault.LimitError{Bound: fault.BoundPaths, Most: MaxIncrements}
	}
	return r.Reader.Read(p)
}

// put puts sums in the places of increments that still count: the last of equal keys does. It
// returns those that it put.
func (t *linkTask) put(b *batch, sums []tree.ResolvedWrite) (did []tree.ResolvedWrite, err error) {
	for i, w := range sums {
		n, _, err := b.Tx.Peek(w.Path)
		is, priority := n.Value(), n.Priority()
		if err == nil && w.Priority {
			is, err = b.Tx.Priority(w.Path)
		} else {
			w.Node = w.Node.WithPriority(priority)
		}
		if err == nil && is == t.marks[i] {
			_, err = b.putAll([]tree.ResolvedWrite{w}, nil)
			did = append(did, w)
		}
		if err != nil {
			return nil, err
		}
	}
	return did, nil
}
