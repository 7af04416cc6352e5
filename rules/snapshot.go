package rules

import (
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// A snapshot is a place in the old or the new tree. Nothing is read until it is
// asked for something.
type snapshot struct {
	path tree.Path
	new  bool // in the tree after the operation
	none bool // reached by a path that no node can have: always empty
}

// A question is what a snapshot can be asked.
type question int

const (
	askNothing question = iota // the snapshot itself
	askVal
	askExists
	askString
	askNumber
	askBoolean
	askPriority
	askHasChildren
)

var questions = map[string]question{
	"val":         askVal,
	"exists":      askExists,
	"isString":    askString,
	"isNumber":    askNumber,
	"isBoolean":   askBoolean,
	"getPriority": askPriority,
	"hasChildren": askHasChildren,
}

// snapshotOf returns the snapshot that a variable is.
func (e *evaluation) snapshotOf(name string) snapshot {
	switch name {
	case "data":
		return snapshot{path: e.at}
	case "newData":
		return snapshot{path: e.at, new: true}
	case "newRoot":
		return snapshot{new: true}
	}
	return snapshot{}
}

// keep returns a pointer to s that lasts as long as the expression.
func (e *evaluation) keep(s snapshot) *snapshot {
	if e.taken == len(e.snapshots) {
		return &s
	}
	p := &e.snapshots[e.taken]
	e.taken++
	*p = s
	return p
}

// ask answers a question about s. The answer depends on the node there, which is
// noted.
func (e *evaluation) ask(s snapshot, what question) any {
	if what == askNothing {
		return e.keep(s)
	}
	v := any(nil)
	switch {
	case s.none:
	case what == askExists:
		return e.exists(s)
	case what == askPriority:
		e.noteValue(s)
		if s.new {
			return e.new.priority(s.path)
		}
		return e.old.priority(s.path)
	default:
		v = e.value(s)
	}
	switch what {
	case askExists:
		return false
	case askString:
		_, ok := v.(string)
		return ok
	case askNumber:
		_, ok := v.(float64)
		return ok
	case askBoolean:
		_, ok := v.(bool)
		return ok
	case askHasChildren:
		_, ok := v.(object)
		return ok
	}
	return v
}

func (e *evaluation) exists(s snapshot) bool {
	if s.none {
		return false
	}
	e.noteExists(s)
	if s.new {
		return e.new.exists(s.path)
	}
	return e.old.exists(s.path)
}

func (e *evaluation) value(s snapshot) any {
	e.noteValue(s)
	var v any
	if s.new {
		v = e.new.value(s.path)
	} else {
		v = e.old.value(s.path)
	}
	if v == nil && e.budget.over {
		e.fail(lang.Any, msgTooMuch) // what is null may only not have been read
	}
	return v
}

// child returns the snapshot at a path below s. What is no path leads nowhere,
// and that is no fault (rules §5.7).
func (e *evaluation) child(s snapshot, path string) snapshot {
	rel, err := tree.ParsePath(path)
	if s.none || err != nil || rel.IsRoot() || s.path.Len()+rel.Len() > tree.MaxDepth {
		return snapshot{new: s.new, none: true}
	}
	return snapshot{path: s.path.Join(rel), new: s.new}
}

// parent returns the snapshot above s. The root has none.
func (e *evaluation) parent(s snapshot) (up snapshot, ok bool) {
	if s.none {
		return s, true
	}
	if s.path.IsRoot() {
		e.fail(lang.Snapshot, msgNoParent)
		return snapshot{new: s.new, none: true}, false
	}
	s.path, _ = s.path.Parent()
	return s, true
}
