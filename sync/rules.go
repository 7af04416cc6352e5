package sync

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Rules returns the rules in force.
func (d *Database) Rules() *rules.Ruleset { return d.rules.Load() }

// SetRules puts rules in force, durably, and ends the listens that they no
// longer allow. The version that it makes has no author.
func (d *Database) SetRules(ctx context.Context, r *rules.Ruleset) error {
	_, err := d.ChangeRules(ctx, RulesChange{Rules: r})
	return err
}

// SetDefaultRules puts rules in force, until the database is closed, if it has
// not been given any by SetRules or ChangeRules.
func (d *Database) SetDefaultRules(ctx context.Context, r *rules.Ruleset) error {
	return d.do(ctx, &call{bytes: len(r.Source()), f: func(b *batch) error {
		if source, err := b.tx.Meta(metaRules); source != nil || err != nil {
			return fault.Broken(err)
		}
		return b.enforce(r)
	}})
}

// MayWrite refuses a write that no rule can allow, whatever it brings, so that
// nobody has to wait for that. The refusal is a decision like any other, on a write
// whose value is unread. Everything else is left to Write. Errors: ErrDenied and those of Get.
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
func (d *Database) ChangeRules(ctx context.Context, c RulesChange) (RulesVersion, error) {
	t := &rulesTask{change: c}
	if err := d.do(ctx, t); err != nil {
		return RulesVersion{}, err
	}
	return t.version, nil
}

type rulesTask struct {
	waiter
	change  RulesChange
	version RulesVersion // that it made
}

func (t *rulesTask) size() int64 { return int64(len(t.change.Rules.Source())) }

func (t *rulesTask) apply(b *batch) error {
	c := t.change
	if c.IfHash != "" && c.IfHash != RulesHash(b.rules.Source()) {
		return ErrRulesChanged
	}
	h, err := readHistory(b.tx)
	if err != nil {
		return fault.Broken(err)
	}
	next := newVersion(c, b.db.options.Now())
	source, err := b.tx.Meta(metaRules)
	if err != nil {
		return fault.Broken(err)
	}
	if last := h.last(); source != nil && last.same(next) {
		t.version = last
		return nil
	}
	if t.version, err = h.add(b.tx, next, c.Rules.Source()); err != nil {
		return fault.Broken(err)
	}
	if err := storeRules(b.tx, c); err != nil {
		return fault.Broken(err)
	}
	return b.enforce(c.Rules)
}

// enforce puts rules in force for the tasks that follow.
func (b *batch) enforce(r *rules.Ruleset) error {
	if err := b.tx.Indexes().Declare(indexesOf(r)); err != nil {
		return fault.Broken(err)
	}
	b.dirty = true
	b.rules = r
	b.reviewAll()
	if err := b.boundGroups(); err != nil {
		return fault.Broken(err)
	}
	b.committed = append(b.committed, func() {
		b.db.rules.Store(r)
		b.db.work = true
	})
	return nil
}

// Bounds of the versions that are kept. The last one always is.
const (
	maxVersionBytes = 16 << 20
)

// Names of values that the store keeps. Sources are in slots that are used
// again, so that no more than maxVersions of them are ever there.
const (
	metaRulesOptions = "rules-options" // how to read it
	metaHistory      = "rules-versions"
)

// RulesHistory returns the versions that are kept, newest first.
func (d *Database) RulesHistory() (list []RulesVersion, err error) {
	err = d.snapshot(func(tx *store.Tx) error {
		list, err = readHistory(tx)
		return err
	})
	slices.Reverse(list)
	return list, err
}

// RulesVersion returns a version and its source. The error is ErrNoVersion or
// one of the store.
func (d *Database) RulesVersion(number int64) (v RulesVersion, source string, err error) {
	err = d.snapshot(func(tx *store.Tx) error {
		h, err := readHistory(tx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(h, func(v RulesVersion) bool { return v.Number == number })
		if i < 0 {
			return fmt.Errorf("%w: %d", ErrNoVersion, number)
		}
		text, err := tx.Meta(metaSource(number))
		v, source = h[i], string(text)
		return err
	})
	return v, source, err
}
