package expression

import (
	"fmt"
	"math"

	"github.com/dogwooddb/dogwood/rules/internal/eval"
	"github.com/dogwooddb/dogwood/rules/internal/snapshot"
	"github.com/dogwooddb/dogwood/tree"
)

// The bounds of one expression are those of a rule. MaxSpent and MaxSteps are how much
// text it may look at, and how many steps its regular expressions may take.
const (
	MaxSpent = snapshot.MaxSpent
	MaxSteps = snapshot.MaxMatchSteps
)

// Bounds bound one expression. 0 stands for the bound of a rule; one text has none there.
type Bounds = snapshot.Bounds

// Trees are the states of a tree before and after an update. The second is never built: it
// is the writes over the first. Only one goroutine may use them, between Begin and End.
//
// The budget of an expression is that of one rule and begins anew with each: so whether it
// fails depends on nothing but the node. Spent is what all together have used; a caller
// with much to evaluate bounds it.
//
// The zero Trees is ready for Begin. After End they can begin again, and keep their buffers.
// Expressions of one update share what was read, unless one of them was charged for text.
type Trees struct {
	// Most has lower bounds of one expression, which fails beyond them. A tree that is a
	// snapshot.Sized is not read for a text that is too long.
	Most Bounds

	e            eval.Evaluation
	bytes, steps int // that were charged, since Renew
	free         int // bytes of short texts, which no budget charges; only filters count them
}

// Begin prepares for an update at disjoint targets; nil writes mean that before and after are
// equal. The caller must not change writes, and the tree must stay as it is, until End.
func (t *Trees) Begin(before tree.Reader, writes []tree.ResolvedWrite) {
	t.e.Input = eval.Input{Data: before, Writes: writes}
	t.e.Begin()
}

// End lets go of the update. It keeps the count of what was spent.
func (t *Trees) End() { t.e.End() }

// Spent returns the bytes of text and the steps of regular expressions that were used.
func (t *Trees) Spent() (bytes, steps int) { return t.bytes, t.steps }

// Renew forgets what was spent.
func (t *Trees) Renew() { t.bytes, t.steps, t.free = 0, 0, 0 }

// Err returns the first error of reading. After it the trees are empty, so expressions go on and
// their values mean nothing: the caller asks Err once, before End, and discards them.
func (t *Trees) Err() error { return t.e.Old.Err }

// Exists reports whether there is a node at p, before or after the update.
func (t *Trees) Exists(p tree.Path, after bool) bool {
	return t.e.Exists(snapshot.Snapshot{Path: p, New: after})
}

// Value evaluates an expression about the node at p, before or after the update. It returns
// a leaf, or Empty for null. fault says why there is no value, "" if there is one: what an
// expression yields may be no leaf.
func (t *Trees) Value(x *Expression, p tree.Path, after bool) (n tree.Node, fault string) {
	t.e.After, t.e.Budget = after, snapshot.Budget{Most: t.Most}
	v, ok := t.e.Answer(x.program, p)
	t.free += t.e.Budget.Free()
	// Text that is remembered is not charged again. Forgetting it makes the next expression pay
	// in full, so that its outcome does not depend on the expressions before it.
	if bytes, steps := t.e.Budget.Spent(); bytes > 0 || steps > 0 {
		t.bytes, t.steps = t.bytes+bytes, t.steps+steps
		t.e.Forget()
	}
	if !ok && t.Most.Text > 0 && t.e.Budget.Over {
		return tree.Empty, fmt.Sprintf("it looks at a text of more than %d KiB, or at too much text", t.Most.Text>>10)
	}
	if !ok {
		return tree.Empty, t.e.Fault()
	}
	switch v := v.(type) {
	case nil:
		return tree.Empty, ""
	case bool:
		return tree.Bool(v), ""
	case string:
		if len(v) > tree.MaxStringBytes {
			return tree.Empty, "the text is too long"
		}
		return tree.String(v), ""
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return tree.Empty, "the number is not finite"
		}
		return tree.Number(v), ""
	}
	return tree.Empty, "the value is an object"
}
