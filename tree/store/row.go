package store

import (
	"encoding/binary"
	"fmt"

	"github.com/dogwooddb/dogwood/tree"
)

// PackLimit is the most bytes of canonical JSON that one row holds. It keeps a
// row well below a page, so that a small change rewrites little. A higher limit
// would make small writes to large objects dearer, and a lower one would cost
// more rows for each read. bbolt keeps at least two entries on a page, so the
// neighbours of a larger row would be rewritten with it.
const PackLimit = 2048

// Tags of rows.
const (
	tagPacked    = 'J' // canonical JSON of a whole subtree
	tagContainer = 'C' // container id, priority
	tagBlob      = 'B' // blob id, length in bytes, priority; a long string
)

// A row is what is stored for one child of a container. The zero row is absent.
// A row knows nothing of its place in the tree. Its key has the container, and
// only a walk from the root has the path: a subtree is moved or dropped by one
// row.
type row struct {
	tag      byte
	node     tree.Node // packed: the subtree
	id       uint64    // container or blob
	size     uint64    // blob: bytes of the string
	priority tree.Node // container or blob
	cut      bool      // the priority is long and was left out
}

// longPriority is the length of a priority above which a row that is only on the way to
// something else comes without it: it may have 10 MiB, and each read below would copy it.
const longPriority = 1 << 10

func (r row) exists() bool { return r.tag != 0 }

// packs reports whether the row is absent or has its node in itself.
func (r row) packs() bool { return r.tag == 0 || r.tag == tagPacked }

func packedRow(n tree.Node) row { return row{tag: tagPacked, node: n} }

func (r row) encode() []byte { return r.append(nil) }

// append appends the encoded row.
func (r row) append(b []byte) []byte {
	b = append(b, r.tag)
	switch r.tag {
	case tagPacked:
		return append(b, r.node.Text()...)
	case tagBlob:
		b = binary.BigEndian.AppendUint64(b, r.id)
		b = binary.BigEndian.AppendUint64(b, r.size)
	default:
		b = binary.BigEndian.AppendUint64(b, r.id)
	}
	return append(b, r.priority.Text()...)
}

// maxSize is at least the length of the encoded row.
func (r row) maxSize() int { return 1 + 8 + 8 + len(r.node.Text()) + len(r.priority.Text()) }

// decodeRow reads a stored value, copying it. nil gives the absent row. The
// copy is needed because the memory belongs to the transaction, and nodes
// outlive it. The text is not parsed: its checksum says that it is what was
// stored, and only canonical JSON is stored. A row that need not be whole may
// come without its priority.
func decodeRow(v []byte, whole bool) (r row, err error) {
	switch {
	case v == nil:
		return row{}, nil
	case len(v) > 1 && v[0] == tagPacked:
		return packedRow(tree.FromCanonical(string(v[1:]))), nil
	case len(v) >= 9 && v[0] == tagContainer:
		r = row{tag: tagContainer, id: binary.BigEndian.Uint64(v[1:])}
		v = v[9:]
	case len(v) >= 17 && v[0] == tagBlob:
		r = row{tag: tagBlob, id: binary.BigEndian.Uint64(v[1:]), size: binary.BigEndian.Uint64(v[9:])}
		v = v[17:]
	default:
		return row{}, fmt.Errorf("%w: unreadable row", ErrDamaged)
	}
	if r.cut = !whole && len(v) > longPriority; !r.cut {
		r.priority = tree.FromCanonical(string(v))
	}
	return r, nil
}

// hasLongPriority reports whether a stored value is a row with a priority that is left out where
// it need not be whole.
func hasLongPriority(v []byte) bool { return len(v) > 17+longPriority && v[0] != tagPacked }

// hasPriority reports whether the row's node has a priority, also if it was left out.
func (r row) hasPriority() bool { return r.cut || !r.nodePriority().IsEmpty() }

// nodePriority returns the priority of the row's node. The row is whole.
func (r row) nodePriority() tree.Node {
	if r.tag == tagPacked {
		return r.node.Priority()
	}
	return r.priority
}

// priorityAt returns the priority of the node at rest inside the row's node, as
// find returns them.
func (r row) priorityAt(rest tree.Path) tree.Node {
	switch {
	case r.tag == tagPacked:
		return r.node.Get(rest).Priority()
	case rest.IsRoot():
		return r.priority
	}
	return tree.Empty
}
