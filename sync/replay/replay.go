// Package replay carries out the entries of a database's log on another store. It asks no
// clock and no rules, so the same entries always make the same database: its tree, the ids of
// writes, what sessions left for their disconnect, rules, settings and declared data. Ids of containers,
// index builds and what waits to be reclaimed may differ.
//
// It is the other half of package sync's notes: what is not noted there is missing here.
// Tests replay logs and compare the two stores (storage §7.7 says what has to be equal).
package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/entry"
)

// ErrGap is wrapped for an entry that does not follow the state of the store.
var ErrGap = errors.New("entries are missing")

// A Replayer carries out entries on a store, which nothing else writes to meanwhile. Imports
// are loaded as their pieces come. A Replayer belongs to one goroutine.
type Replayer struct {
	store     *store.Store
	assembler entry.Assembler
	run       uint64
	loads     map[string]*load
}

// New returns a Replayer for a store. It must be closed.
func New(s *store.Store) *Replayer {
	return &Replayer{store: s, loads: make(map[string]*load)}
}

// Close takes back what was loaded and not linked.
func (r *Replayer) Close() error { return r.forget() }

// Add carries out the next entry. Its commit takes effect with its last entry, in one
// transaction. After an error the Replayer must not be used. The error wraps entry.ErrBefore if an
// operation began in front of the first entry.
func (r *Replayer) Add(e entry.Entry) error {
	if e.Run != r.run {
		if err := r.forget(); err != nil {
			return err
		}
		r.run = e.Run
	}
	list, whole, err := r.assembler.Add(e)
	switch {
	case err != nil:
	case whole:
		err = r.commit(e, list)
	default:
		err = r.prepareAll(list)
	}
	if err != nil {
		return fmt.Errorf("replay revision %d: %w", e.Revision, err)
	}
	return nil
}

// forget takes back the loads of a run that has ended.
func (r *Replayer) forget() (err error) {
	for id := range r.loads {
		err = errors.Join(err, r.drop(id))
	}
	return err
}

func (r *Replayer) commit(e entry.Entry, commit []entry.Operation) error {
	if err := r.prepareAll(commit); err != nil {
		return err
	}
	return r.store.Update(func(tx *store.Tx) error {
		if at := tx.Revision(); e.Revision != at+1 {
			return fmt.Errorf("%w: the store is at revision %d", ErrGap, at)
		}
		tx.SetRevision(e.Revision)
		c := change{tx, r, time.UnixMilli(e.At)}
		for _, op := range commit {
			if err := c.do(op); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *Replayer) prepareAll(list []entry.Operation) error {
	for _, op := range list {
		if err := r.prepare(op); err != nil {
			return err
		}
	}
	return nil
}

// prepare does what comes in front of the transaction of an operation: pieces of imports have
// transactions of their own.
func (r *Replayer) prepare(op entry.Operation) error {
	switch op := op.(type) {
	case *entry.Load:
		l := r.loads[op.ID]
		if l == nil && op.Seq > 0 && r.assembler.Midway() {
			return nil
		}
		if l == nil {
			var err error
			if l, err = newLoad(r.store, op); err != nil {
				return err
			}
			r.loads[op.ID] = l
		}
		return l.write(op)
	case *entry.Link:
		l := r.loads[op.ID]
		if l == nil && r.assembler.Midway() {
			return fmt.Errorf("%w: import %s", entry.ErrBefore, op.ID)
		}
		if l == nil {
			return fmt.Errorf("%w: import %s has no pieces", ErrGap, op.ID)
		}
		return l.finish()
	case *entry.Drop:
		return r.drop(op.ID)
	case *entry.Data:
		return store.Declare(r.store)
	}
	return nil
}

func (r *Replayer) drop(id string) error {
	l := r.loads[id]
	if l == nil {
		return nil // it is of parts, or of a load that has no piece
	}
	delete(r.loads, id)
	return l.abort()
}

// A change is the transaction of one commit.
type change struct {
	tx *store.Tx
	r  *Replayer
	at time.Time
}

func (c change) do(op entry.Operation) error {
	switch op := op.(type) {
	case *entry.Write:
		if err := c.write(op.Writes); err != nil || op.ID == nil {
			return err
		}
		return c.record(*op.ID)
	case *entry.Seen:
		return c.record(op.ID)
	case *entry.Left:
		return c.left(op)
	case *entry.Rules:
		return c.rules(op)
	case *entry.Data:
		return c.data(op)
	case *entry.States:
		return c.states(op)
	case *entry.Kept:
		return store.Kept(c.tx).Do(op)
	case *entry.Setting:
		all, err := versions.Settings(c.tx)
		if err != nil {
			return err
		}
		all[op.Name] = op.Value
		return versions.PutSettings(c.tx, all)
	case *entry.Link:
		l := c.r.loads[op.ID]
		delete(c.r.loads, op.ID)
		if _, err := l.load.Link(c.tx); err != nil {
			return err
		}
		return c.write(op.Writes)
	}
	return nil
}

func (c change) write(writes []tree.ResolvedWrite) error {
	for _, w := range writes {
		var err error
		if w.Priority {
			_, err = c.tx.PutPriority(w.Path, w.Node)
		} else {
			_, err = c.tx.Put(w.Path, w.Node)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c change) record(id entry.ID) error {
	return c.tx.Dedup().Record(store.WriteID{Writer: id.Writer, Number: id.Number}, c.at)
}

func (c change) left(l *entry.Left) error {
	d := c.tx.Disconnects()
	for _, number := range l.Delete {
		if err := d.Delete(l.Session, number); err != nil {
			return err
		}
	}
	for _, o := range l.Put {
		if err := d.Put(store.Pending{Session: l.Session, Number: o.Number, Data: o.Text}); err != nil {
			return err
		}
	}
	return nil
}

func (c change) rules(r *entry.Rules) error {
	var v versions.Version
	if err := json.Unmarshal(r.Version, &v); err != nil {
		return err
	}
	rules, err := versions.Stored(c.tx, v.Options(), r.Source)
	if err != nil {
		return err
	}
	if err := versions.Put(c.tx, v, r.Source); err != nil {
		return err
	}
	data, err := declared.Load(c.tx)
	if err != nil {
		return err
	}
	return c.tx.Indexes().Declare(indexesOf(rules, data))
}

// data puts a data document in force. The places that follow from it come as writes.
func (c change) data(d *entry.Data) error {
	var v versions.Version
	if err := json.Unmarshal(d.Version, &v); err != nil {
		return err
	}
	before, err := declared.Load(c.tx)
	if err != nil {
		return err
	}
	data, err := before.Put(c.tx, v, derive.ParseStored(d.Source))
	if err != nil {
		return err
	}
	return c.declare(data)
}

// declare declares the indexes of the rules and of a data document in force.
func (c change) declare(data *declared.Data) error {
	inForce, err := versions.Rules(c.tx)
	if err != nil {
		return err
	}
	return c.tx.Indexes().Declare(indexesOf(inForce, data))
}

// states notes how far definitions are. An index that is paused is none.
func (c change) states(s *entry.States) error {
	before, err := declared.Load(c.tx)
	if err != nil {
		return err
	}
	data, err := declared.Follow(c.tx, before, s.Changes)
	if err != nil || slices.Equal(before.Indexes(), data.Indexes()) {
		return err
	}
	return c.declare(data)
}

// indexesOf returns the indexes that rules declare, and those that a data document needs. Both
// may be nil.
func indexesOf(r *rules.Ruleset, data *declared.Data) []store.Index {
	list := data.Indexes()
	if r == nil {
		return list
	}
	for _, ix := range r.AllIndexes() {
		list = append(list, store.Index{Pattern: ix.Pattern, Order: ix.Order})
	}
	return list
}

// A load is an import that is read while its pieces come.
type load struct {
	load *store.Load
	to   *io.PipeWriter
	next int        // number of the next piece
	done chan error // gets what reading ended with
}

func newLoad(s *store.Store, first *entry.Load) (*load, error) {
	var o store.LoadOptions
	if now := first.Now; now != 0 {
		o.ServerValue = func(_ tree.Target, v tree.Draft) tree.Node {
			// The value of an increment comes with the link.
			n, _ := v.Resolve(now, func(tree.Path) (tree.Node, error) { return tree.Empty, nil })
			return n
		}
	}
	l, err := s.NewLoad(first.At, o)
	if err != nil {
		return nil, err
	}
	from, to := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := l.Read(context.Background(), from)
		from.CloseWithError(errors.Join(err, io.ErrClosedPipe))
		done <- err
	}()
	return &load{load: l, to: to, done: done}, nil
}

// write reads the next piece.
func (l *load) write(piece *entry.Load) error {
	if piece.Seq != l.next {
		return fmt.Errorf("%w: piece %d of import %s comes behind %d", ErrGap, piece.Seq, piece.ID, l.next)
	}
	l.next++
	_, err := io.WriteString(l.to, piece.Text)
	return err
}

// finish waits until everything is read.
func (l *load) finish() error {
	l.to.Close()
	return <-l.done
}

func (l *load) abort() error {
	l.to.CloseWithError(io.ErrUnexpectedEOF)
	<-l.done
	return l.load.Abort()
}
