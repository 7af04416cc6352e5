package rulestest

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dogwooddb/dogwood/tree"
)

// An OpText is an operation as people write it on a command line.
type OpText struct {
	Kind   string // "read", "write" or "update"
	Path   string
	Value  string // JSON: of a write the value, of an update the values by path
	Query  string // JSON of a read, "" for a plain one
	Socket bool   // a read over the realtime protocol
}

// Parse reads the operation. Who does it and when is left open.
func (t OpText) Parse() (Op, error) {
	op := Op{Now: DefaultNow, Socket: t.Socket}
	switch t.Kind {
	case "read":
		if t.Value != "" {
			return op, errors.New("a read takes no value")
		}
		path, err := tree.ParsePath(t.Path)
		if err != nil {
			return op, fmt.Errorf("%s: %w", t.Path, err)
		}
		op.Path = path
		return op, op.setQuery(raw(t.Query))
	case "write":
		return op, op.setWrite(t.Path, raw(t.Value), nil)
	case "update":
		return op, op.setUpdate(t.Path, raw(t.Value))
	}
	return op, fmt.Errorf("unknown operation %q; use read, write or update", t.Kind)
}

// raw returns a text as JSON; an empty one is missing.
func raw(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}

// setQuery sets what a read selects. Without a query it is a plain read, whose
// order depends on the door (rules §7).
func (op *Op) setQuery(text json.RawMessage) (err error) {
	op.Plain = text == nil || string(text) == "{}" || string(text) == "null"
	switch {
	case !op.Plain:
		op.Query, err = ParseQuery(string(text))
	case !op.Socket:
		op.Query = tree.Query{OrderBy: tree.ByKey}
	}
	return err
}

// setWrite makes op a write of a value at a path, which may end in .priority.
func (op *Op) setWrite(target string, value, priority json.RawMessage) error {
	if value == nil {
		return errors.New(`"value" is missing; null removes`)
	}
	t, err := tree.ParseTarget(target)
	if err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	op.Kind, op.Path, op.Priority, op.Value = Write, t.Path, t.Priority, string(value)
	if priority != nil && !t.Priority {
		op.Value = withPriority(op.Value, priority)
	}
	w, err := tree.ParseWrite(t, op.Value, tree.Lenient)
	if err != nil {
		return fmt.Errorf("value: %w", err)
	}
	op.Update = tree.Update{w}
	return nil
}

// setUpdate makes op an update of paths below base.
func (op *Op) setUpdate(base string, values json.RawMessage) (err error) {
	if values == nil {
		return errors.New(`"values" is missing`)
	}
	if op.Path, err = tree.ParsePath(base); err != nil {
		return fmt.Errorf("%s: %w", base, err)
	}
	op.Kind, op.Value = Update, string(values)
	if op.Update, err = tree.ParseUpdate(op.Path, op.Value, tree.Strict); err != nil {
		return fmt.Errorf("values: %w", err)
	}
	return nil
}

// view returns what a read returns.
func (op *Op) view(w World) tree.Node {
	n := w.Root.Get(op.Path)
	if !op.Plain {
		n = op.Query.Apply(n)
	}
	if !op.Shallow || !n.IsObject() {
		return n
	}
	var b tree.Builder
	for key := range n.Children() {
		b.Child(key, tree.Bool(true))
	}
	return b.Node()
}
