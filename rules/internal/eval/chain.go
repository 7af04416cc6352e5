package eval

import (
	"bytes"
	"strings"

	"github.com/dogwooddb/dogwood/rules/internal/snapshot"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// A chain is a run of members of snapshots, such as
//
//	root.child('members').child($room + '/' + auth.uid).exists()
//
// as one function of a program. Most rules are such a chain, so it pays that its
// intermediate snapshots never exist.
type chain struct {
	variable string   // where it begins, or "": at the first argument
	steps    []step   // how it goes on
	what     question // what it asks in the end
	children []text   // hasChild and hasChildren: what it asks that of
	list     bool     // children are asked for, even if there are none
	typ      lang.Type
}

// A step leads to the parent, or down a path.
type step struct {
	up    bool
	path  []text    // the arguments of successive calls of child
	fixed tree.Path // the path, if it is known in advance
}

// run follows the steps and asks. After a fault it returns a zero value of the type.
func (c *chain) run(e *Evaluation, args []any) any {
	s, ok := c.begin(e, args)
	for i := range c.steps {
		if !ok {
			return zero(c.typ)
		}
		s, ok = c.steps[i].follow(e, s, args)
	}
	if !ok {
		return zero(c.typ)
	}
	if !c.list {
		return e.ask(s, c.what)
	}
	for i := range c.children {
		path, ok := c.children[i].get(e, args, msgPathArg)
		if !ok || !e.exists(e.child(s, path)) {
			return e.checkRest(c.children[i+1:], args)
		}
	}
	return true
}

// checkRest returns false, the answer, after looking for faults in the remaining
// arguments: the machine has evaluated them already, so their faults count.
func (e *Evaluation) checkRest(rest []text, args []any) any {
	for i := range rest {
		if _, ok := rest[i].get(e, args, msgPathArg); !ok {
			break
		}
	}
	return false
}

// begin returns the snapshot that the chain begins at. ok is false if its
// evaluation failed.
func (c *chain) begin(e *Evaluation, args []any) (snapshot.Snapshot, bool) {
	if c.variable != "" {
		return e.snapshotOf(c.variable), true
	}
	s, ok := args[0].(*snapshot.Snapshot)
	if !ok { // its evaluation failed
		return snapshot.Snapshot{}, false
	}
	return *s, true
}

// follow returns the snapshot that the step leads to. ok is false if there is a
// fault. The path of successive calls of child is put together in one buffer and
// parsed once, so that no string and Path is made for each call.
func (st *step) follow(e *Evaluation, s snapshot.Snapshot, args []any) (to snapshot.Snapshot, ok bool) {
	switch {
	case st.up:
		return e.parent(s)
	case !st.fixed.IsRoot():
		if s.None || s.Path.Len()+st.fixed.Len() > tree.MaxDepth {
			return snapshot.Snapshot{New: s.New, None: true}, true
		}
		s.Path = e.joins.join(s.Path, st.fixed)
		return s, true
	}
	e.text = append(e.text[:0], s.Path.Clean()...)
	for i := range st.path {
		e.text = append(e.text, '/')
		start := len(e.text)
		if !st.path[i].append(e, args, msgPathArg) {
			return s, false
		}
		s.None = s.None || len(bytes.TrimLeft(e.text[start:], "/")) == 0
	}
	if !s.None {
		var err error
		s.Path, err = tree.ParsePath(strings.TrimPrefix(string(e.text), "/"))
		s.None = err != nil
	}
	if s.None {
		s.Path = tree.Root
	}
	return s, true
}

// joined is a path that was put together.
type joined struct{ from, by, to tree.Path }

// joins are paths that were put together lately.
type joins [4]joined

// join is from.Join(by). The expressions that look at one node mostly ask for the same of it.
func (l *joins) join(from, by tree.Path) tree.Path {
	j := &l[len(by.Clean())%len(l)]
	if j.by != by || j.from != from {
		*j = joined{from, by, from.Join(by)}
	}
	return j.to
}

// fixedPath returns the path of texts that are all constants. ok is false if
// they are not, or lead nowhere.
func fixedPath(texts []text) (p tree.Path, ok bool) {
	for _, t := range texts {
		if t.sum || t.parts[0].from != fromConstant {
			return tree.Root, false
		}
		s, _ := t.parts[0].value.(string)
		rel, err := tree.ParsePath(s)
		if err != nil || rel.IsRoot() || strings.Trim(s, "/") == "" {
			return tree.Root, false
		}
		p = p.Join(rel)
	}
	return p, p.Len() <= tree.MaxDepth
}
