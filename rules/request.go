package rules

import (
	"time"

	"github.com/dogwooddb/dogwood/rules/internal/eval"
	"github.com/dogwooddb/dogwood/rules/internal/snapshot"
	"github.com/dogwooddb/dogwood/tree"
)

// An Op is what a request wants to do.
type Op int

// The operations.
const (
	OpRead Op = iota
	OpWrite
)

// A Request is one operation to be decided.
type Request struct {
	Op     Op
	Auth   Auth
	Origin *Origin              // what it came with; rules cannot see it; nil: unknown
	Path   tree.Path            // what a read reads
	Query  tree.Query           // of a read
	Plain  bool                 // a read without query parameters
	Writes []tree.ResolvedWrite // everything one write operation does, at disjoint targets
	Follow []string             // the definitions that the last of Writes follow from: no .write is asked for these
	Unkept *Unkept              // if lists do not keep all that was sent; nil: they do
	Grants bool                 // only whether there are grants is asked of a write, and not whether it is valid
	Kept   string               // why declared data refuse the write; "": they do not. It is denied if there are grants, too
	Unread bool                 // the data of the writes was not read, since no rule can allow them; their nodes are empty
	Data   tree.Reader          // the tree before the operation
	Now    time.Time            // what server timestamps of the operation resolve to
	Reads  *Reads               // if set, what an allowed read depends on is noted there

	// Children is the tree in which an allowed read is compared with the .limit of the
	// rules; nil: it is not compared. The server does that apart from Check
	// (Ruleset.Excess), since it shares decisions among listeners.
	Children Children
	KeysOnly bool // nothing below the children is read

	Asked *int // if set, how many rules were asked is noted there

	// Budget is shared with other decisions; nil: the decision has its own.
	Budget *Budget

	sentOnly bool // what follows need not be valid
}

// An Unkept is what a write would be if declared data had no bounds for lists. All that was sent must be
// allowed in it, too: that a list loses a child at once does not make it one that the caller may write.
type Unkept struct {
	Writes []tree.ResolvedWrite // everything, at disjoint targets
	Follow []string             // the definitions that the last of Writes follow from
}

// An Origin names the request or connection of an operation, as logs do. One of the
// two names is set.
type Origin struct {
	Request    string // id of an HTTP request
	Connection string // name of a realtime connection
}

// begin begins an evaluation of expressions for the request.
func (q *Request) begin(e *eval.Evaluation) {
	e.Auth, e.Claims, e.Now, e.Data = q.Auth.JSON, q.Auth.decoded, q.Now, q.Data
	if q.Op == OpRead {
		e.Query, e.NotePaths = &q.Query, q.Reads != nil
	} else {
		e.Writes = q.Writes
	}
	if q.Budget != nil {
		e.Spent = q.Budget.budget
	}
	e.Begin()
}

// A Budget is what several decisions may spend together, such as those of one task
// that other tasks wait for. The zero Budget is that of one decision, of which
// nothing is spent.
type Budget struct{ budget snapshot.Budget }

// Spent returns about how many bytes of text the decisions looked at. A step of a regular expression
// counts as eight, which takes as long.
func (b *Budget) Spent() int {
	bytes, steps := b.budget.Spent()
	return bytes + 8*steps
}

// Over reports whether it did not suffice for the last decision.
func (b *Budget) Over() bool { return b.budget.Over }

// A Decision is the answer to a request.
type Decision struct {
	Allow bool

	// Rule is the path of the rule that decided, such as "/rooms/$room/.read":
	// the one that granted a read or the first target of a write, the .validate
	// that failed, the .limit that was exceeded, or else the deepest rule that could
	// have granted and did not.
	// It is "" if no rule was asked.
	Rule string

	// Target is the position in Request.Writes of the write whose .validate failed.
	Target int

	// Unkept says that Request.Unkept decided: Request.Of has its Writes.
	Unkept bool

	// Kept is Request.Kept of a write that the rules grant. There is no Rule then.
	Kept string
}

// Of returns the request that a decision is about: q, or what it would be if lists kept all that was
// sent.
func (q *Request) Of(d Decision) *Request {
	if !d.Unkept || q.Unkept == nil {
		return q
	}
	u := *q
	u.Writes, u.Follow, u.Unkept, u.sentOnly = q.Unkept.Writes, q.Unkept.Follow, nil, true
	return &u
}

// All returns the request with all that was sent, also what lists do not keep.
func (q *Request) All() *Request { return q.Of(Decision{Unkept: true}) }

// Paths returns how many writes are decided at most.
func (q *Request) Paths() int {
	if q.Unkept == nil {
		return len(q.Writes)
	}
	return max(len(q.Writes), len(q.Unkept.Writes))
}

// Sent returns the writes that need a grant: those that do not follow from others.
func (q *Request) Sent() []tree.ResolvedWrite { return q.Writes[:len(q.Writes)-len(q.Follow)] }

// FollowsFrom returns what a write follows from, "" if it does not follow from another.
func (q *Request) FollowsFrom(target int) string {
	if i := target - len(q.Sent()); i >= 0 && i < len(q.Follow) {
		return q.Follow[i]
	}
	return ""
}
