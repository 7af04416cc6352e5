package rules

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwooddb/dogwood/tree"
)

// An Auth is what rules see of a caller: the variable auth. The zero Auth is a
// signed-out caller, for whom auth is null.
type Auth struct {
	UID   string
	Token string // the claims as JSON object text, "" if there are none
	JSON  string // the whole variable as JSON object text, "" for null
}

// IsNull reports whether the caller is signed out.
func (a Auth) IsNull() bool { return a.JSON == "" }

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
	Path   tree.Path            // what a read reads
	Query  tree.Query           // of a read
	Plain  bool                 // a read without query parameters
	Writes []tree.ResolvedWrite // everything one write operation does, at disjoint targets
	Data   tree.Reader          // the tree before the operation
	Now    time.Time            // what server timestamps of the operation resolve to
}

// A Decision is the answer to a request.
type Decision struct {
	Allow bool

	// Rule is the path of the rule that decided, such as "/rooms/$room/.read":
	// the one that granted a read or the first target of a write, the .validate
	// that failed, or else the deepest rule that could have granted and did not.
	// It is "" if no rule was asked.
	Rule string
}

// Check decides a request. A read is allowed if a .read on the way to its path
// is true. A write is allowed if each of its targets has a .write that is true,
// at the target or above it, and no .validate fails. Rules below cannot take back
// what a rule above has granted. The error is one of reading q.Data, or of ctx.
//
// Every operation runs Check. It does not allocate where no .validate can fail.
func (r *Ruleset) Check(ctx context.Context, q *Request) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	switch q.Op {
	case OpRead:
		return r.grant(q.Path, q), nil
	case OpWrite:
		return r.write(q)
	}
	return Decision{}, fmt.Errorf("unknown operation %d", q.Op)
}

// grant looks for a rule that grants the request at p, from the root downwards.
func (r *Ruleset) grant(p tree.Path, q *Request) Decision {
	var refused string
	for n := r.root; n != nil; {
		if g := n.grants[q.Op]; g != nil {
			if g.cond.holds(q) {
				return Decision{Allow: true, Rule: g.path}
			}
			refused = g.path
		}
		key, rest, ok := p.Cut()
		if !ok {
			break
		}
		n, p = n.child(key), rest
	}
	return Decision{Rule: refused}
}

// write decides a write: all its targets must be granted, and what they leave
// behind must be valid. The empty write is a no-op that needs no grant.
func (r *Ruleset) write(q *Request) (Decision, error) {
	allowed := Decision{Allow: true}
	for i, w := range q.Writes {
		d := r.grant(w.Path, q)
		if !d.Allow {
			return d, nil
		}
		if i == 0 {
			allowed = d
		}
	}
	if r.root == nil || !r.root.validates {
		return allowed, nil
	}
	after := newData{data: q.Data, writes: q.Writes}
	for _, w := range q.Writes {
		failed, err := r.invalid(w, &after, q)
		if err != nil {
			return Decision{}, err
		}
		if failed != nil {
			return Decision{Rule: failed.path}, nil
		}
	}
	return allowed, nil
}

// invalid returns a .validate rule that a write breaks, or nil. Asked are the
// rules of the nodes above the target, which contain the write, and those at and
// below it, which the write carries; never those of its siblings. What doesn't
// exist after the write is not asked, so removals only answer to rules above.
func (r *Ruleset) invalid(w tree.ResolvedWrite, after *newData, q *Request) (*rule, error) {
	n, at, rest := r.root, tree.Root, w.Path
	for n != nil && n.validates {
		key, below, more := rest.Cut()
		if !more {
			v, err := after.written(w)
			return n.invalid(v, q), err
		}
		if n.validate != nil && !n.validate.cond.holds(q) {
			exists, err := after.exists(at)
			if err != nil || exists {
				return n.validate, err
			}
		}
		n, at, rest = n.child(key), at.Child(key), below
	}
	return nil, nil
}

// invalid returns a .validate rule of n or below it that v breaks, or nil.
func (n *node) invalid(v tree.Node, q *Request) *rule {
	if n == nil || !n.validates || v.IsEmpty() {
		return nil
	}
	if n.validate != nil && !n.validate.cond.holds(q) {
		return n.validate
	}
	for key, c := range v.Children() {
		if failed := n.child(key).invalid(c, q); failed != nil {
			return failed
		}
	}
	return nil
}
