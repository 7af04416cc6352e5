package sync

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/lang"
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
		return d.authorize(ctx, rs, c, &rules.Request{
			Op:     rules.OpWrite,
			Path:   t.Path,
			Writes: []tree.ResolvedWrite{{Target: t, Node: tree.Empty}},
			Unread: true,
			Data:   tx,
			Now:    d.options.Now(),
		})
	})
}

// A RulesChange gives a database new rules.
type RulesChange struct {
	Rules   *rules.Ruleset
	Options RulesOptions // that Rules were parsed with
	Author  string       // who changes them, for the history
	Comment string       // why, in their words
	Restore int64        // number of the version whose rules these are; 0: none
	IfHash  string       // RulesHash of what must be in force; "": whatever is
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

// A RulesVersion is one change of a database's rules.
type RulesVersion struct {
	Number  int64     `json:"version"` // from 1
	Time    time.Time `json:"time"`
	Author  string    `json:"author,omitempty"`
	Comment string    `json:"comment,omitempty"`
	Restore int64     `json:"rollbackOf,omitempty"` // number of the version that it is a copy of
	Hash    string    `json:"hash"`                 // RulesHash of the source
	Size    int       `json:"size"`                 // of the source, in bytes

	Dialect    string `json:"dialect"`
	Extensions string `json:"extensions,omitempty"`
}

// RulesHash returns the SHA-256 of a rules text, in hexadecimal.
func RulesHash(source string) string {
	sum := sha256.Sum256([]byte(source))
	return hex.EncodeToString(sum[:])
}

func newVersion(c RulesChange, now time.Time) RulesVersion {
	source := c.Rules.Source()
	return RulesVersion{
		Time:    now.UTC().Truncate(time.Millisecond),
		Author:  c.Author,
		Comment: c.Comment,
		Restore: c.Restore,
		Hash:    RulesHash(source),
		Size:    len(source),

		Dialect:    c.Options.Dialect(),
		Extensions: c.Options.Extensions(),
	}
}

// Options returns how the version's source is to be read.
func (v RulesVersion) Options() RulesOptions {
	o, _ := ParseRulesOptions(v.Dialect, v.Extensions) // they are from RulesOptions
	return o
}

// same reports whether two versions have the same effect.
func (v RulesVersion) same(w RulesVersion) bool {
	return v.Hash == w.Hash && v.Options() == w.Options()
}

// ErrNoVersion is returned for versions that never were or are no longer kept.
var ErrNoVersion = errors.New("no such version of the rules")

// Bounds of the versions that are kept. The last one always is.
const (
	maxVersions     = 100
	maxVersionBytes = 16 << 20
)

// Names of values that the store keeps. Sources are in slots that are used
// again, so that no more than maxVersions of them are ever there.
const (
	metaRules        = "rules"         // source of the rules in force, if any were given
	metaRulesOptions = "rules-options" // how to read it
	metaHistory      = "rules-versions"
)

func metaSource(number int64) string { return fmt.Sprintf("rules-source-%02d", number%maxVersions) }

// A history is the versions that are kept, ascending.
type history []RulesVersion

func readHistory(tx *store.Tx) (h history, err error) {
	text, err := tx.Meta(metaHistory)
	if err != nil {
		return nil, fmt.Errorf("versions of the rules: %w", err)
	}
	if text != nil {
		if err := json.Unmarshal(text, &h); err != nil {
			return nil, fmt.Errorf("versions of the rules: %w", err)
		}
	}
	return h, nil
}

// last returns the newest version, the zero one if there is none.
func (h history) last() RulesVersion {
	if len(h) == 0 {
		return RulesVersion{}
	}
	return h[len(h)-1]
}

// add stores the next version, which gets its number, and lets old ones go.
func (h history) add(tx *store.Tx, v RulesVersion, source string) (RulesVersion, error) {
	v.Number = h.last().Number + 1
	kept := append(slices.Clone(h), v)
	bytes := 0
	for _, k := range kept {
		bytes += k.Size
	}
	for len(kept) > 1 && (len(kept) > maxVersions || bytes > maxVersionBytes) {
		if err := tx.SetMeta(metaSource(kept[0].Number), nil); err != nil {
			return v, err
		}
		bytes -= kept[0].Size
		kept = kept[1:]
	}
	if err := tx.SetMeta(metaSource(v.Number), []byte(source)); err != nil {
		return v, err
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return v, err
	}
	return v, tx.SetMeta(metaHistory, text)
}

// storeRules makes a change's rules those that the file begins with.
func storeRules(tx *store.Tx, c RulesChange) error {
	options, err := json.Marshal(c.Options)
	if err != nil {
		return err
	}
	if err := tx.SetMeta(metaRulesOptions, options); err != nil {
		return err
	}
	return tx.SetMeta(metaRules, []byte(c.Rules.Source()))
}

// storedRules returns the rules that the file begins with, nil if it was not
// given any.
func storedRules(tx *store.Tx) (*rules.Ruleset, error) {
	source, err := tx.Meta(metaRules)
	if err != nil {
		return nil, fmt.Errorf("stored rules: %w", err)
	}
	if source == nil {
		return nil, nil
	}
	var o RulesOptions
	text, err := tx.Meta(metaRulesOptions)
	if err != nil {
		return nil, fmt.Errorf("stored options of the rules: %w", err)
	}
	if text != nil {
		if err := json.Unmarshal(text, &o); err != nil {
			return nil, fmt.Errorf("stored options of the rules: %w", err)
		}
	}
	r, err := o.ParseStored(string(source))
	if err != nil {
		return nil, fmt.Errorf("stored rules: %w", err)
	}
	return r, nil
}

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

// RulesOptions say how a rules document is to be read. The zero value is
// Firebase's language without extensions. They are comparable.
type RulesOptions struct {
	Wilddog bool // the dialect of Wilddog
	NewRoot bool // the extension newRoot, the tree after the write
}

// ParseRulesOptions reads the name of a dialect, firebase or wilddog, and a list
// of extensions, separated by commas. Both may be "".
func ParseRulesOptions(dialect, extensions string) (o RulesOptions, err error) {
	switch dialect {
	case "", "firebase":
	case "wilddog":
		o.Wilddog = true
	default:
		return o, fmt.Errorf("unknown dialect %q of rules; there are firebase and wilddog", dialect)
	}
	for name := range strings.SplitSeq(extensions, ",") {
		switch strings.TrimSpace(name) {
		case "":
		case "newRoot":
			o.NewRoot = true
		default:
			return o, fmt.Errorf("unknown extension %q of rules; there is newRoot", name)
		}
	}
	return o, nil
}

// Dialect returns the name of the dialect.
func (o RulesOptions) Dialect() string {
	if o.Wilddog {
		return "wilddog"
	}
	return "firebase"
}

// Extensions returns the names of the extensions, separated by commas.
func (o RulesOptions) Extensions() string {
	if o.NewRoot {
		return "newRoot"
	}
	return ""
}

// Parse reads a rules document. The error is rules.Errors.
func (o RulesOptions) Parse(source string) (*rules.Ruleset, error) {
	return o.parse(source, false)
}

// ParseStored reads a document that Parse of this or an earlier version accepted.
func (o RulesOptions) ParseStored(source string) (*rules.Ruleset, error) {
	return o.parse(source, true)
}

func (o RulesOptions) parse(source string, accepted bool) (*rules.Ruleset, error) {
	p := rules.ParseOptions{NewRoot: o.NewRoot, Accepted: accepted}
	if o.Wilddog {
		p.Dialect = lang.Wilddog
	}
	return rules.ParseWith(source, p)
}
