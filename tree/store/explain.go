package store

import (
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// A Plan says in which way a read is answered.
type Plan string

// The plans.
const (
	PlanNone       Plan = "none"       // there is nothing at the path
	PlanLeaf       Plan = "leaf"       // a value without children
	PlanNode       Plan = "node"       // the whole node, with all children
	PlanPacked     Plan = "packed"     // the children of a node that is part of one row, all of which are looked at
	PlanKeys       Plan = "keys"       // the rows of a range of keys
	PlanIndex      Plan = "index"      // the entries of a range of a declared index
	PlanPriorities Plan = "priorities" // those of the index by priority, and rows of children without one
	PlanScan       Plan = "scan"       // every child, for want of an index
)

// A Cost is what it takes to answer a read.
//
// The numbers are counted while the read is carried out, and not estimated:
// Explain does the read. So they are those of this state, and a later read may
// cost another amount.
type Cost struct {
	Plan     Plan
	Index    string // order of the declared index that is used, or will be when it is built; "" for none
	Building bool   // that index is not complete yet
	Visited  int    // children that were looked at to find those that are answered
	Rows     int    // rows and index entries read, for the answer and all below it
	Results  int    // children answered; 1 for a leaf
}

// Explain reads the node at p as Window does, and says what that took.
func (tx *Tx) Explain(p tree.Path, q tree.Query, limit int64) (n tree.Node, c Cost, err error) {
	before := tx.stats
	r, rest, err := tx.find(p)
	if err == nil {
		c, err = read(tx).plan(r, rest, p, q)
	}
	if err != nil {
		return tree.Empty, c, err
	}
	if c.Plan == PlanNode || c.Plan == PlanLeaf && q.IsAll() {
		if n = r.node.Get(rest); r.tag != tagPacked {
			n, err = read(tx).load(r, limit)
		}
		c.Visited = n.NumChildren()
		c.Results = c.Visited
		if c.Plan == PlanLeaf {
			c.Results = 1
		}
		c.Rows = tx.stats.Read - before.Read
		return n, c, err
	}
	entries, err := read(tx).entries(r, rest, p, q)
	if err != nil {
		return tree.Empty, c, err
	}
	c.Results, c.Visited = len(entries), tx.stats.Visited-before.Visited
	if c.Plan == PlanPacked {
		c.Visited = r.node.Get(rest).NumChildren()
	}
	n, err = read(tx).collect(r, rest, entries, limit)
	c.Rows = tx.stats.Read - before.Read
	return n, c, err
}

// plan says how a query over what find found at p is answered: see entries.
func (rd reader) plan(r row, rest, p tree.Path, q tree.Query) (c Cost, err error) {
	switch {
	case !r.exists(), r.tag == tagPacked && r.node.Get(rest).IsEmpty(), r.tag == tagBlob && !rest.IsRoot():
		return Cost{Plan: PlanNone}, nil
	case r.tag == tagBlob, r.tag == tagPacked && r.node.Get(rest).IsLeaf():
		return Cost{Plan: PlanLeaf}, nil
	case q.IsAll():
		return Cost{Plan: PlanNode}, nil
	case q.NeedsIndex():
		if c, err = rd.planIndex(p, q); err != nil {
			return c, err
		}
	case q.Order() == tree.ByKey:
		c.Plan = PlanKeys
	default:
		c.Plan = PlanPriorities
	}
	if r.tag == tagPacked {
		c.Plan = PlanPacked
	}
	return c, nil
}

func (rd reader) planIndex(p tree.Path, q tree.Query) (Cost, error) {
	list, err := rd.tx.Indexes().at(p)
	for _, ix := range list {
		switch {
		case ix.Order != q.Order():
		case ix.ready:
			return Cost{Plan: PlanIndex, Index: ix.Order}, err
		default:
			return Cost{Plan: PlanScan, Index: ix.Order, Building: true}, err
		}
	}
	return Cost{Plan: PlanScan}, err
}

// ExplainShallow lists keys as Shallow does, and says what that took.
func (tx *Tx) ExplainShallow(p tree.Path, after string, limit int) (l Listing, c Cost, err error) {
	before := tx.stats
	r, rest, err := tx.find(p)
	if err == nil {
		c, err = read(tx).plan(r, rest, p, tree.Query{OrderBy: tree.ByKey, Limit: max(limit, 1)})
	}
	if err == nil {
		l, err = tx.Shallow(p, after, limit)
	}
	c.Results = l.Keys.Len()
	c.Visited = c.Results
	if c.Plan == PlanPacked {
		c.Visited = r.node.Get(rest).NumChildren()
	}
	if !l.Leaf.IsEmpty() {
		c.Results = 1
	}
	c.Rows = tx.stats.Read - before.Read
	return l, c, err
}

// Indexed reports whether a query at p is answered without visiting children that may be
// far more than those in its window: it orders by key, by a declared index that is built, or by
// priority and few children have one that it passes.
func (tx *Tx) Indexed(p tree.Path, q tree.Query) (bool, error) {
	switch q.Order() {
	case tree.ByKey:
		return true, nil
	case tree.ByPriority:
		return read(tx).passesFew(p, q)
	}
	_, ok, err := tx.Indexes().ready(p, q.Order())
	return ok, err
}

// fewPassed is how many children with a priority a walk over those without one may pass.
const fewPassed = 64

// passesFew reports whether a query by priority passes few children that are not in its window.
// A walk back without an end has all that have a priority in its window, or is full before it
// comes to those without one.
func (rd reader) passesFew(p tree.Path, q tree.Query) (bool, error) {
	if onlyPriorities(q) || q.FromLast && q.Limit > 0 && !q.End.Set {
		return true, nil
	}
	r, _, err := found(rd.tx, p, false)
	if err != nil || r.tag != tagContainer {
		return true, err
	}
	prefix, n := indexPrefix(priorityIndex.id, r.id), 0
	c := rd.cursor(kv.Index, prefix)
	for k, _ := c.Seek(prefix); n <= fewPassed && hasPrefix(k, prefix); k, _ = c.Next() {
		if err := rd.tx.tick(); err != nil {
			return false, err
		}
		n++
	}
	return n <= fewPassed, c.Err()
}
