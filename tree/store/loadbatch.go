package store

import (
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// A loadBatch is the part of a load that is stored next. Its rows are made outside
// of the transaction, which so holds up others for as short as it can.
//
// Keys and values are slices of text. When text grows it moves, but slices of the old
// memory stay valid, and since keeps each from growing into the next one. Batches are
// used in turn, so a load of any size allocates two of them.
type loadBatch struct {
	ops  []loadOp
	text []byte // where keys and values are
}

// stepOverhead is what an operation counts for beside its bytes.
const stepOverhead = 64

func (s *loadBatch) add(op loadOp) { s.ops = append(s.ops, op) }

// size is about how much a transaction has to store.
func (s *loadBatch) size() int { return len(s.text) + len(s.ops)*stepOverhead }

func (s *loadBatch) reset() {
	clear(s.ops)
	s.ops, s.text = s.ops[:0], s.text[:0]
}

// rowKey returns the key of a row, made in the batch.
func (s *loadBatch) rowKey(container uint64, key string) []byte {
	from := len(s.text)
	s.text = appendRowKey(s.text, container, key)
	return s.since(from)
}

// encode returns an encoded row, made in the batch.
func (s *loadBatch) encode(r row) []byte {
	from := len(s.text)
	s.text = r.append(s.text)
	return s.since(from)
}

// since returns what was appended. It stays what it is when the text moves.
func (s *loadBatch) since(from int) []byte { return s.text[from:len(s.text):len(s.text)] }

// A loadOp is one step of a load. Later steps see the effect of earlier ones.
type loadOp struct {
	do        loadStep
	key       []byte
	value     []byte
	container *loadContainer // whose child the step is about
	child     row
}

type loadStep byte

const (
	putRow        loadStep = iota // a row that is not there yet
	replaceRow                    // a row that may be there: its key came before
	deleteRow                     // a key that came before, with null
	putChunk                      // of a blob
	putIndex                      // an index entry
	indexChild                    // the index entries of a child that has to be read for that
	dropChild                     // a value that came again
	countChildren                 // the container is complete
)

// A loadContainer is a container that is being loaded.
//
// The fields from id to gaps belong to the goroutine that reads; stored and
// kept to the one that stores. The number of rows is counted where they are
// stored, because only there it is known whether a row replaced another one.
type loadContainer struct {
	to      rowBuilder
	id      uint64 // 0 until it has a row
	path    tree.Path
	indexes []definition
	last    string // greatest key so far
	rows    int    // added, of which some may be gone again
	gaps    bool   // rows were deleted
	stored  int64  // rows that are there; those who store slices keep it
	kept    int64  // stored, without the batch that is being stored
}

// rewind prepares a batch to be stored, perhaps again after a rollback.
func (s *loadBatch) rewind() {
	for i := range s.ops {
		if c := s.ops[i].container; c != nil {
			c.stored = c.kept
		}
	}
}

// keep notes that a batch was stored.
func (s *loadBatch) keep() {
	for i := range s.ops {
		if c := s.ops[i].container; c != nil {
			c.kept = c.stored
		}
	}
}

// apply carries out one step. kept reports whether an index is still declared.
//
// An index that was dropped since the load began gets no entries: its id is in
// the reclaim queue, and nothing would ever free what is added behind it.
// Indexes that were declared meanwhile are built again after the link, see
// rebuildSince.
func (op *loadOp) apply(tx *Tx, kept func(index uint32) bool) error {
	switch op.do {
	case putRow:
		op.container.stored++
		return tx.put(kv.Rows, op.key, op.value)
	case replaceRow:
		if err := op.unlink(tx); err != nil {
			return err
		}
		op.container.stored++
		return tx.put(kv.Rows, op.key, op.value)
	case deleteRow:
		if err := op.unlink(tx); err != nil {
			return err
		}
		return tx.delete(kv.Rows, op.key)
	case countChildren:
		countsOf(tx).set(op.container.id, op.container.stored)
		return nil
	case putChunk:
		return tx.put(kv.Blobs, op.key, op.value)
	case putIndex:
		if kept(indexOf(op.key)) {
			return tx.put(kv.Index, op.key, nil)
		}
		return nil
	case indexChild:
		return op.index(tx, kept)
	}
	return edits(tx).discard(op.child)
}

// index adds the index entries of a child.
func (op *loadOp) index(tx *Tx, kept func(uint32) bool) error {
	key, _ := decodeKey(op.key[8:])
	for _, ix := range op.container.indexes {
		if !kept(ix.id) {
			continue
		}
		v, err := tx.Indexes().forEntries().rowValue(op.child, ix.Order)
		if err != nil {
			return err
		}
		if err := tx.Indexes().putEntry(ix, op.container.id, key, indexed{v, true}); err != nil {
			return err
		}
	}
	return nil
}

// unlink takes away what a row and its index entries hold, if it is there.
func (op *loadOp) unlink(tx *Tx) error {
	old, err := tx.row(op.key)
	if err != nil || !old.exists() {
		return err
	}
	key, _ := decodeKey(op.key[8:])
	for _, ix := range op.container.indexes {
		v, err := tx.Indexes().forEntries().rowValue(old, ix.Order)
		if err != nil {
			return err
		}
		if err := tx.Indexes().deleteEntry(ix, op.container.id, key, indexed{v, true}); err != nil {
			return err
		}
	}
	op.container.stored--
	return edits(tx).discard(old)
}
