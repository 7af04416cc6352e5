// Package load reads JSON of any size as a stream. It holds a window of the text in memory
// and hands what it reads to a [Builder], children before their parents. It knows nothing
// of how values are stored.
package load

import "github.com/dogwooddb/dogwood/tree"

// A Place is where a value goes: a child of a container, or its path itself.
type Place struct {
	Path tree.Path
	Key  string // "" for the path itself
}

// Resolve returns the path of the value.
func (p Place) Resolve() tree.Path {
	if p.Key == "" {
		return p.Path
	}
	return p.Path.Child(p.Key)
}

func (p Place) depth() int {
	if p.Key == "" {
		return p.Path.Len()
	}
	return p.Path.Len() + 1
}

// A Builder stores what is read. V is a stored value that is not part of another one yet;
// its zero value is absent. C is a container that gets children.
type Builder[V, C any] interface {
	// Node stores a value that is in memory.
	Node(at Place, n tree.Node) (V, error)

	// Container begins a container at a path.
	Container(p tree.Path) C

	// Add makes a value the child of a container. An absent one takes away the child that
	// had the same key before.
	Add(c C, key string, child V) error

	// Close ends a container. present reports whether it has children; it is absent if not.
	Close(c C, priority tree.Node) (v V, present bool, err error)

	// String begins a long string.
	String() (String[V], error)

	// WithPriority returns a value with a priority, or with none.
	WithPriority(at Place, v V, priority tree.Node) (V, error)

	// Drop lets go of a value that another one replaces.
	Drop(v V)
}

// A String is a long string that is being stored.
type String[V any] interface {
	Append(part string) error
	Value() V // after the last part
}
