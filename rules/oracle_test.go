package rules

import (
	"encoding/json"

	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// The oracle decides requests a second way: closures over maps, written from the
// specification alone. It shares nothing with what it is compared with but the
// syntax tree.

// A mapRules is a node of rules.
type mapRules struct {
	rules    map[string]lang.Expr // by property
	children map[string]*mapRules
	capture  string
	below    *mapRules // the capture's
}

// holds evaluates a rule for the node at keys.
func (w *world) holds(x lang.Expr, keys []string, captures map[string]string) (holds bool) {
	w.at, w.captures = keys, captures
	defer func() {
		switch r := recover().(type) {
		case nil:
		case lapse:
			holds = false
		default:
			panic(r)
		}
	}()
	return oracle(x)(w).(bool)
}

// walk calls f for the rules at the root and at each key of the path.
func (r *mapRules) walk(keys []string, f func(r *mapRules, depth int, captures map[string]string)) {
	captures := make(map[string]string)
	for depth := 0; r != nil; depth++ {
		f(r, depth, captures)
		if depth == len(keys) {
			return
		}
		r, captures = r.next(keys[depth], captures)
	}
}

func (r *mapRules) next(key string, captures map[string]string) (*mapRules, map[string]string) {
	if c := r.children[key]; c != nil {
		return c, captures
	}
	if r.below == nil {
		return nil, nil
	}
	more := map[string]string{r.capture: key}
	for name, key := range captures {
		more[name] = key
	}
	return r.below, more
}

func (w *world) granted(r *mapRules, property string, keys []string) bool {
	granted := false
	r.walk(keys, func(r *mapRules, depth int, captures map[string]string) {
		if x := r.rules[property]; x != nil && w.holds(x, keys[:depth:depth], captures) {
			granted = true
		}
	})
	return granted
}

// valid decides the .validate rules for a write at keys.
func (w *world) valid(r *mapRules, keys []string) bool {
	valid := true
	r.walk(keys, func(r *mapRules, depth int, captures map[string]string) {
		n := w.after.get(keys[:depth])
		if depth == len(keys) {
			valid = valid && w.validBelow(r, keys, captures, n)
		} else if x := r.rules[".validate"]; x != nil && n != nil && !w.holds(x, keys[:depth:depth], captures) {
			valid = false
		}
	})
	return valid
}

func (w *world) validBelow(r *mapRules, keys []string, captures map[string]string, n *mapNode) bool {
	if n == nil || r == nil {
		return true
	}
	if x := r.rules[".validate"]; x != nil && !w.holds(x, keys, captures) {
		return false
	}
	for key, c := range n.children {
		below, more := r.next(key, captures)
		if !w.validBelow(below, append(keys[:len(keys):len(keys)], key), more, c) {
			return false
		}
	}
	return true
}

// decide decides a request.
func (r *mapRules) decide(q *Request) bool {
	w := &world{now: float64(q.Now.UnixMilli()), query: mapQuery(q)}
	if data, ok := q.Data.(stored); ok {
		w.before = mapTreeOf(data.Node)
	}
	if q.Auth.JSON != "" {
		if err := json.Unmarshal([]byte(q.Auth.JSON), &w.auth); err != nil {
			panic(err)
		}
	}
	if q.Op == OpRead {
		return w.granted(r, ".read", keysOf(q.Path))
	}
	w.after = mapWritten(w.before, q.Writes)
	for _, write := range q.Writes {
		if keys := keysOf(write.Path); !w.granted(r, ".write", keys) || !w.valid(r, keys) {
			return false
		}
	}
	return true
}

// mapQuery is the variable query for the queries that drawQuery makes.
func mapQuery(q *Request) map[string]any {
	m := map[string]any{"orderByKey": false, "orderByValue": false, "orderByPriority": false}
	if q.Op != OpRead {
		return m
	}
	switch order := q.Query.OrderBy; order {
	case "":
		bare := q.Query.Limit > 0 && !q.Query.Start.Set && !q.Query.End.Set
		m["orderByKey"], m["orderByPriority"] = bare, !bare
	case tree.ByKey:
		m["orderByKey"] = true
	case tree.ByValue:
		m["orderByValue"] = true
	case tree.ByPriority:
		m["orderByPriority"] = true
	default:
		m["orderByChild"] = order
	}
	if n := q.Query.Limit; n > 0 {
		m["limitToFirst"] = float64(n)
		if q.Query.FromLast {
			m["limitToFirst"], m["limitToLast"] = nil, m["limitToFirst"]
		}
	}
	if b := q.Query.Start; b.Set && !b.Value.IsEmpty() {
		m["startAt"] = mapTreeOf(b.Value).leaf
	}
	if b := q.Query.End; b.Set && !b.Value.IsEmpty() {
		m["endAt"] = mapTreeOf(b.Value).leaf
	}
	if q.Query.Start.Set && q.Query.End.Set && m["startAt"] == m["endAt"] {
		m["equalTo"] = m["startAt"]
	}
	return m
}
