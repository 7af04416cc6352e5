package logged

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// ErrOtherLog is wrapped for a file with commits that are in another log.
var ErrOtherLog = errors.New("commits of the database are in another log")

// A position is how a file and a log belong together, and the last record that counts.
type position struct {
	log      uint64 // its owner
	database uint64 // in the log
	last     uint64
}

var positionKey = []byte("log") // in bucket m

// write writes the position, and whether the file needs the log. The format says so, too, but
// has no checksum.
func (p position) write(tx kv.Tx, needs bool) error {
	b := binary.BigEndian.AppendUint64(nil, p.log)
	b = binary.BigEndian.AppendUint64(b, p.database)
	b = binary.BigEndian.AppendUint64(b, p.last)
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
	case len(b) != 25 || needs != (b[24] == 1):
		return p, false, fmt.Errorf("%w: the format and the position in the log do not agree", kv.ErrDamaged)
	}
	be := binary.BigEndian
	return position{be.Uint64(b), be.Uint64(b[8:]), be.Uint64(b[16:])}, needs, nil
}

// Open puts a log in front of a file that is open. Missing commits are taken from the log. The
// error wraps ErrOtherLog if the log does not have them.
func Open(file *kv.File, log *Log, o Options) (*Store, error) {
	s := &Store{file: file, log: log, freeze: o.FreezeBytes, active: new(kv.Layer)}
	if s.freeze == 0 {
		s.freeze = min(defaultFreeze, log.memory/4)
	}
	s.upkeep.do, s.upkeep.atOnce = o.Upkeep, max(int(s.freeze/freezeShare), minAtOnce)
	s.aging = time.AfterFunc(applyAfter, s.applyOld)
	s.aging.Stop()
	if err := s.locate(); err != nil {
		return nil, err
	}
	log.grow(s.unapplied())
	if !log.add(s) {
		if err := s.separate(); err != nil {
			log.grow(-s.unapplied())
			return nil, err
		}
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
		void, err := voidAfter(w, p)
		if err != nil {
			return err
		}
		if last := w.Databases()[p.database]; last <= max(p.last, void) {
			s.position = p
			return w.Release(p.database, max(p.last, void))
		}
	}
	// A new file, or a copy from a backup: nothing in the log is about it.
	s.position = position{log: w.Owner(), database: randomID()}
	return nil
}

// separate makes the store of a copied file a database of its own in the log. It releases no
// record of the other one.
func (s *Store) separate() error {
	s.position.database = randomID()
	return s.complete()
}

// Position returns which log a file belongs to, as which database, and whether it needs the
// log. log is 0 if it belongs to none.
func Position(file *kv.File) (log, database uint64, needs bool, err error) {
	tx, err := file.Begin(false)
	if err != nil {
		return 0, 0, false, err
	}
	defer tx.Rollback()
	p, needs, err := readPosition(tx)
	return p.log, p.database, needs, err
}

func randomID() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}

// recover takes from the log what the file lacks.
func (s *Store) recover() error {
	if err := s.log.wal.Release(s.position.database, s.position.last); err != nil {
		return err
	}
	for r, err := range s.log.wal.Records(s.position.database, s.position.last) {
		if err != nil {
			return err
		}
		if r.Kind == DirectKind {
			continue // the file does not have it
		}
		previous, err := decodeRows(r.Rows, s.active.Set)
		if err != nil {
			return fmt.Errorf("record %d: %w", r.Number, err)
		}
		if previous > s.position.last {
			return fmt.Errorf("%w: the log lacks record %d of the database", kv.ErrDamaged, previous)
		}
		s.position.last = r.Number
	}
	return nil
}

// needLog has the file say that it needs the log, which is there.
func (s *Store) needLog() error {
	if err := s.log.wal.Prepare(); err != nil {
		return err
	}
	return s.setNeed(true)
}

func (s *Store) setNeed(needs bool) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	err := s.update(func(tx kv.Tx) error {
		if err := kv.SetNeedsLog(tx, needs); err != nil {
			return err
		}
		return s.position.write(tx, needs)
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.needs = needs
	return nil
}
