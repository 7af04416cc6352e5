package dogwood

import (
	"fmt"

	"github.com/dogwooddb/dogwood/tree"
)

// A Ref names a place in a database. It is a Query as well: the one for
// everything that is there. The zero Ref belongs to no Client: what is done with
// it fails with ErrPath.
type Ref struct{ Query }

// Key returns the last key of the path, "" for the root.
func (r Ref) Key() string {
	_, key := r.path.Parent()
	return key
}

// Path returns the path with a leading slash: "/rooms/r1".
func (r Ref) Path() string { return r.path.String() }

// String is Path.
func (r Ref) String() string { return r.Path() }

// Child returns the place at a path below: "members/ana". If the path is not valid,
// what is done with the place fails with ErrPath.
func (r Ref) Child(path string) Ref {
	if r.err == nil {
		r.path, r.err = join(r.path, path)
	}
	return r
}

// join returns the path below another one that a text names.
func join(p tree.Path, text string) (tree.Path, error) {
	rel, err := tree.ParsePath(text)
	if err == nil && p.Len()+rel.Len() > tree.MaxDepth {
		err = tree.ErrTooDeep
	}
	if err != nil {
		return p, fmt.Errorf("%w %q: %w", ErrPath, text, err)
	}
	return p.Join(rel), nil
}

// Parent returns the place above, of the root the root.
func (r Ref) Parent() Ref {
	r.path, _ = r.path.Parent()
	return r
}

// Root returns the root of the database.
func (r Ref) Root() Ref {
	r.path = tree.Root
	return r
}

// NewChild returns a child with a new key. Such keys sort by the time they were
// made, and no two clients make the same.
func (r Ref) NewChild() Ref {
	if r.client == nil {
		return r // which fails when it is used
	}
	return r.Child(r.client.pushIDs.Next(r.client.ServerTime()))
}

// Ref returns the place whose children the query is about.
func (q Query) Ref() Ref { return Ref{Query{client: q.client, path: q.path, err: q.err}} }
