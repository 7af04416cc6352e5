package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
	"github.com/dogwooddb/dogwood/tree/store/logged"
)

// A Load puts a large value into the store, a batch at a time, each batch in a
// write transaction of its own. What it stores cannot be reached until
// [Load.Link] puts it in its place, in one commit. Other transactions run between
// slices; others and readers see nothing of it before.
//
// The ids that a Load uses are on record in bucket m until it is linked. What is
// on record when a file is opened was left by a crash and goes to the reclaim
// queue.
//
// Two goroutines take part. The one that calls Read parses and fills batch. A second one
// stores the batch before it, storing, and tells the result to stored; settle waits for
// it. hand swaps the batches after settle, so neither needs a lock. All other methods are
// called by the first goroutine.
//
// With a log, batches go to the file past it ([logged.Aside]), and the writer does not wait: no reader
// sees what nothing refers to. Three steps take the writer: those that put the record or delete
// it, and the last batch. So a transaction that links the load began when all rows were there.
//
// The record in bucket m is put before the first row that has one of its ids, and deleted
// in the transaction that links it or moves its ids to the reclaim queue. So at each
// commit, rows with an id of the load are either reachable, or on record, or in the
// queue. [Store.Check] verifies that.
//
// To parse inside of a write transaction would stop all other writes for as long as the
// client takes to send.
type Load struct {
	store   *Store
	path    tree.Path // where it will be linked
	options LoadOptions
	key     []byte     // of its record in bucket m
	ids     []idRange  // reserved so far
	next    uint64     // of the last range
	indexes *catalogue // declared when it began; it fills these

	batch   loadBatch  // being made
	storing loadBatch  // being stored, until stored says so
	stored  chan error // nil: no batch is being stored
	aside   bool       // batches were stored past the log since the last one that took the writer

	text  *tree.Source // being read
	root  row          // of what was read; absent for null
	roots []row        // of what Nodes stored
	read  bool
	stats LoadStats
}

// LoadOptions adjust a Load. The zero value is right for most.
type LoadOptions struct {
	SliceBytes int               // rows of one transaction; 0: 1 MiB
	WholeBytes int               // values up to this size are in memory as a whole; 0: 64 KiB
	Progress   func(bytes int64) // is told now and then how much was read; nil: nobody

	// ServerValue returns the leaf to store in place of a server value. nil: they are errors.
	ServerValue func(at tree.Target, v tree.Draft) tree.Node

	// Update carries out the steps of the load, each in a write transaction that it may
	// share with others. If that is rolled back, it may call the step again in another
	// one. nil: each step has a transaction of its own.
	Update func(step func(*Tx) error) error
}

// Slices of 2 and 4 MiB made imports no faster where syncs are fast, and took 15 and 40 MiB more.
const (
	defaultSliceBytes = 1 << 20
	defaultWholeBytes = 64 << 10
)

// LoadStats counts what a load did.
type LoadStats struct {
	Bytes  int64 // of text
	Rows   int64 // rows, chunks and index entries written
	Slices int   // transactions
}

// Errors of loads.
var (
	ErrLoadEnded = errors.New("the load has ended")         // it was linked or aborted before
	ErrNotStored = errors.New("a part could not be stored") // wraps what the file did not take
)

// loadPrefix begins the keys of records in bucket m.
var loadPrefix = []byte("load ")

// Ids are reserved in ranges that grow, so that a record stays short.
const (
	firstIDs = 1 << 10
	mostIDs  = 1 << 20
)

// NewLoad begins a load of a value for path p. It must be ended by Link or
// Abort. It commits a transaction.
func (s *Store) NewLoad(p tree.Path, o LoadOptions) (*Load, error) {
	if o.SliceBytes <= 0 {
		o.SliceBytes = defaultSliceBytes
	}
	if o.WholeBytes <= 0 {
		o.WholeBytes = defaultWholeBytes
	}
	l := &Load{store: s, path: p, options: o}
	err := l.update(func(tx *Tx) (err error) {
		l.ids = nil
		l.key = binary.BigEndian.AppendUint64(loadPrefix[:len(loadPrefix):len(loadPrefix)], tx.state.nextID)
		if l.indexes, err = tx.Indexes().catalogue(); err != nil {
			return err
		}
		return l.reserve(tx)
	})
	if err != nil {
		return nil, fmt.Errorf("begin to load %s: %w: %w", p, ErrNotStored, err)
	}
	return l, nil
}

// update carries out a step of the load.
//
// An import bypasses the log: its rows are many, nothing refers to them yet,
// and they go to the file in the order of keys. Through the log they would be
// written twice. The slices of a large ordinary write are tasks of the
// committer (Options.Update) and go through the log like other commits.
func (l *Load) update(step func(*Tx) error) error {
	if l.options.Update != nil {
		return l.options.Update(step)
	}
	if l.store.logged != nil {
		// While commits go on: a transaction that bypasses the log then finds little to apply.
		if err := l.store.logged.Apply(); err != nil {
			return err
		}
	}
	return l.store.Update(func(tx *Tx) error {
		tx.kv.Dense()
		return step(tx)
	})
}

// bypasses reports whether batches of the load go to the file past a log.
func (l *Load) bypasses() bool { return l.options.Update == nil && l.store.logged != nil }

// pastLog carries out a step that stores a batch, past the log if there is one.
//
// The transaction is one of the file, which may lack commits. It has the record of the load,
// since the step that puts it takes the writer. Its list of indexes may be older than that of
// the store: entries of an index that was dropped meanwhile are freed, because the file gets
// the order to do so behind this step.
func (l *Load) pastLog(step func(*Tx) error) error {
	s := l.store
	if !l.bypasses() {
		return l.update(step)
	}
	if err := s.InPlace(); err != nil {
		return err
	}
	l.aside = true
	err := logged.Aside(s.logged, int64(l.storing.size()), func(k kv.Tx) (err error) {
		tx := &Tx{store: s, kv: kv.SortWrites(k), cache: newWriteCache()}
		if tx.state, err = readState(k); err != nil {
			return err
		}
		if err := step(tx); err != nil {
			return err
		}
		if err := countsOf(tx).write(); err != nil {
			return err
		}
		return kv.PassWrites(tx.kv)
	})
	if err != nil {
		return err
	}
	return s.InPlace()
}

// Validate reads what a load for p would, and stores nothing. It returns how much
// a load would do.
func Validate(ctx context.Context, p tree.Path, src io.Reader, progress func(bytes int64)) (LoadStats, error) {
	l := &Load{
		path:    p,
		options: LoadOptions{SliceBytes: defaultSliceBytes, WholeBytes: defaultWholeBytes, Progress: progress},
		ids:     []idRange{{1, math.MaxUint64}},
		next:    1,
		indexes: newCatalogue(0, nil),
	}
	err := l.Read(ctx, src)
	return l.Stats(), err
}

// Stats returns what the load did so far.
func (l *Load) Stats() LoadStats { return l.stats }

// Path returns where the load will be linked.
func (l *Load) Path() tree.Path { return l.path }

// Read reads the value: JSON in export form, with keys in any order and arrays,
// as [tree.ParseNode] reads it in the strict dialect. It holds a window of the
// text and one batch of rows in memory, however long the text is. Errors about
// the text are *tree.ParseError.
func (l *Load) Read(ctx context.Context, src io.Reader) error {
	l.text = tree.NewSource(src)
	root, err := tree.ParseStream(ctx, l.text, l.path, l.options.WholeBytes, rowBuilder{l})
	if err == nil {
		err = l.flush(0)
	}
	if e := l.settle(); err == nil {
		err = e
	}
	l.progress()
	l.text = nil
	if err != nil {
		return err
	}
	l.root, _ = root.(row)
	l.read = true
	return nil
}

func (l *Load) progress() {
	if l.text == nil { // of nodes
		return
	}
	l.stats.Bytes = l.text.Size()
	if l.options.Progress != nil {
		l.options.Progress(l.text.Size())
	}
}

// newID returns an id for a container or a blob.
func (l *Load) newID() (uint64, error) {
	if l.next == l.ids[len(l.ids)-1].to {
		if err := l.flush(1); err != nil {
			return 0, err
		}
	}
	id := l.next
	l.next++
	return id, nil
}

// reserve takes the next range of ids and puts it on record. Between two ranges
// others may have taken ids. Ranges double up to mostIDs, so a load of a
// hundred million containers has a record of some hundred ranges and not one of
// a million.
func (l *Load) reserve(tx *Tx) error {
	size := uint64(firstIDs)
	if n := len(l.ids); n > 0 {
		size = min(2*(l.ids[n-1].to-l.ids[n-1].from), mostIDs)
	}
	from := tx.state.nextID
	ids := append(l.ids[:len(l.ids):len(l.ids)], idRange{from, from + size})
	if err := tx.put(kv.Meta, l.key, encodeRanges(ids)); err != nil {
		return err
	}
	tx.state.nextID += size
	tx.dirty = true
	l.ids, l.next = ids, from
	return nil
}

// recorded returns an error unless the load is on record. It is asked in each
// transaction of the load: an Abort, or a start that found the record, may have
// given its ids to the reclaimer, and rows that are stored after that would be
// unreachable for ever.
func (l *Load) recorded(tx *Tx) error {
	switch v, err := tx.get(kv.Meta, l.key); {
	case err != nil:
		return err
	case v == nil:
		return ErrLoadEnded
	}
	return nil
}

// hand lets the batch be stored while the next one is made.
func (l *Load) hand() error {
	if err := l.settle(); err != nil {
		return err
	}
	l.batch, l.storing = l.storing, l.batch
	l.stored = make(chan error, 1)
	go func() { l.stored <- l.commit(&l.storing, nil, l.pastLog) }()
	return nil
}

// settle waits until the batch that was handed over is stored.
func (l *Load) settle() error {
	if l.stored == nil {
		return nil
	}
	err := <-l.stored
	l.stored = nil
	l.storing.reset()
	l.progress()
	return err
}

// flush stores what was made so far, and reserves ids if there are fewer than
// want. Errors leave the ids as they were, so that Abort finds what is on
// record. It takes the writer, so what begins behind it sees all that was stored.
func (l *Load) flush(want uint64) error {
	if err := l.settle(); err != nil {
		return err
	}
	if len(l.batch.ops) == 0 && want == 0 && !l.aside {
		return nil
	}
	ids, next := l.ids, l.next
	more := l.again
	if want > 0 {
		more = func(tx *Tx) error {
			l.ids, l.next = ids, next // perhaps again after a rollback
			return l.reserve(tx)
		}
	}
	err := l.commit(&l.batch, more, l.update)
	if err != nil {
		l.ids, l.next = ids, next
	} else {
		l.aside = false
	}
	l.batch.reset()
	l.progress()
	return err
}

// again puts the record once more, if batches were stored past the log: a transaction that
// changes nothing is no commit, and a copy of the file without these batches would seem to fit
// the log.
func (l *Load) again(tx *Tx) error {
	if !l.aside {
		return nil
	}
	return tx.put(kv.Meta, l.key, encodeRanges(l.ids))
}

// commit stores a batch in a transaction of carry and calls more, if it is not nil, with
// it.
//
// The step may run several times, if the transaction that it shares is rolled
// back. So it begins by setting back what it has counted, and what it changes
// of the Load is only kept when the commit has succeeded.
func (l *Load) commit(s *loadBatch, more func(*Tx) error, carry func(step func(*Tx) error) error) error {
	if l.store == nil { // see Validate
		l.stats.Rows += int64(len(s.ops))
		return nil
	}
	rows := 0
	err := carry(func(tx *Tx) error {
		s.rewind()
		before := tx.stats.Written
		if err := l.recorded(tx); err != nil {
			return err
		}
		if err := l.apply(tx, s); err != nil {
			return err
		}
		rows = tx.stats.Written - before
		if more == nil {
			return nil
		}
		return more(tx)
	})
	if err != nil {
		return fmt.Errorf("load %s: %w: %w", l.path, ErrNotStored, err)
	}
	s.keep()
	l.stats.Rows += int64(rows)
	l.stats.Slices++
	return nil
}

// apply carries out the batch.
func (l *Load) apply(tx *Tx, s *loadBatch) error {
	now, err := tx.Indexes().catalogue()
	if err != nil {
		return err
	}
	kept := func(uint32) bool { return true }
	if now.version != l.indexes.version {
		kept = now.has
	}
	for i := range s.ops {
		if err := s.ops[i].apply(tx, kept); err != nil {
			return err
		}
	}
	return nil
}
