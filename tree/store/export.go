package store

import (
	"bufio"
	"io"

	"github.com/dogwooddb/dogwood/tree"
)

// WriteJSON writes the node at p as canonical JSON in export form, "null" if
// there is none. It holds one row in memory at a time, and the transaction for
// as long as w takes: pages that are freed meanwhile are not used again. So w
// should not be a network connection.
func (tx *Tx) WriteJSON(w io.Writer, p tree.Path) error {
	r, rest, err := tx.find(p)
	if err != nil {
		return err
	}
	if r.tag == tagPacked {
		r = packedRow(r.node.Get(rest))
	} else if !rest.IsRoot() { // below a blob
		r = row{}
	}
	e := exporter{tx: tx, w: bufio.NewWriterSize(w, 64<<10)}
	if err := e.row(r); err != nil {
		return err
	}
	return e.w.Flush()
}

// An exporter writes rows. Its writer remembers errors, so only those are looked
// at that end a long walk.
type exporter struct {
	tx *Tx
	w  *bufio.Writer
}

func (e *exporter) row(r row) error {
	switch r.tag {
	case tagContainer:
		return e.container(r)
	case tagBlob:
		return e.blob(r)
	}
	_, err := e.w.WriteString(r.node.JSON())
	return err
}

func (e *exporter) container(r row) error {
	e.w.WriteByte('{')
	e.priority(r.priority)
	first := true
	for child, err := range e.tx.children(r.id) {
		if err != nil {
			return err
		}
		if !first {
			e.w.WriteByte(',')
		}
		first = false
		e.string(child.key)
		e.w.WriteByte(':')
		if err := e.row(child.row); err != nil {
			return err
		}
	}
	return e.w.WriteByte('}')
}

// priority writes the member of a node that has a priority.
func (e *exporter) priority(p tree.Node) {
	if !p.IsEmpty() {
		e.w.WriteString(`".priority":`)
		e.w.WriteString(p.Text())
		e.w.WriteByte(',')
	}
}

func (e *exporter) string(s string) { e.w.WriteString(tree.String(s).Text()) }

// blob writes a long string chunk by chunk. What must be escaped are single
// bytes, so it does not matter where a chunk ends.
func (e *exporter) blob(r row) error {
	if !r.priority.IsEmpty() {
		e.w.WriteByte('{')
		e.priority(r.priority)
		e.w.WriteString(`".value":`)
	}
	e.w.WriteByte('"')
	size := uint64(0)
	for chunk, err := range read(e.tx).chunks(r.id) {
		if err != nil {
			return err
		}
		size += uint64(len(chunk))
		quoted := tree.String(string(chunk)).Text()
		e.w.WriteString(quoted[1 : len(quoted)-1])
	}
	if size != r.size {
		return wrongSize(r, size)
	}
	if !r.priority.IsEmpty() {
		e.w.WriteByte('"')
		return e.w.WriteByte('}')
	}
	return e.w.WriteByte('"')
}
