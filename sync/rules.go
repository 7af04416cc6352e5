package sync

import (
	"context"
	"errors"
	"slices"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Rules returns the rules in force.
func (d *Database) Rules() *rules.Ruleset { return d.rules.Load() }

// SetRules puts rules in force, durably, and ends the listens that they no
// longer allow. The version that it makes has no author.
func (d *Database) SetRules(ctx context.Context, r *rules.Ruleset) error {
	_, err := d.ChangeRules(ctx, versions.Change{Rules: r})
	return err
}

// SetDefaultRules puts rules in force, until the database is closed, if it has
// not been given any by SetRules or ChangeRules.
func (d *Database) SetDefaultRules(ctx context.Context, r *rules.Ruleset) error {
	return d.do(ctx, &call{bytes: len(r.Source()), f: func(b *batch) error {
		if given, err := versions.Given(b.Tx); given || err != nil {
			return fault.Broken(err)
		}
		return b.enforce(r)
	}})
}

// MayWrite refuses a write that no rule can allow, whatever it brings, so that
// nobody has to wait for that. The refusal is a decision like any other, on a write
// whose value is unread. Everything else is left to Write. Errors: ErrDenied and those of Get.
//
// It is asked before the body of a request is read. A client without any permission cannot
// make the server receive and parse megabytes this way.
func (d *Database) MayWrite(ctx context.Context, c Caller, t tree.Target) error {
	rs := d.Rules()
	if c.Admin || rs.MayWrite(t.Path) {
		return nil
	}
	return d.snapshot(func(tx *store.Tx) error {
		return d.access.Authorize(ctx, rs, c, &rules.Request{
			Op:     rules.OpWrite,
			Path:   t.Path,
			Writes: []tree.ResolvedWrite{{Target: t, Node: tree.Empty}},
			Unread: true,
			Data:   tx,
			Now:    d.options.Now(),
		})
	})
}

// ErrRulesChanged is returned if other rules are in force than the change says.
var ErrRulesChanged = errors.New("the rules have changed")

// ChangeRules puts rules in force, durably, and ends the listens that they no
// longer allow. It returns the version that it made, which is the last one if
// that has the same text. Errors: ErrRulesChanged and those of Write.
func (d *Database) ChangeRules(ctx context.Context, c versions.Change) (versions.Version, error) {
	t := &rulesTask{change: c}
	waiting := d.orphans.Load() != nil // the rules in force are refused
	if waiting {
		ctx = context.WithoutCancel(ctx) // the change can be made though ctx has ended
	}
	err := d.do(ctx, t)
	if waiting && d.rules.Load().Refused() == nil {
		runWaiting(d)
	}
	if err != nil {
		return versions.Version{}, err
	}
	return t.version, nil
}

// runWaiting carries out what sessions of an earlier run left, when there are rules that this version accepts.
func runWaiting(d *Database) {
	left := d.orphans.Swap(nil)
	if left == nil {
		return
	}
	if err := runLeft(d, *left); err != nil {
		d.log.Error("onDisconnect operations of the last run were not carried out", "database", d.store.String(), "err", err)
	}
}

// Rules change like data, in a batch: writes before it were decided by the old rules and those
// behind it by the new ones, and after a crash the file has either both the rules and the
// indexes that they declare or neither. IfHash makes it a compare-and-swap for several
// administrators.
type rulesTask struct {
	waiter
	change  versions.Change
	version versions.Version // that it made
}

func (t *rulesTask) size() int64 { return int64(len(t.change.Rules.Source())) }

func (t *rulesTask) apply(b *batch) error {
	c := t.change
	if c.IfHash != "" && c.IfHash != versions.Hash(b.Rules.Source()) {
		return ErrRulesChanged
	}
	v, isNew, err := versions.Add(b.Tx, c, b.db.options.Now())
	if t.version = v; err != nil || !isNew {
		return fault.Broken(err)
	}
	if err := b.notes.rules(v, c.Rules.Source()); err != nil {
		return err
	}
	return b.enforce(c.Rules)
}

// enforce puts rules in force for the tasks that follow.
func (b *batch) enforce(r *rules.Ruleset) error {
	if err := b.Tx.Indexes().Declare(indexesOf(r, b.data.Indexes())); err != nil {
		return fault.Broken(err)
	}
	b.dirty = true
	if err := b.Enforce(r); err != nil {
		return fault.Broken(err)
	}
	b.Committed = append(b.Committed, func() {
		b.db.rules.Store(r)
		b.db.work = true
	})
	return nil
}

// RulesHistory returns the versions that are kept, newest first.
func (d *Database) RulesHistory() (list []versions.Version, err error) {
	err = d.snapshot(func(tx *store.Tx) error {
		list, err = versions.List(tx)
		return err
	})
	slices.Reverse(list)
	return list, err
}

// RulesVersion returns a version and its source. The error is ErrNoVersion of package
// versions or one of the store.
func (d *Database) RulesVersion(number int64) (v versions.Version, source string, err error) {
	err = d.snapshot(func(tx *store.Tx) error {
		v, source, err = versions.Find(tx, number)
		return err
	})
	return v, source, err
}

// indexesOf returns the indexes that rules declare, and those that a data document needs.
func indexesOf(r *rules.Ruleset, data []store.Index) []store.Index {
	list := slices.Clone(data)
	for _, ix := range r.AllIndexes() {
		list = append(list, store.Index{Pattern: ix.Pattern, Order: ix.Order})
	}
	return list
}

// Data returns the data document in force, nil if there is none.
func (wr *writer) Data() *derive.Document { return wr.db.data.Load().Document() }

// DataStatus says how far the definitions of the data document are.
func (wr *writer) DataStatus() (list []declared.Status, err error) {
	err = wr.db.snapshot(func(tx *store.Tx) error {
		list, err = wr.db.data.Load().Status(tx, wr.db.options.Now())
		return err
	})
	return list, err
}

// Indexes says what the indexes of the database are for, how far they are, and what they take.
func (wr *writer) Indexes() (list []declared.IndexStatus, err error) {
	err = wr.db.snapshot(func(tx *store.Tx) error {
		list, err = wr.db.data.Load().AllIndexes(tx, indexesOf(wr.db.rules.Load(), nil), wr.db.options.Now())
		return err
	})
	return list, err
}

// Unfinished returns the names of definitions of the data document that may lack something at, above
// or below a path.
func (wr *writer) Unfinished(p tree.Path) []string { return wr.db.data.Load().Unfinished(p) }

// ChangeData puts a data document in force, durably. It returns the version that it made,
// which is the last one if that has the same text. A definition that has little to look at is
// ready when ChangeData returns; others, and indexes, are built in the background. Errors:
// declared.ErrChanged, and those of Write.
func (wr *writer) ChangeData(ctx context.Context, c versions.DataChange) (v versions.Version, err error) {
	if wr.db.closed.Load() {
		return v, fault.ErrClosed
	}
	if err := store.Declare(wr.db.store); err != nil {
		return v, fault.Unavailable(err)
	}
	var found declared.Totals
	err = wr.db.snapshot(func(tx *store.Tx) error {
		tx.Interrupt = ctx.Err
		found, err = wr.db.data.Load().Totals(ctx, tx, c.Document)
		return err
	})
	if err != nil {
		return v, err
	}
	err = wr.db.do(ctx, &call{bytes: len(c.Document.Source()), f: func(b *batch) error {
		next, made, isNew, err := b.data.Deploy(b.Tx, c, found, b.db.options.Now())
		switch v = made; {
		case errors.Is(err, declared.ErrChanged):
			return err
		case err != nil || !isNew:
			return fault.Broken(err)
		}
		if err := b.notes.data(v, c.Document.Source()); err != nil {
			return err
		}
		if err := b.Tx.Indexes().Declare(indexesOf(b.Rules, next.Indexes())); err != nil {
			return fault.Broken(err)
		}
		b.enforceData(next)
		return b.stepsOfData(atOnce)
	}})
	return v, err
}

// PreviewData tells of the new and changed definitions of a document how much they would find and
// what contradicts them. It changes nothing. Errors are those of the context and of the store.
func (wr *writer) PreviewData(ctx context.Context, document *derive.Document) (list []declared.Preview, err error) {
	err = wr.db.snapshot(func(tx *store.Tx) error {
		tx.Interrupt = ctx.Err
		list, err = wr.db.data.Load().Preview(ctx, tx, document)
		return err
	})
	return list, err
}

// ErrNoDefinition is returned for a definition that there is not.
var ErrNoDefinition = errors.New("no such definition")

// ControlData pauses a definition of the data document, resumes it or has it built anew: the
// verbs of package declared. The error is ErrNoDefinition or one of Write.
func (wr *writer) ControlData(ctx context.Context, name, verb string) error {
	if err := refusedData(wr.db.data.Load(), tree.Root); err != nil {
		return err
	}
	var found declared.Totals
	err := wr.db.snapshot(func(tx *store.Tx) (err error) {
		tx.Interrupt = ctx.Err
		found, err = wr.db.data.Load().TotalsOf(ctx, tx, name)
		return err
	})
	if err != nil {
		return err
	}
	return wr.db.do(ctx, &call{f: func(b *batch) error {
		next, ok, err := b.data.Control(b.Tx, name, verb, found)
		if err != nil {
			return fault.Broken(err)
		}
		if !ok {
			return ErrNoDefinition
		}
		if verb == declared.Rebuild { // what is not declared loses its entries
			err = b.Tx.Indexes().Declare(indexesOf(b.Rules, b.data.WithoutIndex(name)))
		}
		if err == nil {
			err = b.Tx.Indexes().Declare(indexesOf(b.Rules, next.Indexes()))
		}
		if err != nil {
			return fault.Broken(err)
		}
		b.enforceData(next)
		return nil
	}})
}

// DataHistory returns the versions of the data document that are kept, newest first.
func (wr *writer) DataHistory() (list []versions.Version, err error) {
	err = wr.db.snapshot(func(tx *store.Tx) error {
		list, err = versions.ListData(tx)
		return err
	})
	slices.Reverse(list)
	return list, err
}

// DataVersion returns a version of the data document and its text. The error is
// ErrNoDataVersion of package versions or one of the store.
func (wr *writer) DataVersion(number int64) (v versions.Version, source string, err error) {
	err = wr.db.snapshot(func(tx *store.Tx) error {
		v, source, err = versions.FindData(tx, number)
		return err
	})
	return v, source, err
}
