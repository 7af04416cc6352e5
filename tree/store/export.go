package store

import (
	"bufio"
	"io"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
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
	return export(tx, w, r, false)
}

// WritePlain writes what was read, and is not linked yet, in the form of [tree.AppendPlain]. It
// reads it from the file, where each container has its keys in order by then. What WriteJSON
// says of w holds.
func (l *Load) WritePlain(tx *Tx, w io.Writer) error {
	if !l.read {
		return ErrLoadEnded
	}
	return export(tx, w, l.root, true)
}

func export(tx *Tx, w io.Writer, r row, plain bool) error {
	e := exporter{tx: tx, w: bufio.NewWriterSize(w, 64<<10), plain: plain}
	if err := e.row(r); err != nil {
		return err
	}
	return e.w.Flush()
}

// An exporter writes rows. Its writer remembers errors, so only those are looked at that
// end a long walk. It never holds more than one row of the value, so an export of any
// size takes bounded memory. The price is the transaction, which stays open meanwhile.
type exporter struct {
	tx    *Tx
	w     *bufio.Writer
	plain bool   // without priorities, and with arrays
	text  []byte // of a row in plain form; its memory serves the next one
	since int    // bytes written since pages were released
}

// releaseEvery is after how many bytes the pages that they were read from are released.
// Without that, the whole file would count as memory of the process at the end of a long
// walk; each time costs other reads a fault for every page that they read again.
const releaseEvery = 16 << 20

func (e *exporter) row(r row) error {
	switch r.tag {
	case tagContainer:
		return e.container(r)
	case tagBlob:
		return e.blob(r)
	}
	if e.plain {
		e.text = tree.AppendPlain(e.text[:0], r.node)
	} else {
		e.text = append(e.text[:0], r.node.JSON()...)
	}
	return e.piece(e.text)
}

// piece writes a part of the text, and releases pages now and then.
func (e *exporter) piece(text []byte) error {
	_, err := e.w.Write(text)
	if e.since += len(text); e.since >= releaseEvery {
		e.since = 0
		if f, ok := kv.FileOf(e.tx.kv); ok {
			f.ReleasePages()
		}
	}
	return err
}

func (e *exporter) container(r row) error {
	brackets := "{}"
	if e.plain {
		array, err := e.isArray(r.id)
		if err != nil {
			return err
		}
		if array {
			brackets = "[]"
		}
	}
	e.w.WriteByte(brackets[0])
	if !e.plain {
		e.priority(r.priority)
	}
	index, first := 0, true
	for child, err := range e.tx.children(r.id) {
		if err != nil {
			return err
		}
		if !first {
			e.w.WriteByte(',')
		}
		first = false
		if brackets == "[]" {
			index = e.gap(index, child.key)
		} else {
			e.w.WriteString(tree.String(child.key).Text())
			e.w.WriteByte(':')
		}
		if err := e.row(child.row); err != nil {
			return err
		}
	}
	return e.w.WriteByte(brackets[1])
}

// gap writes nulls in the places of an array from an index to a key. It returns the index
// behind that.
func (e *exporter) gap(index int, key string) int {
	to, _ := tree.ArrayIndex(key)
	for ; index < to; index++ {
		e.w.WriteString("null,")
	}
	return to + 1
}

// isArray is what tree.AppendPlain decides about an object: its keys are the integers from
// 0, and most are there. One key that is none ends the walk: of most objects, the first.
func (e *exporter) isArray(container uint64) (bool, error) {
	count, last := 0, 0
	for child, err := range e.tx.children(container) {
		if err != nil {
			return false, err
		}
		i, isIndex := tree.ArrayIndex(child.key)
		if !isIndex {
			return false, nil
		}
		count, last = count+1, i
	}
	return last < 2*count, nil
}

// priority writes the member of a node that has a priority.
func (e *exporter) priority(p tree.Node) {
	if !p.IsEmpty() {
		e.w.WriteString(`".priority":`)
		e.w.WriteString(p.Text())
		e.w.WriteByte(',')
	}
}

// blob writes a long string chunk by chunk. What must be escaped are single
// bytes, so it does not matter where a chunk ends.
func (e *exporter) blob(r row) error {
	wrapped := !e.plain && !r.priority.IsEmpty()
	if wrapped {
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
		if err := e.piece([]byte(quoted[1 : len(quoted)-1])); err != nil {
			return err
		}
	}
	if size != r.size {
		return wrongSize(r, size)
	}
	if wrapped {
		e.w.WriteString(`"}`)
		return nil
	}
	return e.w.WriteByte('"')
}
