package pending

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// MaxCondition bounds the value of a condition. Comparing it holds up all writes.
const MaxCondition = 4 << 10

// A Condition is the condition of what a session leaves for its disconnect: it is
// carried out only if the place has the value then, and the caller may read it.
// So the late end of an old session does not undo what a new one wrote. It never
// changes.
type Condition struct {
	Path  tree.Path
	Value tree.Node // without its own priority, which is not compared
}

// Size is what the condition counts for.
func (o *Condition) size() int {
	if o == nil {
		return 0
	}
	return len(o.Path.Clean()) + len(o.Value.Text())
}

// Same reports whether two conditions always agree. nil is none.
func (o *Condition) Same(p *Condition) bool {
	return o == p || o != nil && p != nil && *o == *p
}

// ReadCondition reads the condition of an operation at a path, nil if it has none:
// {"p":"session","d":"s1"}, with a path below the other one.
func ReadCondition(b wire.Body, at tree.Path) (*Condition, error) {
	if b.OnlyIf == "" {
		return nil, nil
	}
	o := gjson.Parse(b.OnlyIf)
	p, d := o.Get("p"), o.Get("d")
	if p.Type != gjson.String || !d.Exists() {
		return nil, fmt.Errorf("%w: if needs p and d", fault.ErrMalformed)
	}
	rel, err := tree.ParsePath(p.String())
	if err == nil && at.Len()+rel.Len() > tree.MaxDepth {
		err = tree.ErrTooDeep
	}
	if err != nil {
		return nil, err
	}
	if len(d.Raw) > MaxCondition {
		return nil, fmt.Errorf("%w: the value of if has more than %d bytes", fault.ErrMalformed, MaxCondition)
	}
	draft, err := tree.Parse(d.Raw, 0, tree.Lenient)
	if err != nil {
		return nil, err
	}
	n, ok := draft.Node()
	if !ok {
		return nil, fmt.Errorf("%w: the value of if is a server value", fault.ErrMalformed)
	}
	at, err = tree.ParsePath(strings.Clone(at.Join(rel).Clean())) // so as not to keep the text of the request
	return &Condition{at, tree.FromCanonical(strings.Clone(n.Value().Text()))}, err
}

// A storedCondition is a condition as the store keeps it.
type storedCondition struct {
	Path  string `json:"path"`
	Value string `json:"value"` // text of the node
}

func (o *Condition) stored() *storedCondition {
	if o == nil {
		return nil
	}
	return &storedCondition{o.Path.String(), o.Value.Text()}
}

func (s *storedCondition) onlyIf() (*Condition, error) {
	if s == nil {
		return nil, nil
	}
	p, err := tree.ParsePath(s.Path)
	return &Condition{p, tree.FromCanonical(s.Value)}, err
}
