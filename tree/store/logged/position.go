package logged

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/durable"
	"github.com/dogwooddb/dogwood/tree/store/kv"
	"github.com/dogwooddb/dogwood/tree/store/wal"
)

var (
	// ErrOtherLog is wrapped for a file with commits that are in another log.
	ErrOtherLog = errors.New("commits of the database are in another log")
	// ErrGone is wrapped for a file whose last commits are in no log any more.
	ErrGone = errors.New("the last commits of the database are gone")
	// ErrUnfit is wrapped for a file and a log that do not belong together any more.
	ErrUnfit = errors.New("the file of the database and the log do not fit")
)

// A position is how a file and a log belong together, and the last record that counts.
//
// last in the file is the last record whose rows the file has. In memory it is the last
// record that counts: that of the newest commit. The line tells two copies of a file
// apart that both went on with the log: each time that a file begins to need the log it
// gets a new one.
type position struct {
	log      uint64 // its owner
	database uint64 // in the log
	line     uint64 // see wal.State; 0 in a file of an earlier version
	last     uint64
}

var positionKey = []byte("log") // in bucket m

// write writes the position, and whether the file needs the log. The format says so, too, but
// has no checksum.
func (p position) write(tx kv.Tx, needs bool) error {
	if err := keepOrigin(tx, p.database); err != nil {
		return err
	}
	b := binary.BigEndian.AppendUint64(nil, p.log)
	b = binary.BigEndian.AppendUint64(b, p.database)
	b = binary.BigEndian.AppendUint64(b, p.last)
	b = binary.BigEndian.AppendUint64(b, p.line)
	if needs {
		return tx.Put(kv.Meta, positionKey, append(b, 1))
	}
	return tx.Put(kv.Meta, positionKey, append(b, 0))
}

// readPosition returns the position of a file, which is zero if it was never logged, and
// whether it needs the log.
func readPosition(tx kv.Tx) (p position, needs bool, err error) {
	b, err := tx.Get(kv.Meta, positionKey)
	if err == nil {
		needs, err = kv.NeedsLog(tx)
	}
	switch {
	case err != nil:
		return p, false, err
	case b == nil && !needs:
		return p, false, nil
	case len(b) != 33 && len(b) != 25 || needs != (b[len(b)-1] == 1):
		return p, false, fmt.Errorf("%w: the format and the position in the log do not agree", kv.ErrDamaged)
	}
	be := binary.BigEndian
	p = position{log: be.Uint64(b), database: be.Uint64(b[8:]), last: be.Uint64(b[16:])}
	if len(b) == 33 {
		p.line = be.Uint64(b[24:])
	}
	return p, needs, nil
}

// Open puts a log in front of a file that is open. Missing commits are taken from the log. The
// error wraps ErrOtherLog if the log does not have them.
func Open(file *kv.File, log *Log, o Options) (*Store, error) {
	s := &Store{file: file, log: log, active: new(kv.Layer)}
	if s.speed.freeze = o.FreezeBytes; s.speed.freeze == 0 {
		s.speed.freeze = defaultFreeze(log.memory)
	}
	s.upkeep.do, s.upkeep.atOnce = o.Upkeep, max(int(s.speed.freeze/freezeShare), minAtOnce)
	s.aging = time.AfterFunc(math.MaxInt64, s.applyOld) // not before its place in the log is known
	s.aging.Stop()
	if err := s.locate(); err != nil {
		return nil, err
	}
	log.grow(counted(s))
	alone := log.add(s)
	if !alone {
		s.position.database = randomID()
	}
	if !file.ReadOnly() && !log.readOnly && (!alone || s.kept.Owner != 0) {
		if err := s.Settle(); err != nil {
			log.remove(s)
			return nil, err
		}
	}
	if !alone {
		log.add(s)
	}
	s.since = time.Now()
	if s.needs && !file.ReadOnly() { // also if it lacks nothing but pieces
		s.aging.Reset(applyAfter)
	}
	return s, nil
}

// locate finds out where the file is in the log, and takes what it lacks.
func (s *Store) locate() error {
	tx, err := s.file.Begin(false)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	p, needs, err := readPosition(tx)
	if err != nil {
		return err
	}
	s.needs = needs
	w := s.log.wal
	switch ours := p.log == w.Owner(); {
	case s.needs && !ours:
		return fmt.Errorf("%w: it needs log %016x, this one is %016x", ErrOtherLog, p.log, w.Owner())
	case s.needs:
		s.position = p
		return s.recover()
	case ours:
		last, void, err := voidAfter(w, p.database, p.last)
		if err != nil {
			return err
		}
		k, _, _, err := w.Kept().Find(p.log, p.database)
		if err == nil && void && k.Last <= p.last && w.Databases()[p.database] <= last {
			s.position = p
			w.Done(p.database)
			return w.Release(p.database, last)
		}
	}
	// A new file, or a copy from a backup: nothing in the log is about it.
	s.position = position{log: w.Owner(), database: randomID()}
	return nil
}

// Settle puts what is not in the file into it, and has it say that it needs no log. If that is what was kept for the
// file, nothing else gets it any more. If the store is of a copied file, which is a database
// of its own in the log, no record of the other one is released.
func (s *Store) Settle() error {
	s.writer.Lock()
	defer s.writer.Unlock()
	_, needed := stand(s)
	if err := s.complete(); err != nil {
		return err
	}
	k := s.kept
	if k.Owner == 0 && needed && s.log.readOnly { // the log goes on as if the file had not got them
		p, _ := stand(s)
		k = wal.Kept{Owner: p.log, Database: p.database, Line: p.line, Last: p.last}
	}
	if k.Owner == 0 {
		return nil
	}
	err := s.log.wal.Kept().Settle(k, wal.KeptTaken, time.Now())
	if durable.Unwritable(err) {
		return nil // it stays until its bound, and this file does not look for it again
	}
	return err
}

// A Place is how a file and a log belong together.
type Place struct {
	Log      uint64 // its owner; 0: the file was never in one
	Database uint64
	Last     uint64 // the last record that is in the file
	Needs    bool   // more are in the log
}

// PlaceOf returns the place of a file.
func PlaceOf(file *kv.File) (Place, error) {
	tx, err := file.Begin(false)
	if err != nil {
		return Place{}, err
	}
	defer tx.Rollback()
	p, needs, err := readPosition(tx)
	return Place{p.log, p.database, p.last, needs}, err
}

func randomID() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}

// recover takes from the log what the file lacks: first what is kept of it.
//
// Each record of a database names the one before it. So recovery does not only
// find records with higher numbers: it finds a chain that begins at the file's
// position, and refuses the file if a link is missing. Records of kind
// DirectKind count only if the file says that it has them. Nothing is written
// to the file here: the rows go into the active layer, as if the commits had
// just been made.
func (s *Store) recover() error {
	w, after := s.log.wal, s.position.last
	k, kept, found, err := w.Kept().Find(s.position.log, s.position.database)
	found = found && k.Line == s.position.line
	switch {
	case err != nil:
		return err
	case s.log.keptOnly && k.Last < after:
		return fmt.Errorf("%w: it needs log %016x, and nothing newer is kept of that", ErrOtherLog, s.position.log)
	case found && (k.Last == after || k.Last > after && k.State == wal.KeptRecords):
		s.kept = k
	}
	void := uint64(0) // the last record of those whose commits the file does not have
	redo := func(r wal.Record) error {
		if r.Kind == DirectKind && r.Number > s.position.last {
			void = r.Number
			return nil
		}
		return redo(s, r)
	}
	for _, r := range kept {
		if err := redo(r); err != nil {
			return err
		}
	}
	if err := w.Release(s.position.database, after); err != nil {
		return err
	}
	for r, err := range w.Records(s.position.database, s.position.last) {
		if err == nil {
			err = redo(r)
		}
		if s.position.last < k.Last && err != nil {
			err = gone(k)
		}
		if err != nil {
			return err
		}
	}
	last := max(s.position.last, void)
	if last < k.Last && k.State != wal.KeptRecords {
		return gone(k)
	}
	return reached(s, last, k.Last, found)
}

// gone returns the error for a file that lacks commits that only a note is about.
func gone(k wal.Kept) error {
	why := fmt.Sprintf("another copy of it got them on %s, and this one is older", day(k.Since))
	if k.State == wal.KeptGivenUp {
		why = fmt.Sprintf("they were kept for at most %d days, and given up on %s", int(wal.KeptAge.Hours()/24), day(k.Since))
	}
	return fmt.Errorf("%w: %s, as %s in the directory of the log says: restore a backup", ErrGone, why, k.Name())
}

// reached checks that the file with what was taken from the log has all that was committed.
// seen is the last record that was found, and last the last one that was kept for it, if any
// was.
func reached(s *Store, seen, last uint64, kept bool) error {
	state, ok := s.log.wal.State(s.position.database)
	ok = ok && state.Line == s.position.line
	if !kept {
		last = 0
	}
	if ok {
		last = max(last, state.Last)
	}
	switch {
	case s.position.line == 0: // a file of an earlier version, whose log does not say
		return nil
	case !kept && !ok:
		return unfit("the log knows nothing of the commits that the file lacks")
	case last != seen:
		return unfit(fmt.Sprintf("with the log the file reaches record %d, and the log knows of record %d", seen, last))
	}
	return nil
}

// redo takes one record, unless the file has it.
func redo(s *Store, r wal.Record) error {
	if r.Number <= s.position.last {
		return nil
	}
	previous, err := decodeRows(r.Rows, s.active.Set)
	if err != nil {
		return fmt.Errorf("record %d: %w", r.Number, err)
	}
	if previous != s.position.last {
		return unfit(fmt.Sprintf("record %d of the log comes behind record %d, and the file ends with record %d", r.Number, previous, s.position.last))
	}
	s.position.last = r.Number
	return nil
}

// unfit returns the error of a file and a log that do not belong together.
func unfit(why string) error {
	return fmt.Errorf("%w: %s: one of them is older, or from a copied directory: put back the file and the directory of the log that were in use together, or restore a backup", ErrUnfit, why)
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// needLog has the file say that it needs the log, which knows so before. committing is held.
// First the log, then the file. If the second step fails the disk may have it nevertheless, so
// the next try is with the same line.
func (s *Store) needLog() error {
	s.mu.Lock()
	needs, p := s.needs && !s.unsure, s.position
	s.mu.Unlock()
	if needs {
		return nil
	}
	if s.tried == 0 {
		s.tried = randomID()
	}
	p.line = s.tried
	if err := s.log.wal.Need(wal.State{Database: p.database, Line: p.line, Last: p.last}); err != nil {
		return err
	}
	s.applying.Lock()
	defer s.applying.Unlock()
	return setNeed(s, p, true)
}

// needNone has the file, which has everything, say that it does not need the log. It needs
// the log again with another line. If the outcome is unknown, the disk may have it: so the next
// commit has the file say once more that it needs the log, with the line that the log knows.
// A transaction that begins with an idle snapshot would not notice that the file has failed.
func (s *Store) needNone() error {
	s.applying.Lock()
	defer s.applying.Unlock()
	p, needs := stand(s)
	if !needs {
		return nil
	}
	err := setNeed(s, p, false)
	if errors.Is(err, kv.ErrUnknown) {
		s.tried = p.line
		s.mu.Lock()
		s.unsure = true
		s.mu.Unlock()
	}
	return err
}

// stand returns where the store is in the log, and whether the file says that it needs the log.
// Settling the log for another store changes that without the writer.
func stand(s *Store) (p position, needs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.position, s.needs
}

// setNeed has the file say whether it needs the log. applying is held.
func setNeed(s *Store, p position, needs bool) error {
	err := s.update(func(tx kv.Tx) error { return p.set(tx, needs) })
	if err == nil {
		noteNeed(s, p, needs)
	}
	return err
}

// set writes the position and the format of the file.
func (p position) set(tx kv.Tx, needs bool) error {
	if err := kv.SetNeedsLog(tx, needs); err != nil {
		return err
	}
	return p.write(tx, needs)
}

// noteNeed notes what the file says. applying is held.
func noteNeed(s *Store, p position, needs bool) {
	s.tried = 0
	s.mu.Lock()
	s.needs, s.unsure, s.position.line, s.position.last = needs, false, p.line, p.last
	s.mu.Unlock()
	if !needs {
		s.log.wal.Done(p.database)
	}
}
