package rules

import (
	"context"
	"time"

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
	Unread bool                 // what the writes bring was not read, since no rule can allow them; their nodes are empty
	Data   tree.Reader          // the tree before the operation
	Now    time.Time            // what server timestamps of the operation resolve to
	Reads  *Reads               // if set, what an allowed read depends on is noted there

	// Children is where the .limit of the rules is compared, with an allowed read; nil:
	// nowhere. The server does that apart from Check, since it shares decisions among
	// listeners (Ruleset.Excess).
	Children Children
	KeysOnly bool // nothing below the children is read

	Asked *int // if set, how many rules were asked is noted there

	// Budget is what the decision has in common with others; nil: it has one of its own.
	Budget *Budget
}

// An Origin names what an operation came with as logs do, by the one of the names
// that there is.
type Origin struct {
	Request    string // id of an HTTP request
	Connection string // name of a realtime connection
}

// A Decision is the answer to a request.
type Decision struct {
	Allow bool

	// Rule is the path of the rule that decided, such as "/rooms/$room/.read":
	// the one that granted a read or the first target of a write, the .validate
	// that failed, the .limit that was exceeded, or else the deepest rule that could
	// have granted and did not.
	// It is "" if no rule was asked.
	Rule string
}

// Check decides a request. A read is allowed if a .read on the way to its path
// is true. A write is allowed if each of its targets has a .write that is true,
// at the target or above it, and no .validate fails. Rules below cannot take back
// what a rule above has granted. A rule whose evaluation fails is not true. A read
// that is allowed is denied nevertheless if q.Children has more than a .limit allows.
// The error is one of reading q.Data or q.Children, or of ctx.
//
// Every operation runs Check. It does not allocate unless an expression has to.
func (r *Ruleset) Check(ctx context.Context, q *Request) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	d := newDecider(ctx, q)
	defer d.end()
	decision, err := d.decide(r.root)
	if q.Asked != nil {
		*q.Asked = d.asked
	}
	if err != nil || q.Children == nil {
		return decision, err
	}
	t := Trace{Decision: decision}
	err = r.bound(q, &t)
	return t.Decision, err
}
