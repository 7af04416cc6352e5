package dogwood

import (
	"iter"
	"slices"
	"sort"
	"strconv"

	"github.com/dogwooddb/dogwood/tree"
)

// An EventType says what happened to a child.
type EventType int

// The types of events. For one change of the tree they come in this order.
const (
	ChildRemoved EventType = iota // it left the window
	ChildAdded                    // it entered the window, or was there from the start
	ChildMoved                    // what it is ordered by has changed
	ChildChanged                  // it has another value; it may have moved, too
)

// String returns the name that the protocol's SDKs give to a type:
// "child_added".
func (t EventType) String() string {
	names := [...]string{"child_removed", "child_added", "child_moved", "child_changed"}
	if t < 0 || int(t) >= len(names) {
		return "EventType(" + strconv.Itoa(int(t)) + ")"
	}
	return names[t]
}

// An Event is a change of one child of a place.
type Event struct {
	Type    EventType // what has happened to it
	Key     string    // of the child
	PrevKey string    // of the child before it in the order of the query; "" for the first, and if it was removed
	Value   Snapshot  // the child; the last known one if it was removed
}

// events returns what happened between two states of a window, in the order of
// the official SDKs: by type, then by the order of the query.
func (q Query) events(before, after tree.Node) []Event {
	if before == after {
		return nil
	}
	d := difference{query: q.query}
	d.compare(before, after)
	var events []Event
	for t, list := range d.changed {
		sort.Slice(list, func(i, j int) bool { return q.query.Compare(list[i].Entry, list[j].Entry) < 0 })
		for _, c := range list {
			ref := q.Ref().Child(c.Key)
			ev := Event{Type: EventType(t), Key: c.Key, Value: Snapshot{ref: ref, node: c.node}}
			if EventType(t) != ChildRemoved {
				ev.PrevKey = d.before(after, c.Entry)
			}
			events = append(events, ev)
		}
	}
	return events
}

// A child is one child of a place, and where it stands in the order of a query.
type child struct {
	tree.Entry
	node tree.Node
}

// A difference is what two states of a window differ in.
type difference struct {
	query   tree.Query
	changed [ChildChanged + 1][]child
	order   []tree.Entry // of the later state, once it is needed
}

func (d *difference) add(t EventType, key string, n tree.Node) {
	d.changed[t] = append(d.changed[t], child{tree.Entry{Value: d.query.IndexValue(n), Key: key}, n})
}

// compare goes over the children of both states once: both have them in the
// order of keys.
func (d *difference) compare(before, after tree.Node) {
	next, stop := iter.Pull2(before.Children())
	defer stop()
	key, node, more := next()
	for k, n := range after.Children() {
		for more && tree.CompareKeys(key, k) < 0 {
			d.add(ChildRemoved, key, node)
			key, node, more = next()
		}
		if !more || key != k {
			d.add(ChildAdded, k, n)
			continue
		}
		if n != node {
			d.change(k, node, n)
		}
		key, node, more = next()
	}
	for more {
		d.add(ChildRemoved, key, node)
		key, node, more = next()
	}
}

func (d *difference) change(key string, before, after tree.Node) {
	if tree.CompareValues(d.query.IndexValue(before), d.query.IndexValue(after)) != 0 {
		d.add(ChildMoved, key, after)
	}
	d.add(ChildChanged, key, after)
}

// before returns the key of the child before e.
func (d *difference) before(after tree.Node, e tree.Entry) string {
	if d.order == nil {
		d.order = d.query.Entries(after)
	}
	i, _ := slices.BinarySearchFunc(d.order, e, d.query.Compare)
	if i == 0 {
		return ""
	}
	return d.order[i-1].Key
}
