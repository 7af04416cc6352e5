package logged

import (
	"context"
	"errors"
	"fmt"

	"github.com/dogwooddb/dogwood/tree/store/durable"
	"github.com/dogwooddb/dogwood/tree/store/entry"
	"github.com/dogwooddb/dogwood/tree/store/kv"
	"github.com/dogwooddb/dogwood/tree/store/wal"
)

// ErrTrimmed is wrapped for a reader of entries that are not in the log any more, or never
// were: those of commits that were made without it.
var ErrTrimmed = wal.ErrTrimmed

// noSegment reports whether a record was not written since the disk has no room for a segment.
func noSegment(err error) bool {
	return durable.NoRoom(err) && !errors.Is(err, wal.ErrUnsettled) && !errors.Is(err, wal.ErrFailed)
}

// followers are those that wait for commits of a store.
type followers struct {
	news chan struct{} // nil: none waits
}

// tell tells them that there is another commit, or that the store is closed. mu is held.
func (f *followers) tell() {
	if f.news != nil {
		close(f.news)
		f.news = nil
	}
}

// wait returns a channel that is closed at the next tell. mu is held.
func (f *followers) wait() <-chan struct{} {
	if f.news == nil {
		f.news = make(chan struct{})
	}
	return f.news
}

// Database returns the random id of the database in the log.
func (s *Store) Database() uint64 { return s.position.database }

// voidAfter returns the number of the last record of a database behind that which a file has, which
// is that one if there is none. ok is false if one of them counts, so that it is of a copy of the
// file, also if it is released.
func voidAfter(w *wal.Log, database, after uint64) (last uint64, ok bool, err error) {
	last = after
	for r, err := range w.Records(database, after) {
		if err != nil || r.Kind != DirectKind {
			return after, false, err
		}
		last = r.Number
	}
	return last, true, nil
}

// A Tail reads the entries of a database, from a revision on, and follows its commits. It
// belongs to one goroutine.
//
// Its position holds back the segments that it has still to read, up to the bound of the log.
// A reader that is slower gets ErrTrimmed, and has to read the state of the database instead.
//
// It returns only what counts: it never reads beyond the last record that is visible to
// readers of the store, so an entry that it returned cannot turn out to be void.
type Tail struct {
	source  source
	cursor  *wal.Cursor
	hold    *wal.Hold
	next    uint64       // revision that is wanted
	records []wal.Record // read ahead; the first is that whose entries come next
	text    []byte       // entries of a record that are not returned yet
	number  uint64       // of the record that text is of
}

// A source is the store whose log a Tail reads.
type source struct{ store *Store }

// visible returns the number of the last record that counts, and a channel that is closed when
// that changes; nil if the store is closed.
func (f source) visible() (last uint64, news <-chan struct{}) {
	s := f.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return s.position.last, nil
	}
	return s.position.last, s.followers.wait()
}

// NewTail returns the entries of a store from a revision on; 0: from the oldest one that the
// log has. It begins with the segment that has the revision, and must be closed. known is a
// revision that the store has: the error wraps ErrTrimmed if one up to it is wanted, and the log has
// nothing from there on.
func NewTail(s *Store, revision, known uint64) (*Tail, error) {
	w := s.log.wal
	t := &Tail{source: source{s}, cursor: w.Cursor(s.position.database, 0), hold: w.Hold(0), next: revision}
	err := t.cursor.Find(func(r wal.Record) bool {
		e, _, err := entry.Next(r.Change)
		return err == nil && e.Revision < revision
	})
	if err == nil {
		t.hold.Move(t.cursor.After())
		err = t.begin(known)
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// begin finds the first entry, unless it is still to come. Of the oldest one that there is it notes
// the revision, so that none behind it is missed.
//
// A commit past the log shows in the file a moment before its record counts, so an entry that is
// missing is looked for again when nothing is written to the file.
func (t *Tail) begin(known uint64) error {
	if t.next > known {
		return nil
	}
	e, _, _, err := t.ahead()
	if t.next > 0 && errors.Is(err, errEnd) {
		_ = t.source.store.Paused(func() error { return nil })
		e, _, _, err = t.ahead()
	}
	switch {
	case errors.Is(err, errEnd) && t.next == 0:
		return nil
	case errors.Is(err, errEnd):
		return fmt.Errorf("%w: revision %d is missing, and there is none behind it", ErrTrimmed, t.next)
	case err == nil && t.next == 0:
		t.next = e.Revision
	}
	return err
}

// Close gives up what the reader holds back. It can still be read, as far as the log has the
// entries.
func (t *Tail) Close() { t.hold.End() }

// errEnd is returned by ahead and step if there is nothing more yet.
var errEnd = errors.New("no more entries yet")

// Next returns the next entry. It waits for one until the context ends; the error is
// wal.ErrClosed when the database is closed.
func (t *Tail) Next(ctx context.Context) (entry.Entry, error) {
	for {
		e, news, err := t.step()
		if !errors.Is(err, errEnd) {
			return e, err
		}
		if news == nil {
			return e, wal.ErrClosed
		}
		select {
		case <-news:
		case <-ctx.Done():
			return e, context.Cause(ctx)
		}
	}
}

// News returns a channel that is closed when there may be more than Ready returned before the
// call; nil if the database is closed.
func (t *Tail) News() <-chan struct{} {
	_, news := t.source.visible()
	return news
}

// Ready is Next that does not wait: ok is false if there is no entry yet.
func (t *Tail) Ready() (e entry.Entry, ok bool, err error) {
	e, _, err = t.step()
	if errors.Is(err, errEnd) {
		return e, false, nil
	}
	return e, err == nil, err
}

// step returns the next entry, or errEnd and the channel of source.visible.
func (t *Tail) step() (e entry.Entry, news <-chan struct{}, err error) {
	e, rest, news, err := t.ahead()
	if err == nil {
		t.text = rest
		err = t.take(e)
	}
	return e, news, err
}

// ahead is step, but the entry comes again. rest is the text behind it.
func (t *Tail) ahead() (e entry.Entry, rest []byte, news <-chan struct{}, err error) {
	for {
		for len(t.text) > 0 {
			if e, rest, err = entry.Next(t.text); err != nil {
				return e, nil, nil, fmt.Errorf("record %d of the log: %w", t.number, err)
			}
			if e.Revision >= t.next {
				return e, rest, nil, nil
			}
			t.text = rest // in front of where the reader begins
		}
		last, news := t.source.visible()
		if err := t.fill(last); err != nil {
			return e, nil, news, err
		}
	}
}

// take notes that an entry is returned, which must be the one that is wanted.
func (t *Tail) take(e entry.Entry) error {
	if t.next != 0 && e.Revision != t.next {
		return fmt.Errorf("%w: revision %d is missing, the next one is %d", ErrTrimmed, t.next, e.Revision)
	}
	if t.next = e.Revision; !e.More {
		t.next++
	}
	if len(t.text) == 0 {
		t.hold.Move(t.number)
	}
	return nil
}

// fill reads the next record that counts.
func (t *Tail) fill(last uint64) error {
	for {
		r, err := t.peek(0, last)
		if err != nil {
			return err
		}
		if r.Kind == DirectKind && r.Number != last {
			follows, err := t.peek(1, last)
			if err != nil {
				return err
			}
			previous, err := decodeRows(follows.Rows[:min(len(follows.Rows), 8)], nil)
			if err != nil {
				return err
			}
			if previous < r.Number {
				t.records = t.records[1:] // void
				continue
			}
		}
		t.records = t.records[1:]
		if len(r.Change) > 0 {
			t.text, t.number = r.Change, r.Number
			return nil
		}
	}
}

// peek returns the i-th record that was not taken. The error is errEnd if there is none up
// to a number.
func (t *Tail) peek(i int, last uint64) (wal.Record, error) {
	for len(t.records) <= i {
		r, ok, err := t.cursor.Next()
		if err != nil {
			return r, err
		}
		if !ok {
			return r, errEnd
		}
		t.records = append(t.records, r)
	}
	if r := t.records[i]; r.Number <= last {
		return r, nil
	}
	return wal.Record{}, errEnd
}

// Leave has a file that needs no log belong to none.
func Leave(file *kv.File) error {
	if err := file.Start(); err != nil {
		return err
	}
	tx, err := file.Begin(true)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	p, needs, err := readPosition(tx)
	switch {
	case err != nil:
		return err
	case needs:
		return fmt.Errorf("%w: the last commits of the file are in log %016x", ErrOtherLog, p.log)
	case p.log == 0:
		return nil
	}
	if err := errors.Join(keepOrigin(tx, p.database), tx.Delete(kv.Meta, positionKey)); err != nil {
		return err
	}
	return tx.Commit()
}
