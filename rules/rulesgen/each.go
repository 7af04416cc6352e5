package rulesgen

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

// Each yields every write that differs from op in one place: a leaf of its value
// is another, or a child or a path is missing or too many. There are none for
// reads. They do not depend on the seed. Their number grows with the leaves of the value times
// the edges, so they are made as they are asked for, and callers stop when their budget is spent.
// A variation that is not valid, such as one with a key that is too long, is left out.
//
// Loops would be 12 kB of program each if the functions below were part of them.
//
//go:noinline
func (v *Varier) Each(op rulestest.Op) iter.Seq[rulestest.Op] {
	return func(yield func(rulestest.Op) bool) {
		for t := range v.texts(op) {
			varied, err := t.Parse()
			if err != nil {
				continue
			}
			varied.Who, varied.As, varied.Now = op.Who, op.As, op.Now
			if !yield(varied) {
				return
			}
		}
	}
}

//go:noinline
func (v *Varier) texts(op rulestest.Op) iter.Seq[rulestest.OpText] {
	return func(yield func(rulestest.OpText) bool) {
		t := rulestest.OpText{Kind: op.Kind.String(), Path: tree.Target{Path: op.Path, Priority: op.Priority}.String()}
		switch op.Kind {
		case rulestest.Write:
			for value := range v.values(op.Value) {
				t.Value = value
				if !yield(t) {
					return
				}
			}
		case rulestest.Update:
			values := object(op.Value)
			for _, path := range slices.Sorted(maps.Keys(values)) {
				alone := rulestest.OpText{Kind: "write", Path: strings.TrimSuffix(t.Path, "/") + "/" + path, Value: string(values[path])}
				if !yield(alone) {
					return
				}
			}
			for value := range v.members(op.Value) {
				t.Value = value
				if !yield(t) {
					return
				}
			}
		}
	}
}

// values yields the values that differ from one in one place.
//
//go:noinline
func (v *Varier) values(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, edge := range v.edges {
			if !yield(edge) {
				return
			}
		}
		if members := object(text); len(members) > 0 && members[".sv"] == nil {
			for value := range v.members(text) {
				if !yield(value) {
					return
				}
			}
		}
	}
}

// members yields the objects that differ from one in one of their members. It changes one map
// and puts back what it took, so the texts are encoded before the next change. Keys are sorted:
// a map has no order, and equal seeds have to give equal operations.
//
//go:noinline
func (v *Varier) members(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		members := object(text)
		for _, key := range slices.Sorted(maps.Keys(members)) {
			was := members[key]
			delete(members, key)
			if !yield(encode(members)) {
				return
			}
			for value := range v.values(string(was)) {
				members[key] = json.RawMessage(value)
				if !yield(encode(members)) {
					return
				}
			}
			members[key] = was
		}
		if _, taken := members["other"]; !taken {
			members["other"] = json.RawMessage("1")
			yield(encode(members))
		}
	}
}

// Setups returns writes that change what an operation finds at a path: by an administrator, so
// that no rule refuses them. Server values and long texts are left out.
func (v *Varier) Setups(path tree.Path) []rulestest.Op {
	var list []rulestest.Op
	for _, edge := range v.edges {
		if len(edge) > 100 || strings.Contains(edge, ".sv") {
			continue
		}
		op, err := rulestest.OpText{Kind: "write", Path: path.String(), Value: edge}.Parse()
		if err == nil {
			op.Who = rulestest.Actor{Admin: true}
			list = append(list, op)
		}
	}
	return list
}
