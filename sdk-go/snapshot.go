package dogwood

import (
	"iter"
	"maps"

	"github.com/dogwooddb/dogwood/tree"
)

// A Snapshot is the value at a place at one moment, inside of the query's window
// if it came from a query. It never changes.
type Snapshot struct {
	ref   Ref
	query tree.Query
	node  tree.Node
}

// Ref returns the place.
func (s Snapshot) Ref() Ref { return s.ref }

// Key returns the last key of the place, "" for the root.
func (s Snapshot) Key() string { return s.ref.Key() }

// Exists reports whether there is a value.
func (s Snapshot) Exists() bool { return !s.node.IsEmpty() }

// Decode stores the value in what dst points to, as json.Unmarshal would; what
// is absent becomes the zero value. Objects whose keys count from 0 can be read
// as slices, and all others as maps or structs. Priorities are left out. The error
// is ErrValue if the value does not fit.
func (s Snapshot) Decode(dst any) error {
	return failed("decode", s.ref.Path(), decode(s.node, dst))
}

// Value returns the value as a bool, float64, string, []any or map[string]any,
// or nil if there is none.
func (s Snapshot) Value() any {
	var v any
	if err := decode(s.node, &v); err != nil {
		panic("dogwood: a node is not JSON: " + err.Error())
	}
	return v
}

// Priority returns the priority, a float64 or string, or nil if there is none.
func (s Snapshot) Priority() any {
	return Snapshot{node: s.node.Priority()}.Value()
}

// Child returns the value at a path below. Data outside of a query's window is absent.
func (s Snapshot) Child(path string) Snapshot {
	ref := s.ref.Child(path)
	if ref.err != nil {
		return Snapshot{ref: ref}
	}
	return Snapshot{ref: ref, node: s.node.Get(s.ref.path.Rel(ref.path))}
}

// NumChildren returns the number of children.
func (s Snapshot) NumChildren() int { return s.node.NumChildren() }

// Children yields the children by key, in the order of the query.
func (s Snapshot) Children() iter.Seq2[string, Snapshot] {
	return func(yield func(string, Snapshot) bool) {
		nodes := maps.Collect(s.node.Children())
		for _, e := range s.query.Entries(s.node) {
			if !yield(e.Key, Snapshot{ref: s.ref.Child(e.Key), node: nodes[e.Key]}) {
				return
			}
		}
	}
}

// JSON returns the value in export form: with priorities, and without arrays.
func (s Snapshot) JSON() string { return s.node.JSON() }

// String is JSON.
func (s Snapshot) String() string { return s.JSON() }

// MarshalJSON is JSON, so that a snapshot can be written again, also as a part of
// something else.
func (s Snapshot) MarshalJSON() ([]byte, error) { return []byte(s.JSON()), nil }

// Equal reports whether two snapshots have the same value and priorities.
func (s Snapshot) Equal(other Snapshot) bool { return s.node == other.node }
