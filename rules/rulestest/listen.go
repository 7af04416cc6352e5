package rulestest

import (
	"slices"

	"github.com/dogwooddb/dogwood/tree"
)

// A listener is a read that goes on: it collects the changes of its view. It
// compares views before and after a write, which is slow and surely right: it
// checks the events that a server has to send, and must not be made in the same
// way.
type listener struct {
	op     Op
	events []Event
}

// listeners are those of a group, by name.
type listeners map[string]*listener

// notify adds the events of a write that turned one world into another.
func (ls listeners) notify(before, after World) {
	for _, l := range ls {
		l.events = append(l.events, changes(l.op.view(before), l.op.view(after))...)
	}
}

// changes returns the events that turn one view into another.
func changes(old, new tree.Node) []Event {
	var list []Event
	for key := range old.Children() {
		if new.Child(key).IsEmpty() {
			list = append(list, Event{Type: "child_removed", Key: key})
		}
	}
	for key, n := range new.Children() {
		switch was := old.Child(key); {
		case was.IsEmpty():
			list = append(list, Event{"child_added", key, n})
		case was != n:
			list = append(list, Event{"child_changed", key, n})
		}
	}
	return list
}

// compare compares what a listener got since the last time with what a step expects.
// The order within one write has no meaning, so it is not compared.
func (ls listeners) compare(s *Step, res *Result) {
	l := ls[s.Op.Listener]
	if l == nil {
		res.fail("no listener has the name %q", s.Op.Listener)
		return
	}
	rest := l.events
	for _, want := range s.Want.Events {
		i := slices.Index(rest, want)
		if i < 0 {
			res.fail("the event %s %s %s did not come", want.Type, want.Key, want.Value.JSON())
			continue
		}
		rest = slices.Delete(slices.Clone(rest), i, i+1)
	}
	for _, e := range rest {
		res.fail("the event %s %s %s was not expected", e.Type, e.Key, e.Value.JSON())
	}
	l.events = nil
}
