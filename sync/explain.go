package sync

import (
	"context"

	"github.com/dogwooddb/dogwood/tree/store"
)

// An Explanation says how a read is answered and what that takes. It holds nothing
// of the data. Its JSON form is what clients get (docs/extensions.md).
type Explanation struct {
	Path     string         `json:"path"`
	Query    ExplainedQuery `json:"query"`
	Plan     store.Plan     `json:"plan"`
	Index    *string        `json:"index"`              // order of the declared index that is used; nil: none
	Building bool           `json:"building,omitempty"` // that index is not complete yet, so it is not used
	Visited  int            `json:"visited"`            // children looked at to find those that are answered
	Rows     int            `json:"rows"`               // rows and index entries of the store that were read
	Results  int            `json:"results"`            // children answered; 1 for a value without any
	Bytes    int            `json:"bytes"`              // of the answer, as JSON with priorities
	Revision uint64         `json:"revision"`           // of the state that was looked at
	Rules    ExplainedRules `json:"rules"`

	// MissingIndexOn says what to add to the rules; nil if nothing is missing.
	// Without it, one-shot reads are refused.
	MissingIndexOn *MissingIndex `json:"missingIndexOn,omitempty"`
}

// ExplainedRules say what it took to decide.
type ExplainedRules struct {
	Allowed   bool `json:"allowed"`
	Admin     bool `json:"admin,omitempty"` // the rules do not apply
	Evaluated int  `json:"evaluated"`       // rules that were asked

	// For an administrator, or with Options.TellRules: they depend on what the rules
	// read, which others may not be allowed to.
	Rows int    `json:"rows,omitempty"` // rows that they read
	By   string `json:"by,omitempty"`   // the rule that decided
}

// A verdict is where a decision about a Caller is noted.
type verdict struct {
	asked int
	by    string
}

// Explain reads as Get does and says what it took. A query that lacks an index is
// not refused. Errors are those of Get.
func (d *Database) Explain(ctx context.Context, r Read) (e Explanation, err error) {
	return d.explain(ctx, r, func(tx *store.Tx) (store.Cost, int, error) {
		n, c, err := tx.Explain(r.Path, r.Query, d.options.MaxRead)
		return c, len(n.JSON()), err
	})
}

// ExplainShallow is Explain for Shallow.
func (d *Database) ExplainShallow(ctx context.Context, r Read, after string, limit int) (e Explanation, err error) {
	r.keysOnly = true
	return d.explain(ctx, r, func(tx *store.Tx) (store.Cost, int, error) {
		l, c, err := tx.ExplainShallow(r.Path, after, limit)
		return c, listingBytes(l), err
	})
}

func (d *Database) explain(ctx context.Context, r Read, read func(*store.Tx) (store.Cost, int, error)) (e Explanation, err error) {
	began := d.operations.start()
	v := new(verdict)
	r.Caller.verdict = v
	r.OneShot = false // a missing index is told, not refused
	err = d.view(ctx, r, func(tx *store.Tx) error {
		decided := tx.Stats()
		c, bytes, err := read(tx)
		e = Explanation{
			Path:     r.Path.String(),
			Query:    explainQuery(r),
			Plan:     c.Plan,
			Building: c.Building,
			Visited:  c.Visited,
			Rows:     c.Rows,
			Results:  c.Results,
			Bytes:    bytes,
			Revision: tx.Revision(),
			Rules:    d.explainRules(r.Caller, decided.Read),
		}
		if c.Index != "" {
			e.Index = &c.Index
		}
		if rs := d.Rules(); !declared(rs, r.Path, r.Query) {
			e.MissingIndexOn = missingIndex(rs, r.Path, r.Query.Order())
		}
		return err
	})
	d.toldRead(r, began, e.Bytes, err)
	return e, err
}

func (a *access) explainRules(c Caller, rows int) ExplainedRules {
	e := ExplainedRules{Allowed: true, Admin: c.Admin, Evaluated: c.verdict.asked}
	if a.mayKnowAll(c) {
		e.Rows, e.By = rows, c.verdict.by
	}
	return e
}

// mayKnowAll reports whether a caller may be told what depends on places that he may
// not read.
func (a *access) mayKnowAll(c Caller) bool { return c.Admin || a.db.options.TellRules }
