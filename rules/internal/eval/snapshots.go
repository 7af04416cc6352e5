package eval

import (
	"github.com/dogwooddb/dogwood/rules/internal/snapshot"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

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
	askNumChildren // the extension counts
)

// questions are the methods of snapshots without arguments.
var questions = map[string]question{
	"val":         askVal,
	"exists":      askExists,
	"isString":    askString,
	"isNumber":    askNumber,
	"isBoolean":   askBoolean,
	"getPriority": askPriority,
	"hasChildren": askHasChildren,
	"numChildren": askNumChildren,
}

// snapshotOf returns the snapshot that a variable is.
func (e *Evaluation) snapshotOf(name string) snapshot.Snapshot {
	switch name {
	case "data":
		return snapshot.Snapshot{Path: e.at, New: e.After}
	case "newData":
		return snapshot.Snapshot{Path: e.at, New: true}
	case "newRoot":
		return snapshot.Snapshot{New: true}
	}
	return snapshot.Snapshot{}
}

// keep returns a pointer to s that lasts as long as the expression. The first few
// are not allocated.
func (e *Evaluation) keep(s snapshot.Snapshot) *snapshot.Snapshot {
	if e.taken == len(e.kept) {
		return &s
	}
	p := &e.kept[e.taken]
	e.taken++
	*p = s
	return p
}

// ask answers a question about s. The answer depends on the node there, which is
// noted.
func (e *Evaluation) ask(s snapshot.Snapshot, what question) (answer any) {
	switch what {
	case askNothing:
		return e.keep(s)
	case askExists:
		return e.exists(s)
	case askPriority:
		e.noteRead(s)
		return e.Priority(s)
	case askNumChildren:
		e.noteRead(s)
		n := e.NumChildren(s)
		if e.Budget.Over && !s.None {
			return e.fail(lang.Number, msgTooMuch)
		}
		return float64(n)
	}
	v := e.value(s)
	switch what {
	case askString:
		_, answer = v.(string)
	case askNumber:
		_, answer = v.(float64)
	case askBoolean:
		_, answer = v.(bool)
	case askHasChildren:
		_, answer = v.(snapshot.Object)
	default:
		answer = v
	}
	return answer
}

// exists reports whether there is a node at s.
func (e *Evaluation) exists(s snapshot.Snapshot) bool {
	if e.NotePaths && !s.New && !s.None {
		e.uses.Exists = append(e.uses.Exists, s.Path)
	}
	return e.Exists(s)
}

// value returns the value of the node at s.
func (e *Evaluation) value(s snapshot.Snapshot) any {
	e.noteRead(s)
	v := e.Value(s)
	if v == nil && e.Budget.Over && !s.None {
		e.fail(lang.Any, msgTooMuch) // what is null may only not have been read
	}
	return v
}

// noteRead notes that the current expression depends on the node at s.
func (e *Evaluation) noteRead(s snapshot.Snapshot) {
	if e.NotePaths && !s.New && !s.None {
		e.uses.Paths = append(e.uses.Paths, s.Path)
	}
}

// child returns the snapshot at a path below s. What is no path leads nowhere,
// and that is no fault (rules §5.7).
func (e *Evaluation) child(s snapshot.Snapshot, path string) snapshot.Snapshot {
	rel, err := tree.ParsePath(path)
	if s.None || err != nil || rel.IsRoot() || s.Path.Len()+rel.Len() > tree.MaxDepth {
		return snapshot.Snapshot{New: s.New, None: true}
	}
	return snapshot.Snapshot{Path: s.Path.Join(rel), New: s.New}
}

// parent returns the snapshot above s. The root has none.
func (e *Evaluation) parent(s snapshot.Snapshot) (up snapshot.Snapshot, ok bool) {
	if s.None {
		return s, true
	}
	if s.Path.IsRoot() {
		e.fail(lang.Snapshot, msgNoParent)
		return snapshot.Snapshot{New: s.New, None: true}, false
	}
	s.Path, _ = s.Path.Parent()
	return s, true
}
