package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// A ledger has every write that clients have made of a database, when it began and
// when it was acknowledged. So it knows what each leaf may be: what the last
// acknowledged write has left, one that was under way at the same time, or one that
// has not been answered.
type ledger struct {
	mu      sync.Mutex
	time    int64                // counts what happens
	initial map[string]tree.Node // leaves, by path
	places  map[string]*place    // by path: "/rooms/r1"
	leaves  map[string]bool      // paths of all leaves that were ever written
	kept    []string             // targets of definitions: "/users/$u/groups/$g"
	bounded []string             // children of lists that definitions bound: "/home/$u/$"
	figures ledgerFigures
	wrong   []error // answers that no write should get
}

// ledgerFigures count writes by what became of them.
type ledgerFigures struct {
	Accepted, Denied, Stale             int
	CorruptedAccepted, CorruptedRefused int
}

// A ledgerOp is one write, of several places if it is an update.
type ledgerOp struct {
	began, ended int64 // by the ledger's time
	state        opState
	puts         []put
	corrupted    bool
}

type opState int

const (
	opSent opState = iota
	opDone
	opRefused
)

// A put is what an op writes at one place.
type put struct {
	op    *ledgerOp
	path  string
	value any // as encoding/json has it; nil removes
}

// A place is what was written at one path. Increments are added up once they are
// acknowledged.
type place struct {
	puts  []put
	added float64
	incrs []put // that are not answered, or not yet added
}

func newLedger(initial tree.Node) *ledger {
	l := &ledger{initial: make(map[string]tree.Node), places: make(map[string]*place), leaves: make(map[string]bool)}
	each(initial, "", func(path string, n tree.Node) {
		if n.IsLeaf() {
			l.initial[path] = n
		}
	})
	return l
}

// begin enters a write that is about to be sent.
func (l *ledger) begin(path, data string, merge, corrupted bool) *ledgerOp {
	var value any
	if err := json.Unmarshal([]byte(data), &value); err != nil {
		panic(err) // the client has made it
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.time++
	op := &ledgerOp{began: l.time, corrupted: corrupted}
	base := strings.Trim(path, "/")
	values := map[string]any{"": value}
	if merge {
		values = value.(map[string]any)
	}
	for rel, v := range values {
		at := "/" + strings.Trim(base+"/"+strings.Trim(rel, "/"), "/")
		p := put{op, at, v}
		op.puts = append(op.puts, p)
		here := l.places[at]
		if here == nil {
			here = &place{}
			l.places[at] = here
		}
		if _, ok := increment(v); ok {
			here.incrs = append(here.incrs, p)
		} else {
			here.puts = append(here.puts, p)
		}
		l.note(at, v)
	}
	return op
}

// note notes the leaves of a value.
func (l *ledger) note(path string, v any) {
	children, ok := v.(map[string]any)
	if !ok || children[".sv"] != nil {
		l.leaves[path] = true
		return
	}
	for key, child := range children {
		l.note(path+"/"+key, child)
	}
}

// end enters the answer to a write.
func (l *ledger) end(op *ledgerOp, status string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.time++
	op.ended, op.state = l.time, opRefused
	switch status {
	case wire.StatusOK:
		op.state = opDone
		l.figures.Accepted++
		if op.corrupted {
			l.figures.CorruptedAccepted++
		}
	case wire.StatusPermissionDenied:
		l.figures.Denied++
	case wire.StatusDataStale:
		l.figures.Stale++
	default:
		if !op.corrupted { // what is corrupted may be no valid write
			l.wrong = append(l.wrong, fmt.Errorf("a write of %s: %s", op.puts[0].path, status))
		}
	}
	if op.corrupted && op.state == opRefused {
		l.figures.CorruptedRefused++
	}
	for _, p := range op.puts {
		l.settle(l.places[p.path])
	}
}

// settle forgets what can no longer be seen at a place: what was refused, and what
// was over when a later write began.
func (l *ledger) settle(here *place) {
	last := lastBegan(here.puts)
	here.puts = slices.DeleteFunc(here.puts, func(p put) bool {
		return p.op.state == opRefused || p.op.state == opDone && p.op.ended < last
	})
	here.incrs = slices.DeleteFunc(here.incrs, func(p put) bool {
		if p.op.state == opDone {
			n, _ := increment(p.value)
			here.added += n
		}
		return p.op.state != opSent
	})
}

// lastBegan returns when the last write began that was acknowledged.
func lastBegan(puts []put) (last int64) {
	for _, p := range puts {
		if p.op.state == opDone {
			last = max(last, p.op.began)
		}
	}
	return last
}

// compare returns what of a tree is not as the writes have left it.
func (l *ledger) compare(root tree.Node) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	there := make(map[string]tree.Node)
	each(root, "", func(path string, n tree.Node) { there[path] = n })
	paths := maps.Clone(l.leaves)
	for path := range there {
		paths[path] = true
	}
	for path := range l.initial {
		paths[path] = true
	}
	errs := slices.Clone(l.wrong)
	for path := range paths {
		n := there[path]
		if n.IsObject() {
			continue // its leaves are among the paths
		}
		if strings.HasPrefix(path, "/landing/") || l.isKept(path) || l.isGone(path, n) {
			continue // the server gives up a lease when a connection ends, keeps what follows, and trims lists
		}
		if err := l.compareLeaf(path, n); err != nil && len(errs) < 10 {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// each calls f with all nodes below one, and with itself.
func each(n tree.Node, path string, f func(string, tree.Node)) {
	f(path, n)
	for key, child := range n.Children() {
		each(child, path+"/"+key, f)
	}
}

// compareLeaf compares what there is at a path with what may be there.
func (l *ledger) compareLeaf(path string, n tree.Node) error {
	puts, added, incrs := l.covering(path)
	last := lastBegan(puts)
	var may []any
	if last == 0 {
		may = append(may, l.initial[path])
	}
	for _, p := range puts {
		if p.op.state == opSent || p.op.ended >= last {
			may = append(may, valueAt(p.value, path[len(p.path):]))
		}
	}
	least, most := added, added
	for _, p := range incrs {
		by, _ := increment(p.value)
		least, most = least+min(by, 0), most+max(by, 0)
	}
	for _, v := range may {
		if matches(n, v, least, most) {
			return nil
		}
	}
	return fmt.Errorf("%s is %s, may be %v plus %v to %v", path, n.JSON(), may, least, most)
}

// covering returns what was written at a path or above, without what was refused.
func (l *ledger) covering(path string) (puts []put, added float64, incrs []put) {
	for at := path; ; at = at[:strings.LastIndexByte(at, '/')] {
		if here := l.places[at]; here != nil {
			for _, p := range here.puts {
				if p.op.state != opRefused {
					puts = append(puts, p)
				}
			}
			if at == path {
				added, incrs = here.added, here.incrs
			}
		}
		if at == "" || at == "/" {
			return puts, added, incrs
		}
	}
}

// valueAt returns the value at a path within one: "/a/b".
func valueAt(v any, path string) any {
	for key := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if key != "" {
			children, _ := v.(map[string]any)
			v = children[key]
		}
	}
	return v
}

// increment returns what a server value adds.
func increment(v any) (n float64, ok bool) {
	sv, _ := v.(map[string]any)
	by, _ := sv[".sv"].(map[string]any)
	n, ok = by["increment"].(float64)
	return n, ok
}

// matches reports whether a leaf, or nothing, is a value of the ledger, plus what
// was added to it.
func matches(n tree.Node, v any, least, most float64) bool {
	f, isNumber := n.NumberValue()
	within := func(base float64) bool { return isNumber && base+least <= f && f <= base+most }
	switch v := v.(type) {
	case tree.Node:
		base, _ := v.NumberValue()
		return n == v && least <= 0 && 0 <= most || within(base)
	case float64:
		return within(v) || isNumber && math.Abs(f-v) < 1e-9 && least <= 0 && 0 <= most
	case map[string]any: // a leaf that is the server's time, or no leaf
		if v[".sv"] == "timestamp" {
			return isNumber
		}
		return n.IsEmpty()
	case bool:
		b, ok := n.BoolValue()
		return ok && b == v
	case string:
		s, ok := n.StringValue()
		return ok && s == v
	}
	return n.IsEmpty() && least <= 0 && 0 <= most || within(0) && (least != 0 || most != 0)
}

// A ledger that never complains would prove nothing.
func TestLedger(t *testing.T) {
	initial := tree.MustParseNode(`{"a":1,"n":5,"o":{"x":"old"}}`)
	for _, c := range []struct {
		name string
		do   func(l *ledger)
		good []string // trees that are right then
		bad  []string
	}{
		{"nothing", func(*ledger) {}, []string{`{"a":1,"n":5,"o":{"x":"old"}}`},
			[]string{`{"a":2,"n":5,"o":{"x":"old"}}`, `{"n":5,"o":{"x":"old"}}`, `{"a":1,"b":1,"n":5,"o":{"x":"old"}}`}},
		{"a write", func(l *ledger) { l.end(l.begin("/a", `2`, false, false), "ok") },
			[]string{`{"a":2,"n":5,"o":{"x":"old"}}`}, []string{`{"a":1,"n":5,"o":{"x":"old"}}`}},
		{"a write that is refused", func(l *ledger) { l.end(l.begin("/a", `2`, false, false), "permission_denied") },
			[]string{`{"a":1,"n":5,"o":{"x":"old"}}`}, []string{`{"a":2,"n":5,"o":{"x":"old"}}`}},
		{"a write without an answer", func(l *ledger) { l.begin("/a", `2`, false, false) },
			[]string{`{"a":1,"n":5,"o":{"x":"old"}}`, `{"a":2,"n":5,"o":{"x":"old"}}`}, []string{`{"a":3,"n":5,"o":{"x":"old"}}`}},
		{"two at the same time", func(l *ledger) {
			one, two := l.begin("/a", `2`, false, false), l.begin("/a", `3`, false, false)
			l.end(one, "ok")
			l.end(two, "ok")
		}, []string{`{"a":2,"n":5,"o":{"x":"old"}}`, `{"a":3,"n":5,"o":{"x":"old"}}`}, []string{`{"a":1,"n":5,"o":{"x":"old"}}`}},
		{"one after the other", func(l *ledger) {
			l.end(l.begin("/a", `2`, false, false), "ok")
			l.end(l.begin("/a", `3`, false, false), "ok")
		}, []string{`{"a":3,"n":5,"o":{"x":"old"}}`}, []string{`{"a":2,"n":5,"o":{"x":"old"}}`}},
		{"an update", func(l *ledger) {
			l.end(l.begin("/", `{"o/y":{".sv":"timestamp"},"a":null,"n":{".sv":{"increment":2}}}`, true, false), "ok")
			l.begin("/", `{"n":{".sv":{"increment":-1}}}`, true, false)
		}, []string{`{"n":7,"o":{"x":"old","y":1}}`, `{"n":6,"o":{"x":"old","y":1}}`},
			[]string{`{"n":5,"o":{"x":"old","y":1}}`, `{"n":8,"o":{"x":"old","y":1}}`, `{"n":7,"o":{"x":"old"}}`, `{"a":1,"n":7,"o":{"x":"old","y":1}}`}},
		{"a removal of what is above", func(l *ledger) {
			l.end(l.begin("/o/z", `"new"`, false, false), "ok")
			l.end(l.begin("/o", `null`, false, false), "ok")
		}, []string{`{"a":1,"n":5}`}, []string{`{"a":1,"n":5,"o":{"z":"new"}}`, `{"a":1,"n":5,"o":{"x":"old"}}`}},
	} {
		for _, text := range c.good {
			l := newLedger(initial)
			c.do(l)
			if err := l.compare(tree.MustParseNode(text)); err != nil {
				t.Errorf("%s: %s: %v", c.name, text, err)
			}
		}
		for _, text := range c.bad {
			l := newLedger(initial)
			c.do(l)
			if l.compare(tree.MustParseNode(text)) == nil {
				t.Errorf("%s: %s is not noticed", c.name, text)
			}
		}
	}
}
