package store

import (
	"encoding/binary"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// An Index is a declared order of the children of all nodes that match a
// pattern, such as "/rooms/$room" by "name".
type Index struct {
	Pattern string // keys, or "$name" for any key
	Order   string // tree.ByValue or a child path
}

// A definition is an index that the file knows. Entries of an index that is not
// ready may be missing; none is wrong.
type definition struct {
	Index
	id    uint32
	ready bool
}

// priorityIndex holds the children that have a priority. It is always there.
// Children without one come before them, in key order, straight from the rows.
var priorityIndex = definition{Index: Index{Order: tree.ByPriority}, id: 0, ready: true}

// matches reports whether p matches the pattern.
func (ix Index) matches(p tree.Path) bool {
	pattern := strings.Trim(ix.Pattern, "/")
	for key := range p.Keys() {
		var want string
		want, pattern, _ = strings.Cut(pattern, "/")
		if want == "" || want != key && want[0] != '$' {
			return false
		}
	}
	return pattern == ""
}

// patternKeys returns the keys of an index pattern such as "/rooms/$room".
func patternKeys(pattern string) []string {
	return strings.FieldsFunc(pattern, func(r rune) bool { return r == '/' })
}

// An indexed value is what an index holds for one child: nothing if the child
// is absent.
type indexed struct {
	value tree.Node
	ok    bool
}

// shallowIndexValue replaces objects by one value: all are equal in order.
func shallowIndexValue(v tree.Node) tree.Node {
	if v.IsObject() {
		return objectValue
	}
	return v
}

// indexedValue reads what ix holds for the node at p.
func (tx *Tx) indexedValue(ix definition, p tree.Path) (indexed, error) {
	if ix.Order == tree.ByPriority {
		v, err := tx.Priority(p)
		return indexed{v, !v.IsEmpty()}, err
	}
	ok, err := tx.Has(p)
	if err != nil || !ok {
		return indexed{}, err
	}
	v, err := tx.valueAt(p, ix.Order)
	return indexed{v, true}, err
}

// valueAt returns the index value of the child at p in a declared order.
func (tx *Tx) valueAt(p tree.Path, order string) (tree.Node, error) {
	if order != tree.ByValue {
		rel, err := tree.ParsePath(order)
		if err != nil {
			return tree.Empty, err
		}
		p = p.Join(rel)
	}
	return tx.shallowValue(tx.find(p))
}

// shallowValue returns the index value of what find or follow found.
func (tx *Tx) shallowValue(r row, rest tree.Path, err error) (tree.Node, error) {
	switch {
	case err != nil || !r.exists():
		return tree.Empty, err
	case r.tag == tagPacked:
		return shallowIndexValue(r.node.Get(rest).Value()), nil
	case !rest.IsRoot():
		return tree.Empty, nil
	case r.tag == tagContainer:
		return objectValue, nil
	}
	n, err := tx.load(r, 0)
	return n.Value(), err
}

// An affected entry is one index entry that a write may change.
type affected struct {
	ix        definition
	container uint64
	key       string
	path      tree.Path
	before    indexed
}

// reindexed runs change and then makes the index entries of the containers on
// the way agree with it. Containers that change creates or discards take care
// of their own entries.
func (tx *Tx) reindexed(steps []step, change func() error) error {
	list, err := tx.affected(steps)
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	for _, a := range list {
		after, err := tx.indexedValue(a.ix, a.path)
		if err != nil {
			return err
		}
		if after == a.before {
			continue
		}
		if err := tx.deleteEntry(a.ix, a.container, a.key, a.before); err != nil {
			return err
		}
		if err := tx.putEntry(a.ix, a.container, a.key, after); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) affected(steps []step) ([]affected, error) {
	var list []affected
	for i, s := range steps[1:] {
		parent := steps[i] // of s
		_, key := s.path.Parent()
		indexes, err := tx.indexesAt(parent.path)
		if err != nil {
			return nil, err
		}
		for _, ix := range indexes {
			before, err := tx.indexedValue(ix, s.path)
			if err != nil {
				return nil, err
			}
			list = append(list, affected{ix, parent.row.id, key, s.path, before})
		}
	}
	return list, nil
}

func (tx *Tx) putEntry(ix definition, container uint64, key string, v indexed) error {
	if !v.ok || ix.Order == tree.ByPriority && v.value.IsEmpty() {
		return nil
	}
	return tx.put(bucketIndex, entryKey(ix.id, container, v.value, key), nil)
}

func (tx *Tx) deleteEntry(ix definition, container uint64, key string, v indexed) error {
	if !v.ok {
		return nil
	}
	return tx.delete(bucketIndex, entryKey(ix.id, container, v.value, key))
}

// indexOf returns the index that an entry's key belongs to.
func indexOf(key []byte) uint32 { return binary.BigEndian.Uint32(key) }

// indexPrefix is what all entries of a container in an index begin with.
func indexPrefix(index uint32, container uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, index), container)
}

func entryKey(index uint32, container uint64, v tree.Node, key string) []byte {
	return appendKey(appendValue(indexPrefix(index, container), v), key)
}

// IndexValue returns what the child at p is ordered by in the given order, and
// whether there is a child. All objects have the same index value.
func (tx *Tx) IndexValue(p tree.Path, order string) (v tree.Node, exists bool, err error) {
	exists, err = tx.Has(p)
	switch {
	case err != nil || !exists || order == tree.ByKey:
		return tree.Empty, exists, err
	case order == tree.ByPriority:
		v, err = tx.Priority(p)
	default:
		v, err = tx.valueAt(p, order)
	}
	return v, true, err
}
