package rulestest

import (
	"errors"
	"maps"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
)

// A declared is a data document that is in force in a world, and the rows that a server has
// for it. It never changes.
type declared struct {
	document *derive.Document
	sources  map[place]int
}

// A place is one that source nodes of a definition share.
type place struct {
	definition string
	path       tree.Path
}

// Declare returns the world with a data document in force: what follows from its data is
// there, and what contradicts that is corrected. A server says that of a write of an
// administrator. nil is no document.
func (w World) Declare(document *derive.Document) (World, error) {
	if document == nil {
		return World{Root: w.Root}, nil
	}
	root := tree.ResolvedWrite{Node: w.Root}
	return World{declared: &declared{document: document}}.after([]tree.ResolvedWrite{root})
}

// Sources is that of a derive.Tree.
func (w World) Sources(definition string, path tree.Path) (int, error) {
	return w.declared.sources[place{definition, path}], nil
}

// after returns the world with the writes and what follows from them. The writes may have
// what follows in them already.
func (w World) after(writes []tree.ResolvedWrite) (World, error) {
	if w.declared == nil {
		return w.put(writes), nil
	}
	r, err := w.declared.document.Derive(&derive.Change{Before: w, Writes: writes, Admin: true})
	if err != nil {
		return w, err
	}
	if r == nil {
		return w.put(writes), nil
	}
	if len(r.Shared) > 0 {
		sources := maps.Clone(w.declared.sources)
		if sources == nil {
			sources = make(map[place]int)
		}
		for _, s := range r.Shared {
			sources[place{s.Definition.Name, s.Place}] = s.Sources
		}
		w.declared = &declared{w.declared.document, sources}
	}
	return w.put(r.Writes), nil
}

// follow adds to a request what follows from its writes. If declared data refuse them, the
// request says so.
func (w World) follow(q *rules.Request, admin bool) error {
	if w.declared == nil {
		return nil
	}
	r, err := w.declared.document.Derive(&derive.Change{Before: w, Writes: q.Writes, Admin: admin, Now: q.Now})
	if refusal := (*derive.Refusal)(nil); errors.As(err, &refusal) {
		q.Kept = refusal.Error()
		return nil
	}
	if r != nil {
		q.Writes, q.Follow = r.Writes, r.Follow
	}
	if r != nil && r.Unkept != nil {
		q.Unkept = &rules.Unkept{Writes: r.Unkept.Writes, Follow: r.Unkept.Follow}
	}
	return err
}
