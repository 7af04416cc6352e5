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

func raw(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}
