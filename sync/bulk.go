package sync

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
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
// ErrUnavailable and ErrUnknown. After an error of the context it may still take
// effect.
func (d *Database) Import(ctx context.Context, p tree.Path, src io.Reader, progress func(bytes int64)) (ImportResult, error) {
	if d.closed.Load() {
		return ImportResult{}, ErrClosed
	}
	l, err := d.store.NewLoad(p, store.LoadOptions{Progress: progress})
	if err != nil {
		return ImportResult{}, importing{db: d, path: p}.failed(err)
	}
	i := importing{ctx, d, p, l}
	if err = l.Read(ctx, src); err == nil {
		err = i.link()
	} else {
		i.abort()
	}
	return l.Stats(), i.failed(err)
}

// An importing is an import that goes on.
type importing struct {
	ctx  context.Context
	db   *Database
	path tree.Path
	load *store.Load
}

// link makes what was read the value at p.
func (i importing) link() error {
	if n, ok := i.load.Small(); ok {
		i.abort()
		w := tree.Write{Target: tree.Target{Path: i.path}, Value: tree.DraftOf(n)}
		_, err := i.db.Write(i.ctx, Write{Caller: Admin, Update: tree.Update{w}, Base: i.path})
		return err
	}
	err := i.db.do(i.ctx, &call{f: i.apply})
	if err != nil {
		i.abort()
	}
	return err
}

// abort leaves what a load has stored to be reclaimed. If even that cannot be
// stored, it is done later.
func (i importing) abort() {
	if err := i.load.Abort(); err != nil && !i.db.closed.Load() {
		i.db.log.Error("an import could not be taken back yet", "database", i.db.store.String(), "path", i.path, "err", err)
	}
	wake := &call{f: func(b *batch) error {
		b.db.work = true // there is something to reclaim
		return nil
	}}
	wake.start()
	_ = i.db.add(context.WithoutCancel(i.ctx), wake) // if it is closed, the next start reclaims
}

// failed classifies an error of the store.
func (i importing) failed(err error) error {
	switch {
	case !errors.Is(err, store.ErrNotStored):
		return err
	case i.db.closed.Load():
		return ErrClosed
	}
	i.db.log.Error("import failed", "database", i.db.store.String(), "path", i.path, "err", err)
	return fmt.Errorf("%w: %w", ErrUnavailable, err) // nothing refers to what was stored
}

// apply makes visible what the load has stored.
func (i importing) apply(b *batch) error {
	write := []tree.ResolvedWrite{{Target: tree.Target{Path: i.path}}}
	reviewing := b.reviewing(write)
	if _, err := i.load.Link(b.tx); err != nil {
		if errors.Is(err, store.ErrLoadEnded) {
			return err
		}
		return broken(err)
	}
	b.dirty = true
	b.db.work = true
	b.record = []byte(cutRecord)
	b.touch(write)
	b.review(reviewing, write)
	b.resync(i.path)
	return nil
}

// resync has all listeners that can see a change at p read their views again,
// which may be large, when it is their turn to be sent.
func (b *batch) resync(p tree.Path) {
	for g := range b.hub.Above(p) {
		b.lag(g)
	}
	for g := range b.hub.Below(p) {
		b.lag(g)
	}
}

// Export writes the node at a path as JSON in export form, as of one commit. It
// holds a snapshot for as long as w takes, so w should be a local file. Errors
// are those of Get, but for ErrTooBig, and those of w.
func (d *Database) Export(ctx context.Context, r Read, w io.Writer) error {
	return d.view(ctx, r, func(tx *store.Tx) error { return tx.WriteJSON(w, r.Path) })
}

// ErrNoFile is returned for a backup of a database that is kept in memory.
var ErrNoFile = store.ErrNoFile

// Backup writes a copy of the database's file to w, as of one commit, while
// other operations go on. It holds a snapshot for as long as w takes, so w
// should be a local file.
func (d *Database) Backup(w io.Writer) (size int64, err error) {
	if d.closed.Load() {
		return 0, ErrClosed
	}
	if size, err = d.store.Backup(w); err != nil && d.closed.Load() {
		err = ErrClosed
	}
	return size, err
}

// CheckFile verifies a file, such as a backup, that no process has open. It does
// not change it.
func CheckFile(file string) error {
	findings, err := store.CheckFile(file)
	return errors.Join(append(findings, err)...)
}
