package store

import (
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// descend returns the rows on the way to p, from the root down, until the next
// descend. The last is where p's node is or would be; it may be absent. rest is
// the path inside it. The last is whole, and the others may lack their priority.
//
// The steps and their keys are in memory of the write cache and last until the
// next descend of the transaction. So one write must be finished before the
// next one begins, which a transaction of one goroutine guarantees.
func (e editor) descend(p tree.Path) (steps []step, rest tree.Path, err error) {
	d := e.tx.cache
	d.keys = d.keys[:0]
	steps, rest = d.steps[:0], p
	for key := rootKey; ; {
		r, err := rowOf(e.tx, key, rest.IsRoot())
		if err == nil && r.cut && r.tag == tagBlob { // an object below it takes its priority
			r, err = e.tx.row(key)
		}
		if err != nil {
			return nil, rest, err
		}
		steps = append(steps, step{key: key, row: r, now: r})
		name, below, ok := rest.Cut()
		if r.tag != tagContainer || !ok {
			break
		}
		key, rest = d.rowKey(r.id, name), below
	}
	d.steps = steps
	at := p
	for range rest.Len() {
		at, _ = at.Parent()
	}
	for i := len(steps) - 1; i >= 0; i-- {
		steps[i].path = at
		at, _ = at.Parent()
	}
	return steps, rest, nil
}

// Put replaces the node at p by n; Empty removes it. Ancestors that become
// empty are removed, leaves on the way become objects and keep their priority,
// and removing something below a leaf changes nothing (protocol §6). It
// reports whether anything changed; for large nodes it says true without
// comparing.
//
// After an error the rows may be half changed: the transaction has to be rolled
// back. A write that the store refuses for its own reasons (a damaged row) so
// fails the batch once, and the committer tries the others again without it.
func (tx *Tx) Put(p tree.Path, n tree.Node) (changed bool, err error) {
	_, changed, err = edits(tx).putRun([]tree.ResolvedWrite{{Target: tree.Target{Path: p}, Node: n}})
	return changed, err
}

// PutAll puts the values of several writes in their places, in their order, as Put does.
// The writes are of values and disjoint. It reports whether anything changed.
//
// Neighbours that are in one row, in the order of their paths, are one edit of it: an
// update of a thousand fields of one object encodes its row once.
func (tx *Tx) PutAll(writes []tree.ResolvedWrite) (changed bool, err error) {
	for len(writes) > 0 {
		n, did, err := edits(tx).putRun(writes)
		if err != nil {
			return false, err
		}
		changed = changed || did
		writes = writes[n:]
	}
	return changed, nil
}

// putRun carries out the first n writes, which are in one row, or rows of one container.
func (e editor) putRun(writes []tree.ResolvedWrite) (n int, changed bool, err error) {
	steps, rest, err := e.descend(writes[0].Path)
	if err != nil {
		return 0, false, err
	}
	if manySiblings(steps, rest, writes) {
		return e.putSiblings(steps[:len(steps)-1], writes)
	}
	last := steps[len(steps)-1]
	n = 1
	if last.row.packs() && !rest.IsRoot() {
		n = runBelow(last.path, writes)
	}
	var replaced tree.Node
	if n == 1 {
		replaced, changed = replacement(last.row, rest, writes[0].Node)
	} else {
		replaced = last.row.node.WithAll(last.path, writes[:n])
		changed = replaced != last.row.node
	}
	if !changed {
		return n, false, nil
	}
	return n, true, e.tx.Indexes().reindexed(steps, 1, func() error { return e.replace(steps, replaced) })
}

// runBelow returns how many of the first writes are below p, in the order of their paths,
// and no value behind a removal.
func runBelow(p tree.Path, writes []tree.ResolvedWrite) int {
	n := 1
	for n < len(writes) && p.Contains(writes[n].Path) && follows(writes[n], writes[n-1]) {
		n++
	}
	return n
}

func follows(w, before tree.ResolvedWrite) bool {
	if before.Node.IsEmpty() && !w.Node.IsEmpty() {
		return false
	}
	return tree.ComparePaths(before.Path, w.Path) < 0
}

// replacement returns what becomes of a row's node when n is put at rest below
// it. changed is false if it stays as it is.
func replacement(old row, rest tree.Path, n tree.Node) (r tree.Node, changed bool) {
	switch {
	case !old.exists():
		r = tree.Empty.With(rest, n)
		return r, !r.IsEmpty()
	case old.tag == tagPacked:
		r = edit(old.node, rest, n)
		return r, r != old.node
	case rest.IsRoot():
		return n, true
	}
	// Below a blob: the string gives way to an object with its priority.
	r = tree.Empty.With(rest, n).WithPriority(old.priority)
	return r, !r.IsEmpty()
}

// PutPriority sets the priority of the node at p; Empty removes it. It reports
// whether anything changed: an absent node takes no priority.
func (tx *Tx) PutPriority(p tree.Path, priority tree.Node) (changed bool, err error) {
	steps, rest, err := edits(tx).descend(p)
	if err != nil {
		return false, err
	}
	last := &steps[len(steps)-1]
	switch {
	case !last.row.exists() || last.row.tag == tagBlob && !rest.IsRoot():
		return false, nil
	case last.row.tag == tagPacked:
		return tx.Put(p, last.row.node.Get(rest).WithPriority(priority))
	case last.row.priority == priority:
		return false, nil
	}
	return true, tx.Indexes().reindexed(steps, 1, func() error {
		last.now.priority = priority
		return tx.putRow(last.key, last.now)
	})
}

// replace makes n the node of the last step's row and prunes upwards. The old
// subtree is not visited: its container or blob goes to the reclaim queue as a
// whole, so the cost does not depend on what lies below.
func (e editor) replace(steps []step, n tree.Node) error {
	if n.IsEmpty() {
		if err := e.discard(steps[len(steps)-1].row); err != nil {
			return err
		}
		return e.prune(steps)
	}
	return e.replaceRow(&steps[len(steps)-1], n)
}

// replaceRow makes n the node of a step's row, or deletes the row.
func (e editor) replaceRow(at *step, n tree.Node) error {
	if err := e.discard(at.row); err != nil {
		return err
	}
	if n.IsEmpty() {
		return e.remove(at)
	}
	if err := e.write(at.key, at.path, n); err != nil {
		return err
	}
	if len(n.Text()) <= PackLimit {
		at.now = packedRow(n)
		return nil
	}
	var err error
	at.now, err = e.tx.row(at.key)
	return err
}

// discard hands what hangs on a row to the reclaimer.
func (e editor) discard(r row) error {
	switch r.tag {
	case tagContainer:
		return e.enqueue(reclaimContainer, r.id)
	case tagBlob:
		return e.enqueue(reclaimBlob, r.id)
	}
	return nil
}

// prune deletes the last step's row and then the rows of containers that became
// empty. Each level costs one look at the number of children. That there are no
// empty containers is worth it: whether a node exists is then known from its
// row alone.
func (e editor) prune(steps []step) error {
	for i := len(steps) - 1; i >= 0; i-- {
		if err := e.remove(&steps[i]); err != nil {
			return err
		}
		if i == 0 {
			break
		}
		if empty, err := e.isEmpty(steps[i-1].row.id); !empty || err != nil {
			return err
		}
	}
	return nil
}

// remove deletes a step's row.
func (e editor) remove(at *step) error {
	if at.row.cut { // its entry in the index goes, too
		whole, err := e.tx.row(at.key)
		if err != nil {
			return err
		}
		at.row = whole
	}
	at.now = row{}
	return e.tx.delete(kv.Rows, at.key)
}

// isEmpty reports whether a container one of whose rows was removed just now has no rows left.
// It looks for one only if the number of its children, which this removal has not changed yet,
// leaves that open: an update or a queue may remove many children one after the other, and each
// would pass the ones that were removed before it.
func (e editor) isEmpty(id uint64) (bool, error) {
	n, known, err := countsOf(e.tx).kept(id)
	if known && n > 1 || err != nil {
		return false, err
	}
	return e.hasNoRows(id)
}

// hasNoRows reports whether a container has no rows.
func (e editor) hasNoRows(id uint64) (bool, error) {
	e.tx.stats.Read++
	prefix := idKey(id)
	c := read(e.tx).cursor(kv.Rows, prefix)
	k, _ := c.Seek(prefix)
	return !hasPrefix(k, prefix), c.Err()
}

// edit returns n with the node at p replaced by v. Putting something in place
// of something else, the most frequent change of a packed row, is one splice of
// its text; all else goes through the node.
//
// sjson knows nothing of the order of keys, so it may only replace a member
// that is there. Keys with characters that are special in its path syntax take
// the other way: they would have to be escaped, and a mistake there would
// change another member.
func edit(n tree.Node, p tree.Path, v tree.Node) tree.Node {
	if v.IsEmpty() || p.IsRoot() || !n.IsObject() || !plain(p) {
		return n.With(p, v)
	}
	at := strings.ReplaceAll(p.Clean(), "/", ".")
	switch old := gjson.Get(n.Text(), at); {
	case !old.Exists():
		return n.With(p, v)
	case old.Raw == v.Text():
		return n // most of an update that is sent again
	}
	text, err := sjson.SetRaw(n.Text(), at, v.Text())
	if err != nil {
		return n.With(p, v)
	}
	return tree.FromCanonical(text)
}

// plain reports whether the keys of p have no character that is special in the
// path syntax of gjson and sjson.
func plain(p tree.Path) bool {
	for i, s := 0, p.Clean(); i < len(s); i++ {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '/' {
			return false
		}
	}
	return true
}
